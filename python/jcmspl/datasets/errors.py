"""Errors of data sets, and checks of files whose content cannot be trusted."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.io.files import Place
from jcmspl.support.machine import memory_at_hand
from jcmspl.support.names import PICTURES
from jcmspl.support.shown import listed, printable, shown

# The most bytes that deflate, the compression of all these files, makes of one.
_DEFLATED = 1032
_FEW_FOLDERS = 20  # searched for pictures
_SMALL = 2**20  # bytes, a harmless claim even if it is wrong


class DatasetError(ValueError):
    """A data set or one of its files cannot be used."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # names from damaged files may not be printable


@contextmanager
def about(path: Place | None) -> Iterator[None]:
    """Turn errors about the content of a file into DatasetError that names it; None: there is no file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        named = path is None or message.startswith(str(path))
        raise DatasetError(message if named else f"{path}: {message}") from error


@contextmanager
def decoding(path: Place, kind: str) -> Iterator[None]:
    """Turn any error of a decoder into one sentence: files may hold anything."""
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
    """Refuse an array that claims more bytes than its stored bytes can hold, even if they are compressed."""
    if n_bytes > _SMALL + _DEFLATED * stored:
        raise DatasetError(f"{path}: {name} claims {_bytes(n_bytes)}, but only {_bytes(stored)} are stored for it")


def require_memory(path: Place, name: str, n_bytes: int) -> None:
    """Refuse an array that is larger than free memory, before it is allocated."""
    if n_bytes > _SMALL and n_bytes > (at_hand := memory_at_hand()):
        raise DatasetError(f"{path}: {name} takes {_bytes(n_bytes)} of memory, but only {_bytes(at_hand)} are free")


def require_at_most(name: str, count: int, most: int | None, what: str) -> None:
    """Refuse a variable with more entries than `what` it describes, such as samples."""
    if most is not None and count > most:
        raise DatasetError(f"{name} has {count:,} entries, but there are only {most:,} {what}")


def require_keys(path: Place, wanted: Iterable[str], found: Iterable[str]) -> None:
    """Refuse a file that lacks some of the wanted variables."""
    there = list(found)
    missing = [name for name in wanted if name not in there]
    if missing:
        raise DatasetError(f"{path} lacks {', '.join(missing)}: it holds {listed(sorted(there)) or 'nothing'}")


def not_a_table(path: Place) -> DatasetError:
    """Return the error for columns to leave out of a file without columns."""
    return DatasetError(f"{path} is not a table: columns can be left out (ignore, --ignore) of CSV and parquet files")


def require_features(path: Place, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the shape of an array of samples, which must hold rows of real numbers."""
    if len(shape) != 2 or shape[1] == 0:
        raise DatasetError(f"{path} must hold a row for each sample, but its array has the shape {tuple(shape)}")
    if dtype.kind not in "fiub":
        raise DatasetError(f"{path} must hold real numbers, but their type is {dtype}")
    return int(shape[0]), int(shape[1])


def require_unchanged(path: Place, before: int, now: int, what: str) -> None:
    """Refuse a file that has changed since its header was read."""
    if now != before:
        raise DatasetError(f"{path} has changed since it was opened: it had {before:,} {what} and now has {now:,}")


def refuse_pictures(path: str | Path) -> None:
    """Refuse a picture or a folder of pictures, and point to `jcmspl embed`."""
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
