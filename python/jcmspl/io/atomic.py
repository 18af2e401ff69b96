"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from jcmspl.io.termination import cleaning_up

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def write_atomically(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its place and move it there when it is complete; a crash leaves what was there before."""
    with open_atomically(path, overwrite=overwrite) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file beside its place for writing; it is moved there when the block ends without an error."""
    with cleaning_up(), _written_beside(Path(path), overwrite) as file:
        yield file


def remove_abandoned(folder: Path) -> None:
    """Remove files that were begun in a folder by processes that are no more: nothing else removes those."""
    for path in folder.iterdir() if fcntl is not None else ():
        if is_part(path.name):
            with contextlib.suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while it is being written
                path.unlink()


def is_part(name: str) -> bool:
    """Whether a file is one that is being written, or was when its process ended."""
    return re.fullmatch(r"\.[0-9a-f]{16}\.part", name) is not None


@contextlib.contextmanager
def _written_beside(wanted: Path, overwrite: bool) -> Iterator[BinaryIO]:
    if wanted.is_dir():
        raise IsADirectoryError(f"{wanted} is a folder: give the name of a file")
    if os.path.lexists(wanted) and not overwrite:
        raise FileExistsError(f"{wanted} exists already: choose another name, or replace it with overwrite=True")
    path = wanted.resolve()  # what a link points to is replaced, not the link
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")
    if path.exists() and not path.is_file():
        raise OSError(f"{wanted} is a device or a pipe, which a file cannot replace: choose another name")
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # The name is known before there is such a file: whatever happens from then on, it can be removed.
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with writing(wanted):
            raw = _Part(part, wanted, 0o666 if mode is None else 0o600)
        with io.BufferedWriter(raw) as file:
            yield file
            file.flush()
            with writing(wanted):
                os.fsync(file.fileno())
        with writing(wanted):
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


class _Part(io.FileIO):
    """A new file that names what it is a part of when it cannot be written."""

    def __init__(self, part: Path, wanted: Path, mode: int) -> None:
        self._wanted = wanted
        super().__init__(part, "xb", opener=lambda name, flags: os.open(name, flags, mode))
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, data: Any) -> int:
        with writing(self._wanted):
            return super().write(data)


@contextlib.contextmanager
def writing(wanted: Path) -> Iterator[None]:
    """Turn what the system says into a sentence about the file that was asked for."""
    try:
        yield
    except OSError as error:
        named = type(error)(f"{wanted} cannot be written: {error.strerror}")
        named.errno = error.errno
        raise named from error
