"""A cache of the last recogniser and temperature of a fitted model: making one takes longer than using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class RecogniserCache:
    """The last result of each kind, with the call and the parameters it was made for.

    It belongs to one fitted state, so a change of the model starts with an empty cache. Copies and pickles start empty
    too: results can be made again.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Any, dict[str, Any], Any]] = {}

    def __reduce__(self) -> Any:
        return RecogniserCache, ()

    def get(self, kind: str, call: Any, parameters: dict[str, Any], make: Callable[[], T]) -> T:
        """Return the cached result for an equal call and equal parameters, or make it.

        Parameters
        ----------
        kind : str
        call : tuple
            The arguments of the call.
        parameters : dict of str to value
            Those of the model. Arrays and functions among them count as equal if they are the same object.
        make : function
        """
        entry = self._entries.get(kind)  # one read: other threads may replace the entry
        if entry is not None and entry[0] == call and _are_equal(entry[1], parameters):
            found: T = entry[2]
            return found
        made = make()
        self._entries[kind] = call, parameters, made
        return made


def _are_equal(some: dict[str, Any], others: dict[str, Any]) -> bool:
    if any(isinstance(value, np.ndarray) and value is not some.get(name) for name, value in others.items()):
        return False  # arrays have no single truth value
    try:
        return bool(some == others)  # looks at identity first, so arrays that are the same object are equal
    except ValueError:  # an array nested in a parameter, or one array and another kind of value
        return False
