"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# Only who writes meets these; they come without the name of a file.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


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
        with open(
            part, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else 0o600)
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and (error.filename == str(part) or is_full(error)):
            raise _about(wanted, error) from error
        raise


def is_full(error: OSError) -> bool:
    """Whether there is no room for what is written."""
    return error.filename is None and error.errno in _FULL


def _about(wanted: Path, error: OSError) -> OSError:
    """Return the error as a sentence about the file that was asked for."""
    named = type(error)(f"{wanted} cannot be written: {error.strerror}")
    named.errno = error.errno
    return named
