"""Safetensors files of features or class vectors, mapped into memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from jcmspl.datasets.errors import DatasetError, decoding, require_memory
from jcmspl.datasets.row_source import LazyIds
from jcmspl.io.archive import written_by
from jcmspl.io.files import require_file
from jcmspl.support.shown import listed, quoted

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "BOOL": "?"}
_TYPES |= {"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
_BFLOAT16 = "BF16"


class TensorReader:
    """The arrays in a safetensors file, each read or mapped on demand (see :class:`NpzReader`)."""

    def __init__(self, path: Path) -> None:
        require_file(path)
        self.path = path
        with decoding(path, "a safetensors file"):
            with safe_open(path, framework="numpy"):
                pass  # checks the header: tensors lie within the file, side by side, with the sizes of their shapes
            with path.open("rb") as file:
                (size,) = struct.unpack("<Q", file.read(8))
                self._header: dict[str, Any] = json.loads(file.read(size))
            self._start = 8 + size
        if written_by(path) is not None:
            raise DatasetError(f"{path} is a model, but samples or class vectors are expected: are the files swapped?")

    def names(self) -> list[str]:
        """Return the names of the arrays."""
        return [name for name in self._header if name != "__metadata__"]

    def metadata(self) -> dict[str, str]:
        """Return the texts of the file."""
        return dict(self._header.get("__metadata__") or {})

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        return tuple(self._header[name]["shape"])

    def array(self, name: str, most: int | None = None) -> npt.NDArray[Any]:
        """Read an array."""
        array = self.mapped(name)
        require_memory(self.path, name, array.nbytes)
        return np.array(array)

    def mapped(self, name: str) -> npt.NDArray[Any]:
        """Map an array into memory; bfloat16, which NumPy lacks, is read as float32."""
        entry, shape = self._header[name], self.shape(name)
        kind = entry["dtype"]
        if kind not in _TYPES and kind != _BFLOAT16:
            raise DatasetError(f"{self.path}: {name} is of the type {kind}, which NumPy does not have")
        dtype = np.dtype(_TYPES.get(kind, "<u2"))
        if not np.prod(shape, dtype=float):
            return np.empty(shape, dtype)
        array = np.memmap(self.path, dtype, "r", self._start + entry["data_offsets"][0], shape)
        if kind != _BFLOAT16:
            return array
        require_memory(self.path, name, 2 * array.nbytes)
        return (array.astype(np.uint32) << 16).view(np.float32)  # the upper half of the bits

    def ids(self, n_samples: int, wanted: str | None = None) -> tuple[LazyIds | None, str]:
        """Return no ids: tensors are numbers."""
        if wanted is not None:
            raise DatasetError(f"{self.path} has no ids {quoted(wanted)}: it holds tensors {listed(self.names())}")
        return None, "id"
