"""Figures of named things on a common axis, for pages: the browser sets the names, so that none is ever cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_STEPS = (1, 2, 5)
_MOST_TICKS = 7


@dataclass(frozen=True)
class Mark:
    """A figure, a share from 0 to 1: drawn as a "dot", "tick" or "ring", perhaps with an interval; a hint."""

    kind: str
    at: float
    hint: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class DotPlot:
    """Rows of marks on one axis, which starts and ends where the figures do.

    Attributes
    ----------
    rows : sequence of (name, whether it stands out, marks)
    legend : mapping of a kind of mark to what it means
    reference : share, or None
        Drawn as a line through all rows, if it is on the axis, and
    reference_name : str
        what it is.
    """

    rows: Sequence[tuple[str, bool, Sequence[Mark]]]
    legend: dict[str, str]
    reference: float | None = None
    reference_name: str = ""
    axis: Axis = field(init=False)

    def __post_init__(self) -> None:
        marks = [mark for _, _, marks in self.rows for mark in marks]
        ends = [end for mark in marks for end in (mark.at, mark.low, mark.high) if end is not None]
        object.__setattr__(
            self, "axis", Axis.around([*ends, *([self.reference] if self.reference is not None else [])])
        )


@dataclass(frozen=True)
class Axis:
    """An axis of shares, with places of its labels."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, shares: Iterable[float]) -> Axis:
        """Return the shortest axis that holds all shares and starts and ends at a round number of per cent."""
        found = [100 * share for share in shares if math.isfinite(share)] or [0.0, 100.0]
        low, high = min(found), max(found)
        for size in (factor * 10.0**power for power in range(-3, 3) for factor in _STEPS):
            # a share that is a round number but for rounding is one
            first, last = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
            if first == last:
                first, last = (first - 1, last) if first > 0 else (first, last + 1)
            if last - first < _MOST_TICKS:
                break
        ticks = tuple(round(number * size, 6) / 100 for number in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def place(self, share: float) -> str:
        """Return where a share is, in per cent of the axis from its start."""
        return f"{100 * (share - self.low) / (self.high - self.low):.2f}%"

    def label(self, share: float) -> str:
        """Return a share as it is written below the axis."""
        return f"{100 * share:.6g}"
