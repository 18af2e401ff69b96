"""Files that can be read: what is a folder, a pipe or a device is refused, not waited for."""

from __future__ import annotations

import stat
from pathlib import Path


def require_file(path: Path) -> None:
    """Refuse a path that is not a regular file, or a link to one."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is wanted")
    require_regular(path)


def require_regular(path: Path) -> None:
    """Refuse what has a name but no content of its own: it may never end, or wait for somebody to write."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise OSError(f"{path} is {kind}, but a regular file is wanted: copy its content to one")
