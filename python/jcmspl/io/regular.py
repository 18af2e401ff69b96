"""Files that can be read: what is a folder, a pipe or a device is refused, not waited for."""

from __future__ import annotations

import stat
from pathlib import Path

from jcmspl.io.paths import Place


def require_file(path: Place) -> None:
    """Refuse a path that is not a regular file or a link to one: it may never end, or wait for somebody to write."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is wanted")
    if not path.is_file():
        kind = other_kind(path) if isinstance(path, Path) else "a device"
        raise OSError(f"{path} is {kind}, but a regular file is wanted: copy its content to one")


def other_kind(path: Path) -> str | None:
    """Return the kind of a path that is no regular file: "a folder", "a named pipe"."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
