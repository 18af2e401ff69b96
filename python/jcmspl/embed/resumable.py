"""Finished rows, in memory or in a file from which a second run continues."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jcmspl.io.files import writing
from jcmspl.support.shown import listed

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

KEY_BYTES = 16
_FORMAT = "jcmspl embed 1"
_START = json.dumps({"format": _FORMAT})[:-1].encode()  # the first bytes of a file
_MOST_HEADER = 2**16  # bytes

Rows = npt.NDArray[np.float32]


class KeptInMemory(dict[bytes, Rows]):
    """Rows of features in memory, under keys that identify their pictures."""

    def add(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Keep some rows."""
        self.update(zip(keys, rows, strict=True))

    def rows(self, keys: Sequence[bytes]) -> Rows:
        """Return kept rows."""
        return np.stack([self[key] for key in keys])


class KeptInFile:
    """Rows in a file that only grows: a header line about their origin, then records of equal size.

    A record is a key, a row and a checksum of both. Incomplete records after a crash are cut off. Rows ``made_of``
    another model or other settings are refused, or discarded with ``restart``.
    """

    def __init__(self, path: Path, made_of: Mapping[str, Any], *, restart: bool = False) -> None:
        self.path = path
        self._made_of = json.loads(json.dumps(made_of))
        self._positions: dict[bytes, int] = {}
        self._start, self._record = 0, np.dtype([])
        existed = path.exists()
        self._is_ours = not existed  # may be removed if it stays empty
        if existed and not path.is_file():
            raise OSError(f"{path} is in the way: finished rows would be kept in a file of this name")
        self._file: BinaryIO = path.open("r+b" if existed else "x+b")
        try:
            self._lock()
            if existed:
                self._read(restart)
                self._is_ours = True
        except BaseException:
            self.close()
            raise

    def __contains__(self, key: bytes) -> bool:
        return key in self._positions

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Append some rows and flush them."""
        if not self._start:
            with writing(self.path):
                self._begin(rows.shape[1])
        width = self._record["row"].shape[0]
        if rows.shape[1] != width:
            raise ValueError(f"{self.path} holds rows of {width} features, but the model gives {rows.shape[1]} now")
        records = np.zeros(len(rows), self._record)
        records["row"] = rows
        for record, key in zip(records, keys, strict=True):
            record["key"] = key
            record["checksum"] = _checksum(record)
        first = (self._file.seek(0, os.SEEK_END) - self._start) // self._record.itemsize
        with writing(self.path):
            self._file.write(records.tobytes())
            self._file.flush()
        self._positions |= {key: first + i for i, key in enumerate(keys)}

    def rows(self, keys: Sequence[bytes]) -> Rows:
        """Read kept rows."""
        return np.ascontiguousarray(self._mapped()["row"][[self._positions[key] for key in keys]])

    def close(self) -> None:
        """Close the file, and remove it if it is empty."""
        with contextlib.suppress(OSError):  # of rows that could not be written, which was reported
            self._file.close()
        if self._is_ours and not self._positions:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"another process is writing {self.path}: wait for it, or choose another output"
                ) from None
            except OSError:
                pass  # a file system without locks

    def _begin(self, width: int) -> None:
        header = json.dumps({"format": _FORMAT, "width": width, "made_of": self._made_of}).encode() + b"\n"
        self._file.seek(0)
        self._file.truncate()
        self._file.write(header)
        self._file.flush()
        self._start, self._record = len(header), _record(width)

    def _read(self, restart: bool) -> None:
        """Find the complete records of an existing file."""
        line = self._file.readline(_MOST_HEADER)
        try:
            header = json.loads(line)
            made_of, record, known = dict(header["made_of"]), _record(header["width"]), header["format"] == _FORMAT
        except (ValueError, KeyError, TypeError):
            is_cut = line.startswith(_START) and not line.endswith(b"\n")  # a crash during the header
            if line and not is_cut and not restart:
                raise ValueError(
                    f"{self.path} is in the way: it is not a file of unfinished embeddings; remove it, or choose "
                    "another output"
                ) from None
            return
        if not known or made_of != self._made_of:
            if restart:
                return
            names = sorted(name for name in {*made_of, *self._made_of} if made_of.get(name) != self._made_of.get(name))
            raise ValueError(
                f"{self.path} holds unfinished embeddings of another {listed(names) or 'version'}: choose "
                "another output, or start again with --force (restart=True)"
            )
        self._start, self._record = len(line), record
        records = self._mapped()
        for position, record in enumerate(records):
            if record["checksum"] != _checksum(record):
                break
            self._positions[record["key"].tobytes()] = position
        else:
            position = len(records)
        del records  # else Windows cannot truncate the file
        self._file.truncate(self._start + position * self._record.itemsize)

    def _mapped(self) -> npt.NDArray[Any]:
        count = (self._file.seek(0, os.SEEK_END) - self._start) // self._record.itemsize
        if not count:
            return np.zeros(0, self._record)
        return np.memmap(self.path, self._record, "r", self._start, (count,))


Kept = KeptInMemory | KeptInFile


def _record(width: int) -> np.dtype[Any]:
    return np.dtype([("key", "V", KEY_BYTES), ("row", "<f4", (width,)), ("checksum", "<u4")])


def _checksum(record: Any) -> int:
    return zlib.crc32(record["row"].tobytes(), zlib.crc32(record["key"].tobytes()))
