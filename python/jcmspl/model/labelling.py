"""What is told of samples besides their best candidate: scores, shares, and whether they are of no candidate at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.on_dask import computed, is_dask
from jcmspl.data.partitions import Part, Parts
from jcmspl.model.probabilities import softmax
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import FloatArray, IntArray

# Values of scores that are in memory at a time, and samples that are.
_SCORES = 4_000_000
_ROWS = 8192


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
            shares = np.concatenate([self._shares(X[rows], indices[rows]) for rows in self._blocks(len(X))])
        return Named(indices, scores, shares, None if self.threshold is None else scores[:, 0] < self.threshold)

    def _shares(self, X: npt.NDArray[Any], indices: IntArray) -> FloatArray:
        assert self.temperature is not None
        return np.take_along_axis(softmax(self.recogniser.scores_less_lead(X), self.temperature), indices, axis=1)

    def _blocks(self, n_samples: int) -> Iterator[slice]:
        """Give rows, so many at a time that their scores fit in memory; an empty slice if there are none."""
        size = int(np.clip(_SCORES // len(self.recogniser.labels), 1, _ROWS))
        for first in range(0, max(n_samples, 1), size):
            yield slice(first, first + size)

    def best(self, X: Any, *, progress: bool = False) -> Named:
        """Name samples that may be those of dask: these are named where they are."""
        if not is_dask(X):
            return self(X)
        found = computed(Parts.of(X).tasks(_named, self), what="naming", progress=progress)
        return _joined([one for part in found for one in part], self)


def _named(part: Part, namer: Namer) -> list[Named]:
    """Name the samples of a partition, on the worker that has it."""
    return [namer(block.X) for block in part.blocks()]


def _joined(found: list[Named], namer: Namer) -> Named:
    nothing = np.empty((0, namer.k))
    empty = Named(
        nothing.astype(np.int64),
        nothing.astype(np.float32),
        None if namer.temperature is None else nothing.astype(np.float32),
        None if namer.threshold is None else np.empty(0, dtype=bool),
    )
    parts = zip(*(found or [empty]), strict=True)
    return Named(*(None if each[0] is None else np.concatenate(each) for each in parts))  # type: ignore[arg-type]
