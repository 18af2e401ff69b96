"""A cache of the last recogniser, temperature and explainer: making one takes longer than using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Remembered:
    """The last result of each kind, and what it was made of.

    It is not copied, nor written to files: results can be made again.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[list[Any], tuple[Any, ...], Any]] = {}

    def __reduce__(self) -> Any:
        return Remembered, ()

    def get(self, kind: str, objects: list[Any], values: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return what was made of the very same objects and equal values, or make it."""
        entry = self._entries.get(kind)  # read once: other threads may put another one in its place
        if entry is not None and _are_equal(entry[1], values) and _are_same(entry[0], objects):
            found: T = entry[2]
            return found
        made = make()
        self._entries[kind] = objects, values, made
        return made


def _are_equal(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    try:
        return bool(some == others)
    except ValueError:  # there are arrays among them
        return False


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
