"""NumPy's own files: read without pickles, mapped into memory where they are not compressed."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from jcmspl.datasets.errors import DatasetError, decoding, require_file

_ALIGNMENT = 64  # bytes, so that the core can read a mapped array in place
_PADDING_ID = 0xD935  # the extra field that zipalign uses for the same purpose


def open_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array in a .npy file as a memory map."""
    require_file(path)
    with decoding(path, "a NumPy .npy file"):
        array: npt.NDArray[Any] = npy.open_memmap(str(path), mode="r")
    return array


class NpzReader:
    """The arrays in a .npz file, each read or mapped when it is asked for."""

    def __init__(self, path: Path) -> None:
        require_file(path)
        self.path = path
        with decoding(path, "a NumPy .npz file"), zipfile.ZipFile(path) as archive:
            self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    def names(self) -> list[str]:
        """Return the names of the arrays."""
        return list(self._members)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Read an array."""
        with (
            decoding(self.path, "a NumPy .npz file"),
            zipfile.ZipFile(self.path) as archive,
            archive.open(self._members[name]) as member,
        ):
            array: npt.NDArray[Any] = npy.read_array(member, allow_pickle=False)
        return array

    def mapped(self, name: str) -> npt.NDArray[Any]:
        """Map an array into memory; read it if it is compressed."""
        info = self._members[name]
        if info.compress_type != zipfile.ZIP_STORED:
            return self.array(name)
        with decoding(self.path, "a NumPy .npz file"), self.path.open("rb") as file:
            file.seek(info.header_offset)
            name_size, extra_size = struct.unpack("<HH", file.read(30)[26:])
            file.seek(info.header_offset + 30 + name_size + extra_size)
            shape, by_columns, dtype = _header(file)
            if dtype.hasobject:
                raise DatasetError(f"{self.path}: {name} holds Python objects, which are never read from files")
            order: Literal["F", "C"] = "F" if by_columns else "C"
            array: npt.NDArray[Any] = np.memmap(self.path, dtype, "r", file.tell(), shape, order)
        return array


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    return shape, by_columns, dtype


def write_npz(
    file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: Iterable[npt.NDArray[Any]], **arrays: Any
) -> None:
    """Write "features", which come in chunks of rows, and other arrays; nothing but a chunk is held in memory."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        name = "features.npy"
        info = zipfile.ZipInfo(name)
        # The local header has 30 bytes, the name, this field, and 20 bytes of 64-bit sizes.
        padding = -(30 + len(name) + 4 + 20) % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        with archive.open(info, "w", force_zip64=True) as member:
            npy.write_array_header_1_0(
                member, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            )
            for chunk in chunks:
                member.write(np.ascontiguousarray(chunk, dtype=dtype).data.cast("B"))
        for key, value in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(value), allow_pickle=False)
