"""Archives: named arrays and JSON in one safetensors file. Reading one never executes code."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from jcmspl.io.files import require_file, write_atomically
from jcmspl.support.machine import memory_at_hand
from jcmspl.support.shown import printable
from jcmspl.support.version import __version__

_FORMAT = "jcmspl model"
_MOST_BYTES = 8  # of a number


class ModelFileError(ValueError):
    """A file does not hold a model that this version can read."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # names from damaged files may not be printable


@dataclass(frozen=True, eq=False)
class Archive:
    """The arrays in a file, all its other content, and the version of its format."""

    version: int
    content: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def write_archive(path: Path, archive: Archive, *, overwrite: bool) -> None:
    """Write a file atomically."""
    metadata = {
        "format": _FORMAT,
        "format_version": str(archive.version),
        "jcmspl_version": __version__,
        "content": json.dumps(archive.content, allow_nan=False),
    }
    # not ascontiguousarray, which turns a scalar into an array of one
    arrays = {name: np.array(array, order="C") for name, array in archive.arrays.items()}
    write_atomically(path, save(arrays, metadata), overwrite=overwrite)


def written_by(path: Path) -> dict[str, str] | None:
    """Return the versions of the package and of the format that wrote a model file; None for any other file."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError, ValueError):
        return None
    names = ("jcmspl_version", "format_version")
    return {name: metadata.get(name, "?") for name in names} if metadata.get("format") == _FORMAT else None


def read_archive(path: Path, newest: int, wanted: Callable[[int, dict[str, Any]], Iterable[str]]) -> Archive:
    """Read a file of a version up to ``newest``, or raise ModelFileError (OSError if it cannot be read at all).

    ``wanted`` returns the names of the arrays to read, given version and content; absent ones are skipped.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a model file")
    require_file(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            version = _checked_version(metadata, path, newest)
            with reading(path):
                content = json.loads(metadata["content"])
                names = set(wanted(version, content)) & set(file.keys())
                n_bytes = sum(_MOST_BYTES * math.prod(file.get_slice(name).get_shape()) for name in names)
            if n_bytes > memory_at_hand():  # a sparse file may claim more than the disk holds
                raise MemoryError
            arrays = {name: file.get_tensor(name) for name in sorted(names)}
    except MemoryError:
        raise MemoryError(f"there is not enough memory to read {path}") from None
    except SafetensorError as error:
        raise ModelFileError(f"{path} is not a whole safetensors file ({error})") from None
    except ModelFileError:
        raise
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: a tensor is of a type that NumPy does not have ({error})") from None
    return Archive(version, content, arrays)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors about the content of a file into ModelFileError that names it."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: its content does not fit together ({error})") from None


def _checked_version(metadata: Mapping[str, str], path: Path, newest: int) -> int:
    if metadata.get("format") != _FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a model of jcmspl")
    version = metadata.get("format_version", "")
    if version not in {str(number) for number in range(1, newest + 1)}:
        raise ModelFileError(
            f"{path} has format version {version[:20]!r}, written by jcmspl {metadata.get('jcmspl_version', '?')}: "
            f"this version of jcmspl reads up to {newest}, so a newer one is needed"
        )
    if "content" not in metadata:
        raise ModelFileError(f"{path} is damaged: it lacks its content")
    return int(version)
