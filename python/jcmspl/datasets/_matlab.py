"""MATLAB files of all kinds, seen in the same way: arrays have the shape that they have in MATLAB."""

from __future__ import annotations

from pathlib import Path

from jcmspl.datasets._matlab5 import ClassicMat
from jcmspl.datasets._matlab73 import Hdf5Mat
from jcmspl.datasets._matlab_file import MatFile
from jcmspl.io.regular import require_file

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def open_mat(path: Path) -> MatFile:
    """Open a MATLAB file of either kind."""
    require_file(path)
    with path.open("rb") as file:
        head = file.read(520)
    is_hdf5 = _HDF5_SIGNATURE in (head[:8], head[512:520])
    return Hdf5Mat(path) if is_hdf5 else ClassicMat(path)
