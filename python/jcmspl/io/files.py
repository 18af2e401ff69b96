"""Files: local paths, remote addresses such as s3://bucket/folder (with fsspec), checks of both, atomic writing."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import hashlib
import io
import itertools
import os
import re
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from jcmspl.support.shown import suggestion

#: Characters of patterns, which stand for several files.
WILDCARDS = "*?["
_MOST_NAMES = 1000  # in a folder that are compared with a name that it lacks


class Address:
    """A remote file or folder with the interface of ``Path``; it holds nothing open, so it can be pickled."""

    def __init__(self, text: str) -> None:
        self.text = text.rstrip("/") if not text.endswith("://") else text

    @property
    def name(self) -> str:
        """The last component."""
        return self.text.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on."""
        return Path(self.name).suffix

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(self.name).stem

    @property
    def parent(self) -> Address:
        """The folder."""
        return Address(self.text.rpartition("/")[0])

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self.text}/{name}")

    def absolute(self) -> Address:
        """Return the address itself."""
        return self

    def exists(self) -> bool:
        """Whether the file or folder exists."""
        with self._opened() as (files, path):
            return bool(files.exists(path))

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        with self._opened() as (files, path):
            return bool(files.isdir(path))

    def is_file(self) -> bool:
        """Whether it is a file."""
        with self._opened() as (files, path):
            return bool(files.isfile(path))

    def iterdir(self) -> Iterator[Address]:
        """Yield the files and folders in a folder, sorted by name."""
        with self._opened() as (files, path):
            names = {str(item).rstrip("/").rpartition("/")[2] for item in files.ls(path, detail=False)}
        return (self / name for name in sorted(names))

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open a file to read it."""
        with self._opened() as (files, path):
            file: IO[bytes] = files.open(path, mode)
            return file

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the path on it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise ImportError(
                f"{self} is an address, which needs fsspec: pip install 'jcmspl[remote]', or copy the files here"
            ) from None
        try:
            files, path = url_to_fs(self.text)
            yield files, path
        except ImportError as error:  # each protocol has a package of its own
            raise ImportError(f"{self} cannot be read: {error}") from None
        except ValueError as error:
            raise ValueError(f"{self} cannot be read: {error}") from error
        except FileNotFoundError:
            raise FileNotFoundError(f"{self} does not exist") from None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Address({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


Place = Path | Address


def place_of(path: str | Path | Address) -> Place:
    """Return a path or an address."""
    if isinstance(path, Address):
        return path
    return Address(str(path)) if "://" in str(path) else Path(path)


def size_of(file: IO[bytes]) -> int:
    """Return the size of an open file in bytes, and rewind it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def matches(pattern: Place) -> list[Place]:
    """Return the files that match a pattern, in natural order.

    Parents that exist are taken literally: folders may have brackets in their names.
    """
    if isinstance(pattern, Address):
        folder, names = pattern.parent, pattern.name
        found: list[Place] = [
            item for item in (folder.iterdir() if folder.is_dir() else ()) if fnmatch.fnmatchcase(item.name, names)
        ]
    else:
        base = pattern.parent
        while not base.exists():
            base = base.parent
        found = list(base.glob(str(pattern.relative_to(base))))
    return sorted(found, key=natural_order)


def natural_order(place: Place) -> tuple[Any, ...]:
    """Return a sort key that compares numbers in names by value: 2 before 10."""
    pieces = re.split(r"(\d+)", str(place))
    return (*(int(piece) if i % 2 else piece for i, piece in enumerate(pieces)), str(place))


def missing(path: Place, *known: str) -> FileNotFoundError:
    """Return the error for a missing file, which names a similar one beside it, or a known name."""
    beside: list[str] = []
    if isinstance(path, Path) and path.parent.is_dir() and os.access(path.parent, os.R_OK):
        beside = [item.name for item in itertools.islice(path.parent.iterdir(), _MOST_NAMES)]
    return FileNotFoundError(f"{path} does not exist{suggestion(path.name, [*known, *beside])}")


def require_file(path: Place) -> None:
    """Refuse folders, pipes and devices: reading a pipe may wait forever, and a device may never end."""
    if not path.exists():
        raise missing(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is expected")
    if not path.is_file():
        kind = other_kind(path) if isinstance(path, Path) else "a device"
        raise OSError(f"{path} is {kind}, but a regular file is expected: copy its content to one")


def require_free(wanted: Path, *, overwrite: bool) -> None:
    """Refuse a path where no file can be written."""
    if wanted.is_dir():
        raise IsADirectoryError(f"{wanted} is a folder: give the name of a file")
    if wanted.exists() and not wanted.is_file():
        raise OSError(f"{wanted} is a device or a pipe, which a file cannot replace: choose another name")
    if os.path.lexists(wanted) and not overwrite:
        raise FileExistsError(
            f"{wanted} exists already: choose another name, or replace it with --force, in Python overwrite=True"
        )
    if not (folder := wanted.resolve().parent).is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist")


def other_kind(path: Path) -> str | None:
    """Return the kind of a path, such as "a named pipe"; None for a regular file."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def write_atomically(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file beside its place and move it there when it is complete; a crash leaves the old file."""
    with open_atomically(path, overwrite=overwrite) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file beside its place for writing; it moves to its place when the block ends without an error."""
    with cleaning_up(), _written_beside(Path(path), overwrite) as file:
        yield file


def remove_abandoned(folder: Path) -> None:
    """Remove unfinished files in a folder whose processes have ended."""
    for path in folder.iterdir():
        if is_part(path.name):
            _remove_if_abandoned(path)


def is_part(name: str) -> bool:
    """Whether a file has the name of an unfinished file."""
    return re.fullmatch(r"\.[0-9a-f]{16}\.part", name) is not None


@contextlib.contextmanager
def _written_beside(wanted: Path, overwrite: bool) -> Iterator[BinaryIO]:
    require_free(wanted, overwrite=overwrite)
    path = wanted.resolve()  # replace the target of a link, not the link
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # choose the name before creating the file: it can then always be removed; it is always the same for a file, so
    # that one left by a kill -9 is removed
    part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.part")
    _remove_if_abandoned(part)
    if os.path.lexists(part):
        part = _other_part(path)
    try:
        raw = None
        while raw is None:
            try:
                with writing(wanted):
                    raw = _Part(part, wanted, 0o666 if mode is None else 0o600)
            except FileExistsError:
                part = _other_part(path)
        with io.BufferedWriter(raw) as file:
            yield file
            file.flush()
            with writing(wanted):
                os.fsync(file.fileno())
                if mode is not None:
                    os.chmod(part, mode)
                if fcntl is None:  # Windows moves no open file
                    file.close()
                os.replace(part, path)  # while it is locked: no process takes it for abandoned
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _other_part(path: Path) -> Path:
    """Return another name of the unfinished file, while another process or thread writes the same file."""
    return path.with_name(f".{secrets.token_hex(8)}.part")


def _remove_if_abandoned(part: Path) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError), part.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while it is being written
            part.unlink()


class _Part(io.FileIO):
    """An unfinished file, locked, whose errors name the file that it will become.

    FileExistsError: another process has a file of this name, or took the new file for abandoned before it was locked.
    """

    def __init__(self, part: Path, wanted: Path, mode: int) -> None:
        self._wanted = wanted
        super().__init__(part, "xb", opener=lambda name, flags: os.open(name, flags, mode))
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self, fcntl.LOCK_EX)
            if not self._is_at(part):
                self.close()
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def _is_at(self, part: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(self.fileno()), os.lstat(part))
        except FileNotFoundError:
            return False

    def write(self, data: Any) -> int:
        with writing(self._wanted):
            return super().write(data)


@contextlib.contextmanager
def writing(wanted: Path) -> Iterator[None]:
    """Turn errors of the system into sentences about the wanted file."""
    try:
        yield
    except OSError as error:
        named = type(error)(f"{wanted} cannot be written: {error.strerror}")
        named.errno = error.errno
        raise named from error


class _Terminated(BaseException):
    """A signal that ends the process has arrived."""


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block like an error, and then the process.

    Signals that the program handles or ignores are left alone, and so are threads other than the main one, which cannot
    handle signals.
    """
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    received: list[int] = []

    def handle(number: int, _: Any) -> None:
        for one in ours:
            signal.signal(one, signal.SIG_IGN)  # a second signal must not disturb the cleaning up
        received.append(number)
        raise _Terminated

    try:
        try:
            for number in ours:
                signal.signal(number, handle)
            yield
        finally:
            for number in ours:
                signal.signal(number, signal.SIG_DFL)
    except _Terminated:
        if not received:  # raised for a block around this one
            raise
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
