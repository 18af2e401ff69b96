"""Directions of samples that dask has: they stay on the workers, and sums over them travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.normalisation import Normalisation
from jcmspl.data.on_dask import computed, kept, reduced, shared, task
from jcmspl.data.partitions import Part, Parts
from jcmspl.model.directions import Blocks, Directions, every_of, rows_at_a_time
from jcmspl.model.recogniser import normalised
from jcmspl.support.arguments import Float64Array, require_finite


class DirectionsOnDask:
    """What :class:`~jcmspl.model.directions.Directions` are, of partitions.

    Parameters
    ----------
    parts : Parts
    normalisation : Normalisation
        What is done to samples first.
    n_candidates : int
    mask : ndarray of bool, optional
        Which samples; by default all.
    progress : bool
    """

    def __init__(
        self,
        parts: Parts,
        normalisation: Normalisation,
        n_candidates: int,
        mask: npt.NDArray[np.bool_] | None = None,
        *,
        progress: bool = False,
    ) -> None:
        of_rows = [] if mask is None else [mask]
        function = _directions_of_all if mask is None else _directions_of
        rows = rows_at_a_time(parts.n_features, n_candidates)
        self._pieces = kept(parts.tasks(function, normalisation, rows, of_rows=of_rows), progress=progress)
        self._n_features = parts.n_features
        self._counts = [int(n) for n in computed([task(_n_samples, i, piece) for i, piece in enumerate(self._pieces)])]
        self.n_samples = sum(self._counts)

    def __enter__(self) -> DirectionsOnDask:
        return self

    def __exit__(self, *_: object) -> None:
        self._pieces = []  # which lets the workers forget them

    def summed(self, function: Callable[..., tuple[Float64Array, ...]], *arguments: Any) -> tuple[Float64Array, ...]:
        """Return the sums that a function makes of blocks of directions and lengths."""
        return self.combined(function, _added, *arguments)

    def combined(
        self, function: Callable[..., tuple[Any, ...]], merge: Callable[..., tuple[Any, ...]], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the result of a function of blocks of directions and lengths; merge joins the results of several."""
        same = [shared(one) for one in arguments]
        tasks = [task(function, number, piece, *same) for number, piece in enumerate(self._pieces)]
        found: tuple[Any, ...] = reduced(tasks, merge)
        return found

    def every(self, step: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
        """Return each step-th direction and the length of its sample."""
        starts = np.cumsum([0, *self._counts]).tolist()
        tasks = [task(every_of, i, piece, starts[i], step, self._n_features) for i, piece in enumerate(self._pieces)]
        rows, lengths = zip(*computed(tasks), strict=True)
        return np.concatenate(rows), np.concatenate(lengths)


def _added(ones: tuple[Float64Array, ...], others: tuple[Float64Array, ...]) -> tuple[Float64Array, ...]:
    return tuple(one + other for one, other in zip(ones, others, strict=True))


def _n_samples(blocks: Blocks) -> int:
    return sum(len(lengths) for _, lengths in blocks)


def _directions_of_all(part: Part, normalisation: Normalisation, rows: int) -> Blocks:
    return _directions_of(part, np.ones(len(part), dtype=bool), normalisation, rows)


def _directions_of(part: Part, mask: npt.NDArray[np.bool_], normalisation: Normalisation, rows: int) -> Blocks:
    directions = Directions(part.n_features, rows, in_memory=2**62)  # dask itself puts away what is too much
    for block in part.blocks():
        samples = block.X[mask[block.rows]]
        require_finite(samples, "X", first_row=block.rows.start)
        directions.add(normalised(normalisation, samples))
    return list(directions.blocks())
