"""Logistic posteriors of training samples, each by a fit that it had no part in.

A model is surer of samples that it was fitted to than of others. To leave each out in turn would take a fit for each;
here one half of the samples is looked at by what was fitted to the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.model.logistic import LogisticFit
from jcmspl.model.posteriors import Affine
from jcmspl.model.weighted import Block
from jcmspl.support.arguments import Float64Array, IntArray

#: What samples belong to that are alone in their class: without them there would be none of it.
BOTH = 2

#: A fit to blocks of samples, whose statistics are given.
Fit = Callable[[Iterable[Block], Statistics], LogisticFit]


def halves(blocks: Iterable[Block], n_features: int) -> IntArray:
    """Return the half, 0 or 1, of each sample, or ``BOTH``.

    It depends on what samples are and not on where they stand: equal ones are in the same half.
    """
    direction = np.random.default_rng(0).standard_normal(n_features)
    places, numbers = [], []
    for Z, of_block, _ in blocks:
        places.append(np.round(Z @ direction, 10))  # but for rounding
        numbers.append(of_block)
    place, number = np.concatenate(places), np.concatenate(numbers)
    found = np.full(len(place), BOTH)
    for one in np.unique(number):
        own = np.flatnonzero(number == one)
        different, rank = np.unique(place[own], return_inverse=True)
        if len(different) > 1:
            found[own] = rank % 2
    return found


class CrossFitted:
    """The log posteriors of some classes: of their own samples by the fit to the other half, of others by the whole.

    Parameters
    ----------
    blocks : iterable of blocks
        Samples of these and of other classes.
    half_of : ndarray of shape (n_samples,)
        See :func:`halves`.
    kept : ndarray of shape (n_classes,)
        The numbers of the classes, ascending.
    n_features : int
    fit : function
    """

    def __init__(self, blocks: Iterable[Block], half_of: IntArray, kept: IntArray, n_features: int, fit: Fit) -> None:
        self._half_of = half_of
        parts = [_Part(blocks, half_of, kept, without) for without in (0, 1, None)]
        fits = [fit(part, _statistics_of(part, n_features)) for part in parts]
        self._by_half = [Affine(one.weights, one.offsets) for one in fits]
        #: Fitted to all samples of the classes.
        self.whole = self._by_half[-1]
        self.converged = all(one.converged for one in fits)

    def log_posterior(self, Z: Float64Array, rows: IntArray) -> Float64Array:
        """Return the log posteriors, but for a term that all classes share, of the samples in these rows."""
        found = np.empty((len(Z), len(self.whole.offsets)))
        for half, posterior in enumerate(self._by_half):
            own = self._half_of[rows] == half
            found[own] = posterior.of(Z[own])
        return found


class _Part(Iterable[Block]):
    """The samples of some classes, numbered anew, that are not in one of the halves."""

    def __init__(self, blocks: Iterable[Block], half_of: IntArray, kept: IntArray, without: int | None) -> None:
        self._blocks, self._half_of, self.kept, self._without = blocks, half_of, kept, without

    def __iter__(self) -> Iterator[Block]:
        first = 0
        for Z, numbers, counts in self._blocks:
            own = np.isin(numbers, self.kept)
            if self._without is not None:
                own &= self._half_of[first : first + len(Z)] != self._without
            first += len(Z)
            yield Z[own], np.searchsorted(self.kept, numbers[own]), counts[own]


def _statistics_of(part: _Part, n_features: int) -> Statistics:
    statistics = Statistics(n_features, len(part.kept))
    for Z, numbers, counts in part:
        statistics.update(Z, numbers, sample_weight=counts)
    return statistics
