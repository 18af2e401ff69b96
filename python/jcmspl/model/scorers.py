"""Scorers: what a method makes of its candidate classes, for normalised samples. The classifier does the rest.

A method returns one of these from ``_scorer``; which one says how much of the work can be folded together:

===================  =======================================================================================
LinearScorer         scores are linear in the sample: one matrix product, ONNX, the fastest
NearestScorer        the same for Euclidean distances, exact where they are close
FunctionScorer       anything else: a function of a block of samples
===================  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from jcmspl.core.scoring import AffineScorer
from jcmspl.data.labels import LabelArray
from jcmspl.data.normalisation import Normalisation
from jcmspl.model.recogniser import BlockRecogniser, DistanceRecogniser, LinearRecogniser, Recogniser, lead_of
from jcmspl.support.arguments import Float64Array, FloatArray, as_samples, require_finite

#: ``D(Z, P)``: distances, (len(Z), len(P)), between samples and candidates.
Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.ArrayLike]


class Scorer(Protocol):
    """Scores of candidate classes for normalised samples, the higher the better."""

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> Recogniser:
        """Return what names raw samples, with a bias added to the score of each candidate."""
        ...


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """The score of candidate c is ``z @ weights[c] + offsets[c]``."""

    weights: Float64Array
    offsets: Float64Array

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> LinearRecogniser:
        """Return a linear layer of raw samples."""
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
        """Return a linear layer of raw samples that knows the distances behind it."""
        layer = super().recogniser(normalisation, labels, bias)
        place = partial(_of_raw, self.place, normalisation)
        stretch, shift = (self.norm * part for part in normalisation.reach())
        return DistanceRecogniser(
            layer.weights,
            layer.bias,
            labels,
            layer.scaling,
            place,
            stretch,
            shift,
            self.prototypes,
            bias - layer.lead,
            lead=layer.lead,
            bias_less_lead=layer.bias_less_lead,
        )


@dataclass(frozen=True, eq=False)
class FunctionScorer:
    """The scores, (len(Z), n_candidates), are a function of a block of normalised samples."""

    function: Callable[[FloatArray], FloatArray]

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> BlockRecogniser:
        """Return what normalises raw samples and calls the function, a block at a time."""
        return BlockRecogniser(partial(_of_raw, self.function, normalisation), bias, labels, lead_of(bias))


def affine_map(weights: Float64Array, normalisation: Normalisation) -> AffineScorer:
    """Return what applies a linear map of normalised samples to raw ones."""
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
    """Return scores of samples where they lie: minus what a function of the user's own gives, if that is distances."""
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
