"""Two experts, for training classes and for others, and the gate that weighs their answers (:class:`COSMO`).

The gate looks at training samples as if they were new, for a model is surer of samples that it was fitted to than of
others. Discriminant analysis leaves each sample out: that changes the mean of its class and takes a product off the
covariance, so that no model has to be fitted anew. Logistic regression would take a fit for each sample; there one half
of the samples is looked at by the fit to the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

from jcmspl.core.scoring import fold
from jcmspl.core.statistics import Statistics
from jcmspl.model.iterations import Block, LogisticFit, WeightedBlocks
from jcmspl.model.posteriors import Affine, ClassGaussians
from jcmspl.model.prototypes import spread_over_classes
from jcmspl.model.temperature import lowest
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray
from jcmspl.support.names import METRICS, SPACES
from jcmspl.support.scaling import NOISE

# The least rest of a direction in which one sample is all the scatter.
_LEAST_REST = 1e-9


class LeftOut:
    """Log posteriors by normal distributions with a common covariance, for samples that they were fitted to."""

    def __init__(self, gaussians: ClassGaussians, shrinkage: float) -> None:
        self._counts, self._share = gaussians.counts, (1 - shrinkage) / gaussians.counts.sum()
        self._factor = gaussians.within.factor(shrinkage)
        self._means = self._whitened(gaussians.means)

    def _whitened(self, rows: Float64Array) -> Float64Array:
        return np.asarray(solve_triangular(self._factor, rows.T, lower=True, check_finite=False).T)

    def log_posterior(
        self, Z: Float64Array, numbers: IntArray, counts: Float64Array, rows: IntArray | None = None
    ) -> Float64Array:
        """Return the log posteriors, but for a term that all classes share, of samples without which all is fitted.

        Of a sample that counts more than once, once is left out. The number of samples and the level that the
        covariance is shrunk towards stay the same. A class that is left without samples keeps its mean.
        """
        V, M = self._whitened(Z), self._means
        rows = np.arange(len(Z))
        products, own_means = V @ M.T, M[numbers]
        squares = np.einsum("ij,ij->i", V, V)
        distances = squares[:, None] - 2 * products + np.einsum("ij,ij->i", M, M)
        own = np.maximum(distances[rows, numbers], 0)
        # (x - mean of its class) and (x - mean of class j), in the metric of the covariance
        mixed = squares[:, None] - products - products[rows, numbers][:, None] + own_means @ M.T
        total = self._counts[numbers]
        left = total - np.minimum(counts, 1.0)
        alone = left <= 0
        stretch = np.where(alone, 1.0, total / np.where(alone, 1.0, left))  # x - mean is so much longer
        taken = self._share * np.where(alone, 0.0, (total - left) * stretch)
        rest = np.maximum(1 - taken * own, _LEAST_REST)
        distances += (taken / rest)[:, None] * mixed**2
        distances[rows, numbers] = stretch**2 * own / rest
        logs = np.log(self._counts) - distances / 2
        logs[rows, numbers] += np.log(np.where(alone, total, left) / total)
        return np.asarray(logs)


#: The half of samples that are alone in their class: they belong to both, or one would lack the class.
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

    The blocks hold samples of these and of other classes; ``half_of`` is that of :func:`halves`, ``kept`` the numbers
    of the classes, ascending.
    """

    def __init__(self, blocks: Iterable[Block], half_of: IntArray, kept: IntArray, n_features: int, fit: Fit) -> None:
        self._half_of = half_of
        parts = [_Part(blocks, half_of, kept, without) for without in (0, 1, None)]
        fits = [fit(part, _statistics_of(part, n_features)) for part in parts]
        self._by_half = [Affine(one.weights, one.offsets) for one in fits]
        #: Fitted to all samples of the classes.
        self.whole = self._by_half[-1]
        self.converged = all(one.converged for one in fits)

    def log_posterior(self, Z: Float64Array, numbers: IntArray, counts: Float64Array, rows: IntArray) -> Float64Array:
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


# Temperatures that are tried, in units of the spread of scores.
_TEMPERATURES = 10 ** (0.25 * np.arange(-12.0, 9.0))
# Largest log odds of the gate: classes that it excludes must still differ in their scores.
_SUREST = 12.0


class Expert:
    """Two projections, and how they compare samples and classes."""

    def __init__(self, A: Float64Array, B: Float64Array, space: str, metric: str, training: Float64Array) -> None:
        self.A, self.B = A, B
        self._how = {"space": space, "metric": metric}
        #: The same as numbers, for files.
        self.comparison = np.array([SPACES.index(space), METRICS.index(metric)], dtype=np.float64)
        #: Scores of the training classes, affine in the sample.
        self.seen = self.among(training)

    def among(self, class_vectors: Float64Array) -> Affine:
        """Return the affine scores of classes with the given vectors."""
        return Affine(*fold(self.A, self.B, np.ascontiguousarray(class_vectors), **self._how))


class Trial(NamedTuple):
    """Both experts, fitted without some of the training classes."""

    #: The log posteriors of samples, their numbers among those kept, counts and rows, each by a fit without it.
    left_out: Callable[[Float64Array, IntArray, Float64Array, IntArray], Float64Array]
    posterior: Affine
    converged: bool
    expert_seen: Affine
    expert_unseen: Affine
    kept: IntArray
    held_out: IntArray


class Mixture(NamedTuple):
    """A fitted gate and its experts, among given candidates."""

    seen: Affine
    expert_seen: Affine
    unseen: Affine | None
    gate: Float64Array
    temperatures: Float64Array
    numbers: IntArray
    smoothing: bool


def learnt(blocks: WeightedBlocks, trials: list[Trial], units: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the gate, weights and an offset, and the temperatures of both experts."""
    losses = np.zeros((2, len(_TEMPERATURES)))
    sureness, is_seen, weights = [], [], []
    tried = units[:, None] * _TEMPERATURES
    for trial in trials:
        counted, first = [], 0
        for Z, numbers, counts in blocks:
            rows, first = np.arange(first, first + len(Z)), first + len(Z)
            own = np.isin(numbers, trial.kept)
            as_seen, as_unseen = np.searchsorted(trial.kept, numbers), np.searchsorted(trial.held_out, numbers)
            posterior, scores = np.empty((len(Z), len(trial.kept))), trial.expert_unseen.of(Z)
            posterior[own] = trial.left_out(Z[own], as_seen[own], counts[own], rows[own])
            posterior[~own] = trial.posterior.of(Z[~own])
            losses[0] += _losses(posterior[own], as_seen[own], counts[own], tried[0])
            losses[1] += _losses(scores[~own], as_unseen[~own], counts[~own], tried[1])
            sureness.append(_sureness(posterior, trial.expert_seen.of(Z), scores))
            counted.append(np.where(own, counts, -counts))
        signed = np.concatenate(counted)
        is_seen.append(signed > 0)
        of_samples = np.abs(signed)
        half = of_samples.sum() / 2
        for kind in (signed > 0, signed < 0):  # both count for half
            of_samples[kind] *= half / of_samples[kind].sum()
        weights.append(of_samples)
    gate = fitted_gate(np.concatenate(sureness), np.concatenate(is_seen), np.concatenate(weights))
    return gate, np.array([lowest(*of_one) for of_one in zip(tried, losses, strict=True)])


def fitted_gate(
    sureness: Float64Array, is_seen: np.ndarray[Any, np.dtype[np.bool_]], weights: Float64Array
) -> Float64Array:
    """Return the weights and the offset of the logistic regression that is the gate."""
    mean = np.average(sureness, axis=0, weights=weights)
    spread = np.sqrt(np.average((sureness - mean) ** 2, axis=0, weights=weights))
    spread[spread <= NOISE * np.maximum(np.abs(sureness).max(axis=0), 1)] = 1.0
    found = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit((sureness - mean) / spread, is_seen, weights)
    slopes = found.coef_[0] / spread
    return np.append(slopes, found.intercept_[0] - slopes @ mean)


def _losses(logits: Float64Array, numbers: IntArray, counts: Float64Array, temperatures: Float64Array) -> list[float]:
    """Return the sum of minus the log likelihoods of the right classes with each of some temperatures."""
    if not len(logits):
        return [0.0] * len(temperatures)
    gaps = logits - logits[np.arange(len(logits)), numbers][:, None]
    return [float(counts @ logsumexp(gaps / temperature, axis=1)) for temperature in temperatures]


def _sureness(posterior: Float64Array, of_seen: Float64Array, of_unseen: Float64Array) -> Float64Array:
    """Return the features of the gate: the lead of the best training class, and the other expert's preference."""
    second, best = np.partition(posterior, -2, axis=1)[:, -2:].T
    return np.stack([best - second, of_seen.max(axis=1) - of_unseen.max(axis=1)], axis=1)


def spread(scores: Float64Array) -> float:
    """Return the standard deviation of scores over classes; 1 if they are all the same."""
    spread = spread_over_classes(scores)
    return spread if spread > NOISE * max(float(np.abs(scores).max()), 1.0) else 1.0


def scores_of(mixture: Mixture, Z: FloatArray) -> Float64Array:
    """Return the logarithms of the mixed probabilities of candidates, a row for each sample."""
    posterior = mixture.seen.of(Z)
    of_seen = np.asarray(log_softmax(posterior / mixture.temperatures[0], axis=1))
    if mixture.unseen is None:
        return of_seen[:, mixture.numbers]
    scores = mixture.unseen.of(Z)
    of_unseen = np.asarray(log_softmax(scores / mixture.temperatures[1], axis=1))
    sureness = _sureness(posterior, mixture.expert_seen.of(Z), scores)
    odds = np.clip(sureness @ mixture.gate[:2] + mixture.gate[2], -_SUREST, _SUREST)[:, None]
    seen, unseen = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    if mixture.smoothing:
        of_seen = np.logaddexp(seen + of_seen, unseen - np.log(of_seen.shape[1]))
        of_unseen = np.logaddexp(unseen + of_unseen, seen - np.log(of_unseen.shape[1]))
    found = np.empty((len(Z), len(mixture.numbers)))
    is_new = mixture.numbers < 0
    found[:, ~is_new] = (seen + of_seen)[:, mixture.numbers[~is_new]]
    if is_new.any():
        found[:, is_new] = unseen + of_unseen
    return found
