"""The files that hold the rows of a large collection: which they are, in which order, and whether one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.zarr_array import is_zarr
from jcmspl.io.paths import WILDCARDS, Address, Place, matches, natural_order, place_of

#: The kinds of files whose rows are read on demand.
KINDS = (".npy", ".parquet", ".zarr")
#: Folders of clip-retrieval: embeddings, and tables about the samples.
EMBEDDINGS, METADATA = "img_emb", "metadata"
# Longer numbers in names are dates, or not numbers at all.
_LONGEST_NUMBER = 7


def holds_rows(path: str | Path) -> bool:
    """Whether a path stands for rows of many files: an address, a pattern, a zarr array or a folder of files."""
    place = place_of(path)
    if isinstance(place, Address):
        return True
    if place.is_dir():
        return is_zarr(place) or (place / EMBEDDINGS).is_dir() or any(_rows_in(place).values())
    return not place.exists() and any(wildcard in str(path) for wildcard in WILDCARDS)


def files_of(path: str | Path | Iterable[str | Path] | Place) -> list[Place]:
    """Return the files that a path stands for, in order; a gap in their numbers is refused."""
    if not isinstance(path, (str, Path, Address)):
        given = [place_of(item) for item in path]
        if not given:
            raise DatasetError("the list of files is empty")
        return given
    place = place_of(path)
    if place.is_dir():
        return [place] if is_zarr(place) else _files_in(place)
    if place.exists() or not any(wildcard in str(path) for wildcard in WILDCARDS):
        return [place]
    found = matches(place)
    if not found:
        raise FileNotFoundError(f"no file matches {place}")
    _require_all(found, from_start=False)
    return found


def _files_in(folder: Place) -> list[Place]:
    inner = folder / EMBEDDINGS
    if inner.is_dir():
        folder = inner
    kinds = {kind: files for kind, files in _rows_in(folder).items() if files}
    if len(kinds) != 1:
        found = " and ".join(f"{len(files)} {kind} files" for kind, files in kinds.items())
        hint = "name the files to read, with wildcards" if kinds else f"{', '.join(KINDS)} files are expected"
        raise DatasetError(f"{folder} holds {found or 'no files of features'}: {hint}")
    (files,) = kinds.values()
    _require_all(files, from_start=True)
    return files


def _rows_in(folder: Place) -> dict[str, list[Place]]:
    items = sorted((item for item in folder.iterdir() if not item.name.startswith(".")), key=natural_order)
    return {kind: [item for item in items if item.suffix == kind] for kind in KINDS}


def _require_all(files: Sequence[Place], *, from_start: bool) -> None:
    """Refuse files, in natural order, whose numbers have gaps; `from_start`: numbers must begin with 0 or 1."""
    numbers = _numbers([file.name for file in files])
    if numbers is None:
        return
    advice = "add what is missing, or give a list of files to open_rows if these are all"
    for i in range(1, len(files)):
        if numbers[i] == numbers[i - 1]:
            raise DatasetError(f"{files[i]} has the same number as {files[i - 1]}: which of them is meant?")
        if numbers[i] > numbers[i - 1] + 1:
            raise DatasetError(
                f"{files[i]} follows {files[i - 1]}, so the files with the numbers {numbers[i - 1] + 1} to "
                f"{numbers[i] - 1} are missing: {advice}"
            )
    if from_start and numbers[0] > 1:
        raise DatasetError(f"{files[0]} is the first file, so those before number {numbers[0]} are missing: {advice}")
    count = re.search(r"-of-(\d+)", files[-1].name)  # as in train-00000-of-00010.parquet
    if count and numbers[-1] + 1 < int(count[1]):
        raise DatasetError(f"{files[-1]} is the last file, but there should be {int(count[1])}: {advice}")


def _numbers(names: Sequence[str]) -> list[int] | None:
    """Return the numbers of names that differ in one number only; else None."""
    pieces = [re.split(r"(\d+)", name) for name in names]
    if len({tuple(words[::2]) for words in pieces}) > 1:
        return None
    columns = list(zip(*(words[1::2] for words in pieces), strict=True))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(names) == 1:
        varying = columns[:1]  # a single file, but perhaps not the first
    if len(varying) != 1 or any(len(number) > _LONGEST_NUMBER for number in varying[0]):
        return None
    return [int(number) for number in varying[0]]
