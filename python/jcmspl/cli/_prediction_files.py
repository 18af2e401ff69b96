"""Predictions in a folder, one file per file of samples; a second run writes the missing files.

A manifest records model, samples and options, so that a run with others is refused.
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
from jcmspl.io.files import require_file
from jcmspl.support.progress import Progress
from jcmspl.support.shown import shown

MANIFEST = "manifest.json"
STANDARD = "-"  # standard input or output instead of a file
ROWS_PER_FILE = 100_000  # for samples in a single file
_FORMAT = 2  # version of the manifest
_BLOCK = 2**20  # bytes to read at once
_BLOCK_ROWS = 8192
_OF_TABLES = ("header", "classes_header", "delimiter", "classes_delimiter", "id_column", "ignore", "ignore_text")
_OPTIONS = ("candidates", "adapt", "top", "scores", "proba", "reject", "coverage", "exact_labels", "part", *_OF_TABLES)


class PredictionFile(NamedTuple):
    """A file of predictions with the rows from first up to last."""

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
    """The files of a folder of predictions, existing and missing ones."""

    def __init__(self, arguments: argparse.Namespace, samples: Any) -> None:
        self.folder = Path(arguments.output)
        suffix = arguments.format or FORMATS[0]
        edges = _edges(samples.X, len(samples.rows), arguments)
        self.every = [
            PredictionFile(self.folder / f"predictions_{number}.{suffix}", first, last)
            for number, (first, last) in enumerate(edges)
        ]
        manifest = {
            "format": _FORMAT,
            "model": _hash(arguments.model),
            "samples": _samples(samples, arguments),
            "part": None if arguments.part is None else _digest_of_part(samples),
            "options": {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OPTIONS}
            | {"--set": arguments.settings, "--classes": arguments.classes and _hash(arguments.classes)},
            "files": {file.path.name: [file.first, file.last - file.first] for file in self.every},
        }
        self._text = json.dumps(manifest, indent=1, default=str) + "\n"

    def refuse_others(self) -> None:
        """Refuse a folder that holds anything but predictions of the same model, samples and options."""
        there = _content(self.folder)
        if not there:
            return
        if MANIFEST not in there:
            raise FileExistsError(
                f"{self.folder} is not empty and has no {MANIFEST} of earlier predictions: choose another name, or add "
                "--force to write into it"
            )
        try:
            require_file(self.folder / MANIFEST)
            old, new = json.loads((self.folder / MANIFEST).read_bytes()), json.loads(self._text)
            self._pass_over_mended(old["samples"], new)
            difference = _difference(old, new)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            difference = f"a {MANIFEST} that is damaged"
        if difference and any(map(_is_prediction, there)):
            raise ValueError(
                f"{self.folder} has predictions that were begun with {difference}: choose another folder, or add "
                "--force to start again"
            )

    def _pass_over_mended(self, old: list[list[Any]], new: dict[str, Any]) -> None:
        """Accept changed values in a file of samples that has no predictions yet."""
        if len(self.every) == len(new["samples"]) == len(old) and not new["options"]["--adapt"]:
            for file, was, now in zip(self.every, old, new["samples"], strict=True):
                if not file.path.exists():
                    was[-1] = now[-1]

    def begin(self, force: bool) -> None:
        """Create the folder and its manifest; with force remove existing predictions."""
        from jcmspl.io.files import remove_abandoned, write_atomically

        self.folder.mkdir(exist_ok=True)
        remove_abandoned(self.folder)
        for name in filter(_is_prediction, _content(self.folder) if force else ()):
            (self.folder / name).unlink()
        write_atomically(self.folder / MANIFEST, self._text.encode(), overwrite=True)

    def missing(self) -> Iterator[PredictionFile]:
        """Iterate over the files that do not exist yet."""
        return (file for file in self.every if not file.path.exists())


def _content(folder: Path) -> list[str]:
    from jcmspl.io.files import is_part

    if folder.is_dir():
        return sorted(item.name for item in folder.iterdir() if not is_part(item.name))
    if folder.exists():
        raise NotADirectoryError(f"{folder} is a file: give the name of a folder")
    if not folder.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {folder.parent} does not exist")
    return []


def _is_prediction(name: str) -> bool:
    return re.fullmatch(rf"predictions_\d+\.({'|'.join(FORMATS)})", name) is not None


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Describe the difference between two manifests, or return None."""
    if old["format"] != new["format"]:
        return "another version of jcmspl"
    if old["model"] != new["model"]:
        return "another model"
    if old["samples"] != new["samples"]:
        return f"other samples ({shown(_first_difference(old['samples'], new['samples']), 200)})"
    if old["part"] != new["part"]:
        return "other samples in that part, or samples with other ids"
    options = [name for name, value in new["options"].items() if old["options"][name] != value]
    if options:
        return f"other options ({', '.join(options)})"
    return None if old["files"] == new["files"] else "another --format or --rows-per-file"


def _edges(X: Any, n_rows: int, arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the first row of each file and the row after its last: one file per file of samples, or per N rows."""
    bounds = X.bounds() if hasattr(X, "bounds") and arguments.part is None else []
    if arguments.rows_per_file is None and len(bounds) > 1:
        return list(bounds)
    size = ROWS_PER_FILE if arguments.rows_per_file is None else arguments.rows_per_file
    if size < 1:
        raise ValueError(f"--rows-per-file must be at least 1, but is {size}")
    return [(first, min(first + size, n_rows)) for first in range(0, max(n_rows, 1), size)]


def _samples(samples: Any, arguments: argparse.Namespace) -> list[list[Any]]:
    """Return the name, number of rows, size and hash of each file of samples.

    Whole files are read, because times of files say too little where files are copied.
    """
    from jcmspl.datasets.row_source import ImputedRows

    X: Any = samples.X.source if isinstance(samples.X, ImputedRows) else samples.X
    if hasattr(X, "shards"):
        files = [
            (shard.path, shard.n_bytes, range(*bounds)) for shard, bounds in zip(X.shards, X.bounds(), strict=True)
        ]
    else:
        path = Path(arguments.samples)
        files = [(path, path.stat().st_size if path.is_file() else None, samples.rows)]
    found, done = [], 0
    with Progress("checking", sum(len(rows) for *_, rows in files), "samples", enabled=not arguments.quiet) as progress:
        for path, n_bytes, rows in files:
            digest = hashlib.sha256()
            for block, share in _blocks_of_rows(X, rows) if n_bytes is None else _blocks(path, n_bytes):
                digest.update(block)
                progress.update(done + int(share * len(rows)))
            done += len(rows)
            found.append([path.name, len(rows), n_bytes, digest.hexdigest()])
    return found


def _blocks(path: Any, n_bytes: int) -> Iterator[tuple[bytes, float]]:
    """Iterate over the content of a file, with the share read so far."""
    done = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            done += len(block)
            yield block, min(done / max(n_bytes, 1), 1)


def _blocks_of_rows(X: Any, rows: Any) -> Iterator[tuple[bytes, float]]:
    """Iterate over the values of rows, with the share read so far."""
    for first in range(0, len(rows), _BLOCK_ROWS):
        some = rows[first : first + _BLOCK_ROWS]
        yield X[some].tobytes(), (first + len(some)) / len(rows)


def _digest_of_part(samples: Any) -> str:
    """Return the hash of the predicted row numbers and their ids."""
    digest = hashlib.sha256(samples.rows.tobytes())
    if samples.ids is not None:
        digest.update(json.dumps([samples.ids[row] for row in samples.rows]).encode())
    return digest.hexdigest()


def _first_difference(old: list[Any], new: list[Any]) -> str:
    if len(old) != len(new):
        return f"{len(old)} files then, {len(new)} now"
    was, now = next(pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
    if was[:-1] == now[:-1]:
        return f"{now[0]} held other values then"
    return f"{was[0]}: {was[1]} rows, {was[2]} bytes then; {now[0]}: {now[1]} rows, {now[2]} bytes now"


def _hash(path: str) -> str:
    require_file(Path(path))
    digest = hashlib.sha256()
    for block, _ in _blocks(Path(path), 0):
        digest.update(block)
    return digest.hexdigest()
