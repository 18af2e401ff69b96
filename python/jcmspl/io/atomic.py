"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its place and move it there when it is complete; a crash leaves what was there before."""
    with open_atomically(path, overwrite=overwrite) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file beside its place for writing; it is moved there when the block ends without an error."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(f"{path} exists already: choose another name or allow it to be overwritten")
    path = path.resolve()  # what a link points to is replaced, not the link
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # mkstemp makes files that only their owner can read
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
