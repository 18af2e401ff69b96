"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


def write_atomically(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its place and move it there when it is complete; a crash leaves what was there before."""
    with open_atomically(path, overwrite=overwrite) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file beside its place for writing; it is moved there when the block ends without an error."""
    wanted = Path(path)
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
        with _saying(wanted):
            raw = _Part(part, wanted, 0o666 if mode is None else 0o600)
        with io.BufferedWriter(raw) as file:
            yield file
            file.flush()
            with _saying(wanted):
                os.fsync(file.fileno())
        with _saying(wanted):
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

    def write(self, data: Any) -> int:
        with _saying(self._wanted):
            return super().write(data)


@contextlib.contextmanager
def _saying(wanted: Path) -> Iterator[None]:
    """Turn what the system says into a sentence about the file that was asked for."""
    try:
        yield
    except OSError as error:
        named = type(error)(f"{wanted} cannot be written: {error.strerror}")
        named.errno = error.errno
        raise named from error
