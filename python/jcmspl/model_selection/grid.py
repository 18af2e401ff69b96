"""Grids of parameters that grow where the best value lies on their edge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

# Beyond these no weight makes a difference that rounding errors would leave visible.
_SMALLEST, _LARGEST = 1e-12, 1e12

#: A setting as something that can be looked up: its values in the order of the axes.
Key = tuple[Any, ...]


def as_values(value: Any, name: str) -> list[Any]:
    """Return the different values of an axis; a single one may come without a list."""
    if name == "source_shares":  # one of them, a tuple of numbers, may come without a list
        if not isinstance(value, (list, tuple)) or all(isinstance(item, Number) for item in value):
            value = [value]
        value = [tuple(item) if isinstance(item, (list, np.ndarray)) else item for item in value]
    elif isinstance(value, str) or value is None or callable(value) or np.ndim(value) == 0:
        value = [value]
    values = [item.item() if isinstance(item, np.generic) else item for item in value]
    if not values:
        raise ValueError(f"there is no value of {name} to try")
    return list(dict.fromkeys(values))


class Grid:
    """All combinations of some values of some parameters, the axes.

    Those that hold weights, numbers of at least 0 that are varied by factors, can grow.
    """

    def __init__(self, axes: Mapping[str, Any], weights: Sequence[str]) -> None:
        self.axes = {name: as_values(value, name) for name, value in axes.items()}
        self.weights = [name for name in self.axes if name in weights]
        for name in self.weights:
            self.axes[name] = sorted(_tidy(value) for value in self.axes[name])

    def keys(self) -> list[Key]:
        """Return the settings of the whole grid, in order."""
        return list(itertools.product(*self.axes.values()))

    def setting(self, key: Key) -> dict[str, Any]:
        """Return a setting as parameters."""
        return dict(zip(self.axes, key, strict=True))

    def beyond(self, key: Key) -> list[Key]:
        """Return the settings one step further out than a setting, on each axis on whose edge it lies and on several.

        The axes grow to hold them. A step is the factor between the two outermost values.
        """
        steps = [
            [value, *self._outwards(name, value)] if name in self.weights else [value]
            for name, value in zip(self.axes, key, strict=True)
        ]
        return list(itertools.product(*steps))[1:]

    def _outwards(self, name: str, value: float) -> list[float]:
        values = self.axes[name]
        step = next_value(values, value)
        if step is None:
            return []
        self.axes[name] = sorted({*values, step})
        return [step]


def next_value(values: Sequence[float], value: float) -> float | None:
    """Return the value one step beyond a value at an end of sorted others; None if it is in their midst.

    A step is the factor between the two outermost values. With two values the one is the end of the other.
    """
    if len(values) < 2 or value not in (values[0], values[-1]):
        return None
    neighbour = values[1] if value == values[0] else values[-2]
    if min(value, neighbour) <= 0:
        return None
    step = _tidy(value * value / neighbour)
    return step if _SMALLEST <= step <= _LARGEST else None


def _tidy(value: Any) -> float:
    """Return a number without the dust of repeated divisions, which would make one setting look like two."""
    return float(f"{float(value):.12g}")
