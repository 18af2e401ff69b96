"""Scorers and recognisers: candidate classes, as a method scores them, and as a function of raw samples.

A method returns a scorer of normalised samples from ``_scorer``; its kind says how much of the work can be folded:

===================  =======================================================================================
LinearScorer         scores are linear in the sample: one matrix product, ONNX, the fastest
NearestScorer        the same for Euclidean distances, exact where they are close
FunctionScorer       anything else: a function of a block of samples
===================  =======================================================================================

A recogniser is a scorer folded with the normalisation, the labels and the bias of the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from jcmspl.core.scoring import AffineScorer, joined
from jcmspl.data.labels import LabelArray
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.reading import lazily, mapped
from jcmspl.io.onnx import LinearLayer, write_onnx
from jcmspl.support.arguments import (
    ROWS,
    Float64Array,
    FloatArray,
    IntArray,
    as_count,
    as_real_array,
    as_samples,
    require_finite,
    row_blocks,
)
from jcmspl.support.scaling import Scaling, signed_root
from jcmspl.support.shown import ELLIPSIS, Card, ShownAsCard, Table, elided

T = TypeVar("T")

_MOST_ROWS = 10  # in a notebook
# Samples that are handed to a function at a time.
_BLOCK = 1024
# Values of scores that are in memory at a time.
_SCORES = 4_000_000


class Recogniser:
    """Scores of samples for candidate classes, the higher the better."""

    #: The labels of the candidates.
    labels: LabelArray
    #: Candidates are compared by their scores less this: a large bias that favours training classes (a negative
    #: seen_penalty) would leave no digits for the differences between them, in float32 above all.
    lead: float = 0.0

    def scores(self, X: npt.NDArray[Any]) -> FloatArray:
        """Return the scores of all candidates, (n, n_candidates)."""
        return with_lead(self.scores_less_lead(X), self.lead)

    def scores_less_lead(self, X: npt.NDArray[Any]) -> FloatArray:
        """Return the same less the lead, which is as good for whatever looks at differences alone."""
        raise NotImplementedError

    def top_k(self, X: npt.NDArray[Any], k: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores of the k best candidates, best first."""
        raise NotImplementedError

    def best(self, X: Any, k: int = 1, *, progress: bool = False) -> tuple[IntArray, FloatArray]:
        """Return the same of samples in memory, or of those of dask, which are recognised on its workers."""
        found = mapped(partial(self.top_k, k=k), X, what="naming", progress=progress)
        indices, scores = (joined(parts) for parts in zip(*found, strict=True))
        return indices, scores

    def predict(self, X: Any) -> LabelArray:
        """Return the label of the best candidate of each sample."""
        return np.asarray(self.labels[self.top_k(X, 1)[0][:, 0]])


@dataclass(frozen=True, eq=False, repr=False)
class LinearRecogniser(ShownAsCard, Recogniser):
    """A plain linear layer that recognises: the score of a candidate c is ``x @ weights[c] + bias[c]``.

    All of a model is in it: normalisation, projections, metric, candidates and calibration.

    Attributes
    ----------
    weights : ndarray of shape (n_candidates, n_features)
    bias : ndarray of shape (n_candidates,)
    labels : ndarray of shape (n_candidates,)
    scaling : Scaling
        What must be done to samples first: signed roots of their values, a division by their length.
    lead : float
        See :class:`Recogniser`.
    bias_less_lead : ndarray of shape (n_candidates,) or None
        Where there is a lead: ``bias`` without it, to the last digit.
    """

    weights: Float64Array
    bias: Float64Array
    labels: LabelArray
    scaling: Scaling
    lead: float = field(default=0.0, kw_only=True)
    bias_less_lead: Float64Array | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        n, m = self.weights.shape
        scaled = "".join(f", {name}" for name, wanted in self.scaling._asdict().items() if wanted)
        return f"<{type(self).__name__}: {n} candidates, {m} features{scaled}>"

    def _card(self) -> Card:
        n, m = self.weights.shape
        steps = {"signed roots": self.scaling.power, "divided by its length": self.scaling.unit_rows}
        facts = {
            "score": "x @ weights[c] + bias[c]",
            "x": ", ".join([f"{m:,} features", *(step for step, wanted in steps.items() if wanted)]),
            "candidates": f"{n:,}",
        }
        lengths = np.linalg.norm(self.weights, axis=1)
        rows = [
            [ELLIPSIS] * 3 if i is None else [str(self.labels[i]), f"{self.bias[i]:.4g}", f"{lengths[i]:.4g}"]
            for i in elided(range(n), _MOST_ROWS, None)
        ]
        content = Table("", ["candidate", "bias", "length of weights"], rows)
        return Card(type(self).__name__, facts=facts, tables=[content])

    @cached_property
    def _scorer(self) -> AffineScorer:
        return AffineScorer(self.weights, self._compared_bias, **self.scaling._asdict())

    @property
    def _compared_bias(self) -> Float64Array:
        return self.bias if self.bias_less_lead is None else self.bias_less_lead

    @property
    def unit_rows(self) -> bool:
        """Whether samples must be divided by their length first."""
        return self.scaling.unit_rows

    def scores_less_lead(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores of all candidates less the lead."""
        return self._scorer.scores(X)

    def top_k(self, X: npt.ArrayLike, k: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the indices and scores, each (n, k), of the best candidates, best first."""
        indices, scores = self._scorer.top_k(X, k)
        return indices, with_lead(scores, self.lead)

    def to_onnx(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the layer as an ONNX model; needs ``pip install 'jcmspl[onnx]'``.

        Its input is ``features`` (n, n_features) in float32, its outputs ``scores`` (n, n_candidates) and ``index``
        (n,), the number of the best candidate. The labels are in the model's metadata, as a JSON list.
        """
        layer = LinearLayer(self.weights, self._compared_bias, self.labels.tolist(), self.scaling, self.lead)
        write_onnx(layer, Path(path), overwrite=overwrite)


@dataclass(frozen=True, eq=False)
class DistanceRecogniser(LinearRecogniser):
    """A linear layer whose scores are minus half of squared distances, but for a term that all candidates share.

    Such scores lose digits where candidates, or differences between them, are of very different sizes. Samples for
    which that could change the best candidate are decided by the distances themselves, from differences of coordinates.

    ``place`` maps raw samples into the space of the prototypes: one of length r lies at most ``stretch * r + shift``
    from its origin. ``calibration`` is added to the scores, and is part of ``bias``; less the lead.
    """

    place: Callable[[npt.NDArray[Any]], FloatArray]
    stretch: float
    shift: float
    prototypes: Float64Array
    calibration: Float64Array

    def top_k(self, X: npt.ArrayLike, k: int = 1) -> tuple[IntArray, FloatArray]:
        samples = as_real_array(X, "X")
        k = as_count(k, "k", maximum=len(self.labels))
        try:
            parts = [self._top_k_of_block(samples[rows], k) for rows in row_blocks(max(len(samples), 1), _BLOCK)]
        except ValueError:
            super().top_k(samples, k)  # which says the number of a bad sample among all, not in its block
            raise
        indices, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        return indices, scores.astype(as_samples(samples[:0]).dtype)

    def _top_k_of_block(self, X: npt.NDArray[Any], k: int) -> tuple[IntArray, FloatArray]:
        # in float64: of float32 too many samples would be unsure
        samples = as_samples(np.asarray(X, dtype=np.float64))
        indices, scores = self._scorer.top_k(samples, min(k + 1, len(self.labels)))
        unsure = (scores[:, :-1] - scores[:, 1:] <= 2 * self._rounding(samples)[:, None]).any(axis=1)
        indices, scores = indices[:, :k], scores[:, :k]
        if unsure.any():
            distances = cdist(self.place(samples[unsure]), self.prototypes, "sqeuclidean")
            indices[unsure] = np.argsort(distances / 2 - self.calibration, axis=1, kind="stable")[:, :k]
            of_these = np.take_along_axis(self.scores_less_lead(samples[unsure]), indices[unsure], axis=1)
            scores[unsure] = np.minimum.accumulate(of_these, axis=1)
        return indices, with_lead(scores, self.lead)

    def _rounding(self, samples: Float64Array) -> Float64Array:
        """Return a bound on the rounding errors of the scores of each sample: of its products and of the weights."""
        n_terms = sum(self.prototypes.shape) + samples.shape[1] + 8
        roots = signed_root(samples) if self.scaling.power else samples
        lengths = np.ones(len(samples)) if self.scaling.unit_rows else np.linalg.norm(roots, axis=1)
        largest = np.linalg.norm(self.prototypes, axis=1).max()
        placed = self.stretch * lengths + self.shift
        sizes = placed * largest + largest**2 + np.abs(self.calibration).max()
        return np.asarray(n_terms * np.finfo(np.float64).eps * sizes)


@dataclass(frozen=True, eq=False)
class BlockRecogniser(Recogniser):
    """Recognition by a function of raw samples, called with a block of them at a time; the bias is added to scores."""

    score_block: Callable[[npt.NDArray[Any]], FloatArray]
    bias: Float64Array
    labels: LabelArray
    lead: float = 0.0

    def scores_less_lead(self, X: npt.NDArray[Any]) -> FloatArray:
        return np.concatenate(list(self._blocks(X)))

    def top_k(self, X: npt.NDArray[Any], k: int = 1) -> tuple[IntArray, FloatArray]:
        k = as_count(k, "k", maximum=len(self.labels))
        indices, values = [], []
        for scores in self._blocks(X):
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            indices.append(best)
            values.append(np.take_along_axis(scores, best, axis=1))
        return np.concatenate(indices).astype(np.int64), with_lead(np.concatenate(values), self.lead)

    def _blocks(self, X: npt.NDArray[Any]) -> Iterator[FloatArray]:
        for rows in row_blocks(max(len(X), 1), _BLOCK):  # an empty block tells the type of scores
            yield np.asarray(self.score_block(X[rows]) + (self.bias - self.lead))


def score_blocks(n_samples: int, n_candidates: int) -> list[slice]:
    """Return the rows of samples whose scores for all candidates are in memory at a time."""
    return row_blocks(n_samples, int(np.clip(_SCORES // n_candidates, 1, ROWS)))


def lead_of(bias: Float64Array) -> float:
    """Return the lead of the candidates that a bias favours most; 0 where it only puts candidates back."""
    return max(float(bias.max()), 0.0)


def with_lead(scores: FloatArray, lead: float) -> FloatArray:
    """Return scores of which the lead was left out."""
    if not lead:
        return scores
    with np.errstate(over="ignore"):
        total = scores + scores.dtype.type(lead)
    if not np.isfinite(total).all():
        raise ValueError("the scores overflow, with a seen_penalty this low: use one nearer to 0, or float64")
    return np.asarray(total)


#: ``D(Z, P)``: distances, (len(Z), len(P)), between samples and candidates.
Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.ArrayLike]


class Scorer(Protocol):
    """Scores of candidate classes for normalised samples, the higher the better."""

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> Recogniser:
        """Return the recogniser of raw samples, with a bias added to the score of each candidate."""
        ...


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """The score of candidate c is ``z @ weights[c] + offsets[c]``."""

    weights: Float64Array
    offsets: Float64Array

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> LinearRecogniser:
        weights, offsets = normalisation.folded(self.weights, self.offsets)
        lead = lead_of(bias)
        less = offsets + (bias - lead) if lead else None
        return LinearRecogniser(weights, offsets + bias, labels, normalisation.scaling, lead=lead, bias_less_lead=less)


@dataclass(frozen=True, eq=False)
class NearestScorer(LinearScorer):
    """The score is minus half the squared distance of where a sample lies from a prototype, but for a shared term.

    ``place`` says where normalised samples lie, and is linear; ``norm`` is at least its norm.
    """

    place: Callable[[FloatArray], FloatArray]
    norm: float
    prototypes: Float64Array

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> DistanceRecogniser:
        layer = super().recogniser(normalisation, labels, bias)
        stretch, shift = (self.norm * part for part in normalisation.reach())
        return DistanceRecogniser(
            **vars(layer),
            place=partial(_of_raw, self.place, normalisation),
            stretch=stretch,
            shift=shift,
            prototypes=self.prototypes,
            calibration=bias - layer.lead,
        )


@dataclass(frozen=True, eq=False)
class FunctionScorer:
    """The scores, (len(Z), n_candidates), are a function of a block of normalised samples."""

    function: Callable[[FloatArray], FloatArray]

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> BlockRecogniser:
        return BlockRecogniser(partial(_of_raw, self.function, normalisation), bias, labels, lead_of(bias))


def affine_map(weights: Float64Array, normalisation: Normalisation) -> AffineScorer:
    """Return the scorer that applies a linear map of normalised samples to raw ones."""
    folded, offsets = normalisation.folded(weights, np.zeros(len(weights)))
    return AffineScorer(folded, offsets, **normalisation.scaling._asdict())


def normalised(normalisation: Normalisation, X: npt.NDArray[Any]) -> FloatArray:
    """Return raw samples as a method sees them."""
    floats = as_samples(X)
    require_finite(floats, "X")
    return normalisation.of_rows(floats)


# Functions for functools.partial, and not functions within functions, so that recognisers can be pickled.
def minus_distances(
    distance: Distance, place: Callable[[FloatArray], FloatArray], prototypes: Float64Array, Z: FloatArray
) -> FloatArray:
    """Return scores of samples where they lie: minus the distances that a function of the user returns."""
    distances = np.asarray(distance(place(Z), prototypes))
    expected = (len(Z), len(prototypes))
    if distances.shape != expected:
        raise ValueError(
            f"the metric returned an array of shape {distances.shape} for {expected[0]} samples and {expected[1]} "
            f"candidates: it must be a function D(Z, P) that returns distances of shape {expected}"
        )
    if not np.isfinite(distances).all():
        raise ValueError("the metric returned NaN or infinity")
    return -distances


def _of_raw(
    function: Callable[[FloatArray], FloatArray], normalisation: Normalisation, X: npt.NDArray[Any]
) -> FloatArray:
    return function(normalised(normalisation, X))


def by_rows(function: Callable[[npt.NDArray[Any]], Any], X: Any, dtype: Any, width: int | None = None) -> Any:
    """Return the result of a function of rows, as :func:`~jcmspl.data.reading.lazily`; plain arrays take no detour."""
    return function(X) if type(X) is np.ndarray else lazily(function, X, dtype, width)


def cached(cache: dict[str, Any], kind: str, call: Any, parameters: dict[str, Any], make: Callable[[], T]) -> T:
    """Return the cached result of a kind for an equal call and equal parameters, or make it.

    Making a recogniser takes longer than using it. The cache is that of one fitted state, so a change of the model
    starts with an empty one. Arrays and functions among parameters count as equal if they are the same object.
    """
    entry = cache.get(kind)  # one read: other threads may replace the entry
    if entry is None or entry[0] != call or not _are_equal(entry[1], parameters):
        entry = cache[kind] = call, parameters, make()
    found: T = entry[2]
    return found


def _are_equal(some: dict[str, Any], others: dict[str, Any]) -> bool:
    if any(isinstance(value, np.ndarray) and value is not some.get(name) for name, value in others.items()):
        return False  # arrays have no single truth value
    try:
        return bool(some == others)  # looks at identity first, so arrays that are the same object are equal
    except ValueError:  # an array nested in a parameter, or one array and another kind of value
        return False
