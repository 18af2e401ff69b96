"""A softmax over class vectors, and the objective that it shares with SCoRe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.iterations import Iterative, SampleBlocks, fitted_by_descent
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import one_map
from jcmspl.model.parameters import POSITIVE_WEIGHT, FittedArray, NamedArrays, Shape, estimator
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length

# How curved a softmax is where it is nearly sure, as a part of the square of what it multiplies.
_CURVATURE = 0.01


@dataclass(kw_only=True, eq=False, repr=False)
class CodewordSoftmax(Iterative):
    """A method that fits the softmax of codewords by L-BFGS; a mixin before :class:`Bilinear`.

    Parameters
    ----------
    penalty : float
        Penalty of W beside the mean loss of samples, so that it does not depend on their number.
    max_iter : int
        The largest number of iterations of L-BFGS.
    tol : float
        Stop when no entry of the gradient is larger than this part of the largest one at the start.
    metric : {"cosine", "dot", "euclidean"} or callable
        "cosine" compares as the training does, with class vectors of length one.
    """

    penalty: float = field(default=1e-5, kw_only=False, metadata=POSITIVE_WEIGHT)

    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True
    ONE_MAP: ClassVar[bool] = True
    ARRAYS: ClassVar[dict[str, Shape]] = {**Bilinear.ARRAYS, "codewords": ("c", "d"), **Iterative.COURSE}

    codewords_ = FittedArray(
        "The vectors of training classes, of length one: ``transform(X) @ codewords_.T`` are the scores of the softmax."
    )

    def _objective(self, blocks: SampleBlocks) -> SoftmaxObjective:
        return SoftmaxObjective(blocks, self.penalty)

    def _prepare(self, training: TrainingData) -> Any:
        return SampleBlocks(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        objective = self._objective(prepared)
        found, course = fitted_by_descent(self, objective, objective.start(), monitor)
        T, codewords = objective.parts(found)
        A, B = one_map(np.array(T))
        return {"visual_projection": A, "semantic_projection": B, "codewords": np.array(codewords), **course}


@estimator
class SemanticSoftmax(CodewordSoftmax, Bilinear):
    r"""Bilinear logistic regression: the softmax of ``s'Wx`` over the training classes, s a class vector of length one.

    ``min over W of the mean over samples of -log softmax(SWx)_y + penalty |W|^2``, which is convex. The form of
    :class:`SCoRe` whose codewords are the class vectors and which does not look at single attributes. A temperature of
    1 gives the probabilities that were fitted.

    Parameters
    ----------
    penalty
    max_iter
    tol
    metric
    """

    EXAMPLE = "penalty=1e-4"
    PAPER = "Morgado, Vasconcelos (2017): Semantically consistent regularization, with fixed codewords"
    GRID = {"penalty": (1e-6, 1e-5, 1e-4, 1e-3)}


class SoftmaxObjective:
    """The objective of :class:`SCoRe`, of T and C in one vector; of T alone where C is fixed.

    The vector holds ``(C - S) / unit``: in such units the objective is about as curved in C as in T, and L-BFGS takes a
    tenth of the iterations.
    """

    def __init__(
        self, blocks: SampleBlocks, penalty: float, attribute_match: float = 0.0, codeword_match: float = np.inf
    ) -> None:
        vectors = blocks.class_vectors
        self._blocks, self._penalty, self._match = blocks, penalty, codeword_match
        self._given = unit_length(vectors)
        self._shape = vectors.shape[1], blocks.n_features
        share = attribute_match / (1 + attribute_match)
        self._of_classes = (1 - share) / blocks.total_weight
        self._of_attributes = share * 10 / (vectors.shape[1] * np.sqrt(2)) / blocks.total_weight
        self._unit = float(np.sqrt((penalty + _CURVATURE * blocks.mean_square) / (1 + codeword_match)))
        spread = np.ptp(vectors, axis=0)
        self._labels = (vectors - vectors.min(axis=0)) / np.where(spread > 0, spread, 1)

    def start(self) -> Float64Array:
        """Return T = 0 and C = S."""
        return np.zeros(self._shape[0] * self._shape[1] + (self._given.size if np.isfinite(self._match) else 0))

    def parts(self, parameters: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return T and C."""
        size = self._shape[0] * self._shape[1]
        T = parameters[:size].reshape(self._shape)
        if not np.isfinite(self._match):
            return T, self._given
        return T, self._given + self._unit * parameters[size:].reshape(self._given.shape)

    def __call__(self, parameters: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient."""
        T, C = self.parts(parameters)
        if self._of_attributes == 0 and not np.isfinite(self._match):
            return self._of_fixed(T)
        value, of_T, of_C = 0.0, np.zeros_like(T), np.zeros_like(C)
        for Z, numbers, weights in self._blocks:
            places = Z @ T.T
            loss, residuals = _cross_entropy(places @ C.T, numbers, weights * self._of_classes)
            value += loss
            of_C += residuals.T @ places
            of_places = residuals @ C
            if self._of_attributes > 0:
                labels, factors = self._labels[numbers], weights[:, None] * self._of_attributes
                losses, slopes = _binary_cross_entropy(places, labels)
                value += float(np.sum(factors * losses))
                of_places += factors * slopes
            of_T += of_places.T @ Z
        value += self._penalty * float(np.sum(T**2))
        of_T += 2 * self._penalty * T
        if not np.isfinite(self._match):
            return value, of_T.ravel()
        moved = C - self._given
        value += self._match * float(np.sum(moved**2))
        of_C += 2 * self._match * moved
        return value, np.concatenate([of_T.ravel(), self._unit * of_C.ravel()])

    def _of_fixed(self, T: Float64Array) -> tuple[float, Float64Array]:
        """Return the same with products that are as wide as there are classes, and not attributes."""
        value, weights_of_classes = 0.0, self._given @ T
        sums = np.zeros_like(weights_of_classes)
        for Z, numbers, weights in self._blocks:
            loss, residuals = _cross_entropy(Z @ weights_of_classes.T, numbers, weights * self._of_classes)
            value += loss
            sums += residuals.T @ Z
        gradient = self._given.T @ sums + 2 * self._penalty * T
        return value + self._penalty * float(np.sum(T**2)), gradient.ravel()


def _cross_entropy(scores: Float64Array, numbers: Any, weights: Float64Array) -> tuple[float, Float64Array]:
    """Return the weighted sum of -log softmax of the samples' own classes, and its gradient by the scores."""
    rows = np.arange(len(scores))
    shifted = scores - scores.max(axis=1, keepdims=True)
    residuals = np.exp(shifted)
    sums = residuals.sum(axis=1)
    losses = np.log(sums) - shifted[rows, numbers]
    residuals /= sums[:, None]
    # 1 - p loses its digits where p is nearly 1: the sum of the other shares has them
    residuals[rows, numbers] = 0
    others = residuals.sum(axis=1)
    residuals[rows, numbers] = -others
    losses = np.where(others < 0.5, -np.log1p(-np.minimum(others, 0.5)), losses)
    return float(weights @ losses), residuals * weights[:, None]


def _binary_cross_entropy(values: Float64Array, labels: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the losses of sigmoid(values) for labels from 0 to 1, and their slopes.

    Sums of terms that are not negative: a difference would lose the digits of a loss that is nearly zero.
    """
    small = np.exp(-np.abs(values))
    losses = np.log1p(small) + np.where(values > 0, 1 - labels, labels) * np.abs(values)
    small /= 1 + small
    is_above = values > 0
    yes, no = np.where(is_above, 1 - small, small), np.where(is_above, small, 1 - small)
    return losses, (1 - labels) * yes - labels * no
