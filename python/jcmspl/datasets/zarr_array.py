"""Zarr arrays of formats 2 and 3. Chunks name their codecs; codecs that could run code are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, decoding, require_features, require_memory
from jcmspl.io.files import Address, Place
from jcmspl.support.arguments import IntArray
from jcmspl.support.lazy import needed
from jcmspl.support.shown import listed, quoted

_KIND = "a zarr array"
_HEADERS = ("zarr.json", ".zarray", ".zgroup")
_LONGEST_HEADER = 2**20
_BAND = 4096  # the fewest rows that are decoded at a time
# Pickle is a codec too, and packages may register others.
_CODECS = (
    *("blosc", "zstd", "lz4", "gzip", "zlib", "bz2", "lzma", "shuffle", "delta", "bitround", "fixedscaleoffset"),
    *("quantize", "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"),
    *("bytes", "transpose", "sharding_indexed", "cast_value", "scale_offset"),
)


def is_zarr(path: Place) -> bool:
    """Whether a folder is a zarr array or a group of them."""
    return any((path / name).is_file() for name in _HEADERS)


@dataclass(frozen=True)
class ZarrShard:
    """The rows of a zarr array."""

    path: Place
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    band: int  #: rows that are decoded together
    n_bytes: ClassVar[None] = None  # the array is many files

    @classmethod
    def of(cls, path: Place) -> ZarrShard:
        """Read the header of an array; all its chunks must be there."""
        _require_safe(path)
        array = _opened(path)
        shape = require_features(path, array.shape, np.dtype(array.dtype))
        with decoding(path, _KIND):
            missing = array.nchunks - array.nchunks_initialized
        if missing:
            raise DatasetError(
                f"{path} lacks {missing} of its {array.nchunks} chunks, which would be read as {array.fill_value}: "
                "copy it again, or, if these are its numbers, write it with write_empty_chunks=True"
            )
        height = max(int(array.chunks[0]), 1)
        return cls(path, shape, np.dtype(array.dtype), height * -(-_BAND // height))

    def read(self, rows: IntArray, kept: Any = None) -> tuple[npt.NDArray[Any], Any]:
        """Return rows, given in ascending order, and the last decoded block to continue from."""
        array, number, block = kept or (_opened(self.path), -1, np.empty(0))
        if tuple(array.shape) != self.shape:
            raise DatasetError(f"{self.path} has changed since it was opened: its shape was {self.shape}")
        result = np.empty((len(rows), self.shape[1]), self.dtype)
        done = 0
        while done < len(rows):
            wanted = int(rows[done]) // self.band
            if wanted != number:
                number, block = wanted, self._decoded(array, wanted)
            stop = int(np.searchsorted(rows, (number + 1) * self.band))
            result[done:stop] = block[rows[done:stop] - number * self.band]
            done = stop
        return result, (array, number, block)

    def _decoded(self, array: Any, number: int) -> npt.NDArray[Any]:
        require_memory(self.path, f"a block of {self.band:,} rows", self.band * self.shape[1] * self.dtype.itemsize)
        with decoding(self.path, _KIND):
            return np.asarray(array[number * self.band : (number + 1) * self.band])


def _opened(path: Place) -> Any:
    zarr = needed("zarr", f"{path} is a zarr array, which needs zarr", "zarr")
    is_old = int(zarr.__version__.partition(".")[0]) < 3
    if (path / "zarr.json").is_file() and is_old:
        raise ImportError(f"{path} is a zarr array of format 3, which needs zarr 3, but there is {zarr.__version__}")
    with decoding(path, _KIND):
        store: Any = str(path)
        if not isinstance(path, Address):  # zarr might take a local name for an address
            store = zarr.storage.DirectoryStore(store) if is_old else zarr.storage.LocalStore(store, read_only=True)
        return zarr.open_array(store, mode="r")


def _require_safe(path: Place) -> None:
    """Refuse a group of arrays, and codecs not known to be safe."""
    header = next(path / name for name in _HEADERS if (path / name).is_file())
    with decoding(header, "a header of a zarr array"), header.open("rb") as file:
        text = file.read(_LONGEST_HEADER + 1)
        if len(text) > _LONGEST_HEADER:
            raise DatasetError(f"{header} is larger than any header of a zarr array")
        metadata = json.loads(text)
        if not isinstance(metadata, dict):
            raise DatasetError(f"{header} holds no description of a zarr array")
    if header.name == ".zgroup" or metadata.get("node_type", "array") != "array":
        arrays = listed(sorted(item.name for item in path.iterdir() if item.is_dir() and is_zarr(item)))
        raise DatasetError(f"{path} is a group of zarr arrays: name one of them ({arrays or 'it holds none'})")
    if metadata.get("storage_transformers"):
        raise DatasetError(f"{path} has storage transformers, which are not read")
    for name in _codecs(metadata):
        if name not in _CODECS:
            raise DatasetError(f"{path} is encoded with {quoted(name)}, which is not one of the codecs that are read")


def _codecs(part: Any) -> Iterator[Any]:
    """Yield the names of all codecs, including nested ones."""
    for key in ("filters", "codecs", "index_codecs", "compressor"):
        value = part.get(key) or ()
        for codec in [value] if isinstance(value, dict) else value:
            if not isinstance(codec, dict):
                yield codec
                continue
            yield str(codec.get("id", codec.get("name"))).removeprefix("numcodecs.")
            configuration = codec.get("configuration")
            if isinstance(configuration, dict):
                yield from _codecs(configuration)
