"""What the names of shards tell: their order, and whether one of them is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jcmspl.datasets.errors import DatasetError
from jcmspl.io.paths import Place

# Longer numbers are dates, or no numbers at all.
_LONGEST_NUMBER = 7


def require_all(files: Sequence[Place], *, from_start: bool) -> None:
    """Refuse files, in their natural order, that are numbered with gaps.

    Parameters
    ----------
    files : sequence of paths
    from_start : bool
        Whether they are all that there are, so that their numbers start with 0 or 1.
    """
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
    _require_count(files, numbers[-1], advice)


def _require_count(files: Sequence[Place], last: int, advice: str) -> None:
    """Refuse fewer files than their names speak of, as in train-00000-of-00010.parquet."""
    told = re.search(r"-of-(\d+)", files[-1].name)
    if told and last + 1 < int(told[1]):
        raise DatasetError(f"{files[-1]} is the last file, but there should be {int(told[1])}: {advice}")


def _numbers(names: Sequence[str]) -> list[int] | None:
    """Return the numbers in which names differ, if they differ in nothing else."""
    pieces = [re.split(r"(\d+)", name) for name in names]
    if len({tuple(words[::2]) for words in pieces}) > 1:
        return None
    columns = list(zip(*(words[1::2] for words in pieces), strict=True))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(names) == 1:
        varying = columns[:1]  # alone, but perhaps not the first
    if len(varying) != 1 or any(len(number) > _LONGEST_NUMBER for number in varying[0]):
        return None
    return [int(number) for number in varying[0]]
