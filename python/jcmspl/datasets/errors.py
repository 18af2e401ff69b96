"""What can be wrong with a data set or its files, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class DatasetError(ValueError):
    """A data set, or a file of one, that cannot be used; the message says which and why."""


@contextmanager
def about(path: Path | None) -> Iterator[None]:
    """Name the file, if there is one, in what is found wrong with its content."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        named = path is None or message.startswith(str(path))
        raise DatasetError(message if named else f"{path}: {message}") from error


@contextmanager
def decoding(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a decoder stumbles over into one sentence: the files are not ours and may hold anything."""
    try:
        yield
    except (DatasetError, FileNotFoundError, PermissionError, IsADirectoryError, ImportError):
        raise
    except Exception as error:
        detail = (str(error) or type(error).__name__).splitlines()[0]
        raise DatasetError(f"{path} is not {kind}, or it is damaged or cut short ({detail})") from error


def require_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is wanted")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")


def require_keys(path: Path, wanted: Iterable[str], found: Iterable[str]) -> None:
    """Refuse a file that lacks some of its variables, by name."""
    there = list(found)
    missing = [name for name in wanted if name not in there]
    if missing:
        raise DatasetError(f"{path} lacks {', '.join(missing)}: it holds {', '.join(sorted(there)) or 'nothing'}")
