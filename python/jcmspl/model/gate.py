"""Two experts, for training classes and for others, and the gate that weighs their answers (:class:`COSMO`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

from jcmspl.core.search import METRICS, SPACES, fold
from jcmspl.model.posteriors import Affine
from jcmspl.model.weighted import WeightedBlocks
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray

# Temperatures that are tried, in units of the spread of scores.
_STEP = 10**0.25
_TEMPERATURES = _STEP ** np.arange(-12.0, 9.0)
# Largest log odds of the gate: classes that it excludes must still differ in their scores.
_SUREST = 12.0
# Log odds and cosines that differ by no more than this part of the largest, or of 1, differ by rounding alone.
_NOISE = 64 * np.finfo(np.float64).eps


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
    return gate, np.array([_lowest(*of_one) for of_one in zip(tried, losses, strict=True)])


def fitted_gate(
    sureness: Float64Array, is_seen: np.ndarray[Any, np.dtype[np.bool_]], weights: Float64Array
) -> Float64Array:
    """Return the weights and the offset of the logistic regression that is the gate."""
    mean = np.average(sureness, axis=0, weights=weights)
    spread = np.sqrt(np.average((sureness - mean) ** 2, axis=0, weights=weights))
    spread[spread <= _NOISE * np.maximum(np.abs(sureness).max(axis=0), 1)] = 1.0
    found = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit((sureness - mean) / spread, is_seen, weights)
    slopes = found.coef_[0] / spread
    return np.append(slopes, found.intercept_[0] - slopes @ mean)


def _lowest(temperatures: Float64Array, losses: Float64Array) -> float:
    """Return the temperature of the lowest loss: where a parabola through the three lowest has its lowest point."""
    best = int(losses.argmin())
    if not 0 < best < len(losses) - 1:
        return float(temperatures[best])
    before, here, after = losses[best - 1 : best + 2]
    curvature = before - 2 * here + after
    shift = (before - after) / (2 * curvature) if curvature > 0 else 0.0
    return float(temperatures[best] * _STEP**shift)


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
    spread = float((scores - scores.mean(axis=1, keepdims=True)).std())
    return spread if spread > _NOISE * max(float(np.abs(scores).max()), 1.0) else 1.0


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
