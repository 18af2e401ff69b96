"""Predictions in a folder of files, one for each file of samples, which a second run completes.

A manifest beside them says what they were made of, so that nothing else is ever added to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jcmspl.cli._prediction_writers import FORMATS
from jcmspl.support.shown import shown

MANIFEST = "manifest.json"
STANDARD = "-"  # standard input or output in the place of a file
# Of samples that are in one file.
ROWS_PER_FILE = 100_000
_FORMAT = 1  # of the manifest
_END = 2**16  # bytes of a file that are looked at, at either end
_OF_TABLES = ("header", "classes_header", "delimiter", "classes_delimiter", "id_column", "ignore", "ignore_text")
_OPTIONS = ("candidates", "adapt", "top", "scores", "proba", "reject", "exact_labels", "part", *_OF_TABLES)


class PredictionFile(NamedTuple):
    """A file of predictions, and which of the rows that are named it holds."""

    path: Path
    first: int
    last: int


def is_folder(arguments: argparse.Namespace) -> bool:
    """Whether the output is a folder and not a file."""
    output = arguments.output
    if output in (None, STANDARD):
        return False
    return output.endswith("/") or Path(output).is_dir() or not (arguments.format is None or Path(output).suffix)


class PredictionFiles:
    """The files of a folder: those that are there, and those that are to be written."""

    def __init__(self, arguments: argparse.Namespace, X: Any, n_rows: int) -> None:
        self.folder = Path(arguments.output)
        suffix = arguments.format or FORMATS[0]
        edges = _edges(X, n_rows, arguments)
        self.every = [
            PredictionFile(self.folder / f"predictions_{number}.{suffix}", first, last)
            for number, (first, last) in enumerate(edges)
        ]
        manifest = {
            "format": _FORMAT,
            "model": _hash(arguments.model),
            "samples": _samples(X, arguments),
            "options": {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OPTIONS}
            | {"--set": arguments.settings, "--classes": arguments.classes and _hash(arguments.classes)},
            "files": {file.path.name: [file.first, file.last - file.first] for file in self.every},
        }
        self._text = json.dumps(manifest, indent=1, default=str) + "\n"

    def refuse_others(self) -> None:
        """Refuse a folder with other things in it than predictions that were begun in the same way."""
        there = _content(self.folder)
        if not there:
            return
        if MANIFEST not in there:
            raise FileExistsError(
                f"{self.folder} is not empty and has no {MANIFEST} of earlier predictions: choose another name, or add "
                "--force to write into it"
            )
        try:
            old, new = json.loads((self.folder / MANIFEST).read_bytes()), json.loads(self._text)
            self._pass_over_mended(old["samples"], new)
            difference = _difference(old, new)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            difference = f"a {MANIFEST} that is damaged"
        if difference and any(map(_is_prediction, there)):  # else nothing is lost
            raise ValueError(
                f"{self.folder} has predictions that were begun with {difference}: choose another folder, or add "
                "--force to start anew"
            )

    def _pass_over_mended(self, old: list[list[Any]], new: dict[str, Any]) -> None:
        """Let the values of a file of samples be others where nothing was made of them yet."""
        if len(self.every) == len(new["samples"]) == len(old) and not new["options"]["--adapt"]:
            for file, was, now in zip(self.every, old, new["samples"], strict=True):
                if not file.path.exists():
                    was[-1] = now[-1]

    def begin(self, force: bool) -> None:
        """Make the folder ready, and leave what is in it of the same predictions unless it is to be made anew."""
        from jcmspl.io.atomic import write_atomically

        self.folder.mkdir(exist_ok=True)
        for name in filter(_is_prediction, _content(self.folder) if force else ()):
            (self.folder / name).unlink()  # there may have been more of them than there will be
        write_atomically(self.folder / MANIFEST, self._text.encode(), overwrite=True)

    def missing(self) -> Iterator[PredictionFile]:
        """Give the files that are not there yet."""
        return (file for file in self.every if not file.path.exists())


def _content(folder: Path) -> list[str]:
    if folder.is_dir():
        return sorted(item.name for item in folder.iterdir())
    if folder.exists():
        raise NotADirectoryError(f"{folder} is a file: give the name of a folder")
    if not folder.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {folder.parent} does not exist")
    return []


def _is_prediction(name: str) -> bool:
    return re.fullmatch(rf"predictions_\d+\.({'|'.join(FORMATS)})", name) is not None


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Return what is not as it was when the predictions were begun."""
    if old["format"] != new["format"]:
        return "another version of jcmspl"
    if old["model"] != new["model"]:
        return "another model"
    if old["samples"] != new["samples"]:
        return f"other samples ({shown(_first_difference(old['samples'], new['samples']), 200)})"
    options = [name for name, value in new["options"].items() if old["options"][name] != value]
    if options:
        return f"other options ({', '.join(options)})"
    return None if old["files"] == new["files"] else "another --format or --rows-per-file"


def _edges(X: Any, n_rows: int, arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the first row of each file, and that after its last: as samples have files, or so many for each."""
    bounds = X.bounds() if hasattr(X, "bounds") and arguments.part is None else []
    if arguments.rows_per_file is None and len(bounds) > 1:
        return list(bounds)
    size = ROWS_PER_FILE if arguments.rows_per_file is None else arguments.rows_per_file
    if size < 1:
        raise ValueError(f"--rows-per-file must be at least 1, but is {size}")
    return [(first, min(first + size, n_rows)) for first in range(0, max(n_rows, 1), size)]


def _samples(X: Any, arguments: argparse.Namespace) -> list[list[Any]]:
    """Return the name, the number of rows and the size of each file of samples, and a digest of its ends.

    Features that were made anew have the same shape, but other values at the ends.
    """
    if hasattr(X, "shards"):
        shards = zip(X.shards, X.bounds(), strict=True)
        return [
            [shard.path.name, shard.shape[0], shard.n_bytes, _digest(shard.path, shard.n_bytes, X, *bounds)]
            for shard, bounds in shards
        ]
    path = Path(arguments.samples)
    n_bytes = path.stat().st_size if path.is_file() else None
    return [[path.name, len(X), n_bytes, _digest(path, n_bytes, X, 0, len(X))]]


def _digest(path: Any, n_bytes: int | None, X: Any, first: int, last: int) -> str | None:
    """Return the hash of the first and last bytes of a file; of what is not one file, of its first and last row."""
    if n_bytes is not None:
        with path.open("rb") as file:
            start = file.read(_END)
            file.seek(max(n_bytes - _END, 0))
            return hashlib.sha256(start + file.read(_END)).hexdigest()
    return hashlib.sha256(X[[first, last - 1]].tobytes()).hexdigest() if last > first else None


def _first_difference(old: list[Any], new: list[Any]) -> str:
    if len(old) != len(new):
        return f"{len(old)} files then, {len(new)} now"
    was, now = next(pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
    if was[:-1] == now[:-1]:
        return f"{now[0]} held other values then"
    return f"{was[0]}: {was[1]} rows, {was[2]} bytes then; {now[0]}: {now[1]} rows, {now[2]} bytes now"


def _hash(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
