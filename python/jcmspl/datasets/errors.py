"""What can be wrong with a data set or its files, said in one sentence."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jcmspl.io.paths import Place
from jcmspl.support.memory import memory_at_hand
from jcmspl.support.names import PICTURES
from jcmspl.support.shown import listed, printable, shown

# Deflate, the compression of all these files, makes no more bytes than this of one.
_DEFLATED = 1032
_FEW_FOLDERS = 20  # that are looked into for pictures
_SMALL = 2**20  # a claim that does no harm, true or not


class DatasetError(ValueError):
    """A data set, or a file of one, that cannot be used; the message says which and why."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # what is wrong may be in the names that it tells


@contextmanager
def about(path: Place | None) -> Iterator[None]:
    """Name the file, if there is one, in what is found wrong with its content."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        named = path is None or message.startswith(str(path))
        raise DatasetError(message if named else f"{path}: {message}") from error


@contextmanager
def decoding(path: Place, kind: str) -> Iterator[None]:
    """Turn whatever a decoder stumbles over into one sentence: the files are not ours and may hold anything."""
    try:
        yield
    except (DatasetError, FileNotFoundError, PermissionError, IsADirectoryError, ImportError):
        raise
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        raise MemoryError(f"there is not enough memory to read {path}{detail}") from None
    except Exception as error:
        detail = shown((str(error) or type(error).__name__).splitlines()[0], 200)
        raise DatasetError(f"{path} is not {kind}, or it is damaged or cut short ({detail})") from error


def require_stored(path: Place, name: str, n_bytes: int, stored: int) -> None:
    """Refuse an array that claims more bytes than those which are stored for it can make, compressed or not."""
    if n_bytes > _SMALL + _DEFLATED * stored:
        raise DatasetError(f"{path}: {name} claims {_bytes(n_bytes)}, but only {_bytes(stored)} are stored for it")


def require_memory(path: Place, name: str, n_bytes: int) -> None:
    """Refuse an array that is larger than memory, before anything is made ready for it."""
    if n_bytes > _SMALL and n_bytes > (at_hand := memory_at_hand()):
        raise DatasetError(f"{path}: {name} takes {_bytes(n_bytes)} of memory, but only {_bytes(at_hand)} are free")


def require_at_most(name: str, count: int, most: int | None, what: str) -> None:
    """Refuse a variable with more entries than there are things that it could be about."""
    if most is not None and count > most:
        raise DatasetError(f"{name} has {count:,} entries, but there are only {most:,} {what}")


def require_keys(path: Place, wanted: Iterable[str], found: Iterable[str]) -> None:
    """Refuse a file that lacks some of its variables, by name."""
    there = list(found)
    missing = [name for name in wanted if name not in there]
    if missing:
        raise DatasetError(f"{path} lacks {', '.join(missing)}: it holds {listed(sorted(there)) or 'nothing'}")


def refuse_pictures(path: str | Path) -> None:
    """Refuse a picture, or a folder of pictures, and say what to do with it."""
    place = Path(path)
    names = itertools.chain.from_iterable(files for _, _, files in itertools.islice(os.walk(place), _FEW_FOLDERS))
    is_picture = place.is_file() and place.suffix.lower() in PICTURES
    if is_picture or any(Path(name).suffix.lower() in PICTURES for name in names):
        folder = place if place.is_dir() else "FOLDER"
        raise DatasetError(
            f"{path} holds pictures, but features are wanted: make them first, with an encoder that you have, by "
            f"`jcmspl embed {folder} --model encoder.onnx -o features.npz`, and give features.npz in its place; "
            "class vectors come from `jcmspl embed --text descriptions.csv` (docs/embeddings.md)"
        )


def _bytes(number: float) -> str:
    return f"{number / 2**30:,.1f} GB" if number >= 2**29 else f"{number:,.0f} bytes"
