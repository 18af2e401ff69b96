"""What is told of samples besides their best candidate: scores, shares, and whether they are of no candidate at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.parts import ROWS, row_blocks
from jcmspl.data.reading import mapped
from jcmspl.model.probabilities import softmax
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import FloatArray, IntArray

# Values of scores that are in memory at a time.
_SCORES = 4_000_000


class Named(NamedTuple):
    """The k best candidates of each sample, best first, by their numbers; ``shares`` and ``rejected`` if asked for."""

    indices: IntArray
    scores: FloatArray
    shares: FloatArray | None
    rejected: npt.NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False)
class Namer:
    """A recogniser, and what is to be told.

    Attributes
    ----------
    recogniser : Recogniser
    k : int
        How many candidates are named.
    temperature : float or None
        That of the shares, if they are wanted.
    threshold : float or None
        The least score of a name, if samples may be rejected.
    """

    recogniser: Recogniser
    k: int = 1
    temperature: float | None = None
    threshold: float | None = None

    def __call__(self, X: npt.NDArray[Any]) -> Named:
        """Name samples in memory."""
        indices, scores = self.recogniser.top_k(X, self.k)
        shares = None
        if self.temperature is not None:
            size = int(np.clip(_SCORES // len(self.recogniser.labels), 1, ROWS))
            parts = [self._shares(X[rows], indices[rows]) for rows in row_blocks(len(X), size)]
            shares = np.concatenate([scores[:0], *parts])
        return Named(indices, scores, shares, None if self.threshold is None else scores[:, 0] < self.threshold)

    def _shares(self, X: npt.NDArray[Any], indices: IntArray) -> FloatArray:
        assert self.temperature is not None
        return np.take_along_axis(softmax(self.recogniser.scores_less_lead(X), self.temperature), indices, axis=1)

    def best(self, X: Any, *, progress: bool = False) -> Named:
        """Name samples in memory, or those of dask on its workers."""
        return _joined(mapped(self, X, what="naming", progress=progress), self)


def _joined(found: list[Named], namer: Namer) -> Named:
    if len(found) == 1:
        return found[0]
    nothing = np.empty((0, namer.k))
    empty = Named(
        nothing.astype(np.int64),
        nothing.astype(np.float32),
        None if namer.temperature is None else nothing.astype(np.float32),
        None if namer.threshold is None else np.empty(0, dtype=bool),
    )
    parts = zip(*(found or [empty]), strict=True)
    return Named(*(None if each[0] is None else np.concatenate(each) for each in parts))  # type: ignore[arg-type]
