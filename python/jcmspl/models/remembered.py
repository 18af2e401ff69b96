"""The recogniser that a model has made last: most calls want it again, and making it takes longer than using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jcmspl.models.recogniser import Recogniser


class Remembered:
    """A recogniser, and what it was made of. It is not copied, nor written to files: it can be made again."""

    def __init__(self) -> None:
        self._entry: tuple[list[Any], tuple[Any, ...], Recogniser] | None = None

    def __reduce__(self) -> Any:
        return Remembered, ()

    def get(self, objects: list[Any], values: tuple[Any, ...], make: Callable[[], Recogniser]) -> Recogniser:
        """Return what was made of the very same objects and equal values, or make it."""
        entry = self._entry  # read once: other threads may put another one in its place
        if entry is not None and _are_equal(entry[1], values) and _are_same(entry[0], objects):
            return entry[2]
        made = make()
        self._entry = objects, values, made
        return made


def _are_equal(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    try:
        return bool(some == others)
    except ValueError:  # there are arrays among them
        return False


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
