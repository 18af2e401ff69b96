"""Joint latent similarity embedding: mixtures of seen classes on both sides, and a matrix that matches them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from jcmspl.core.simplex import mixtures
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.data.training import TrainingData
from jcmspl.models.arrays import NamedArrays, Shape
from jcmspl.models.classifier import ZeroShotClassifier
from jcmspl.models.descent import descend
from jcmspl.models.moments import GramBasis
from jcmspl.models.monitor import Monitor
from jcmspl.models.parameters import COUNT, NOT_NEGATIVE, WEIGHT, checked_by, one_of_names
from jcmspl.models.scorers import FunctionScorer
from jcmspl.models.weighted import sums_by_class, weighted_samples
from jcmspl.support.arguments import Float64Array, FloatArray

# Samples that are coded at a time.
_BLOCK = 4096
LOSSES = ("squared", "squared_hinge")


@dataclass(kw_only=True, eq=False, repr=False)
class JLSE(ZeroShotClassifier):
    """Joint latent similarity embedding, after Zhang, Saligrama (2016), in its decoupled mode.

    A class with vector a has the code ``min |a - S z|^2 + semantic_ridge |z|^2`` over the simplex, the shares of the
    seen classes S in it; a sample has the code ``min |x - D z|^2 + visual_ridge |z|^2``, the shares of the mean samples
    D of seen classes in it. Whether they match is the sign of ``z_s' W z_t``, and W is learnt from all pairs of a
    training sample and a training class.

    From the paper are latent codes on both sides and a match of them that is learnt as a binary question. The
    dictionaries, which are not learnt here, and the two forms of the loss are reconstructed; the paper's joint mode,
    in which codes know of the match, is left out.

    Parameters
    ----------
    loss : {"squared", "squared_hinge"}, default "squared"
        "squared": W is that of :class:`ESZSL` between the codes, in closed form. "squared_hinge": a support vector
        machine, ``sum max(0, 1 - t z_s' W z_t)^2 + visual_penalty semantic_penalty |W|^2`` with t = 1 for the sample's
        own class and -1 for others, which needs the codes of all samples in memory, (n_samples, n_classes).
    visual_penalty, semantic_penalty : float, default 1.0
    visual_ridge, semantic_ridge : float, default 1.0 and 0.01
    max_iter : int, default 100
    tol : float, default 1e-6
        Of the descent for "squared_hinge".
    feature_normalisation : str, default "sample_l2+center_unit"
        In its units visual_ridge means the same for all data; without, samples that lie close together have one code.
    class_normalisation, whitening_shrinkage
    class_kernel, kernel_width, source_shares, class_weight, seen_bias, temperature, progress
        As for :class:`RidgeVS`.

    Attributes
    ----------
    matching_ : ndarray of shape (n_classes, n_classes)
        W: of codes of classes and codes of samples.

    Examples
    --------
    >>> from jcmspl import JLSE
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = JLSE().fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    feature_normalisation: str = field(
        default="sample_l2+center_unit", metadata=checked_by(parse_feature_normalisation)
    )
    loss: str = field(default="squared", metadata=one_of_names(LOSSES))
    visual_penalty: float = field(default=1.0, metadata=WEIGHT)
    semantic_penalty: float = field(default=1.0, metadata=WEIGHT)
    visual_ridge: float = field(default=1.0, metadata=WEIGHT)
    semantic_ridge: float = field(default=0.01, metadata=WEIGHT)
    max_iter: int = field(default=100, metadata=COUNT)
    tol: float = field(default=1e-6, metadata=NOT_NEGATIVE)

    PAPER: ClassVar[str] = "Zhang, Saligrama (2016): Zero-shot learning via joint latent similarity embedding"
    NEEDS: ClassVar[str] = "samples"
    READS_WEIGHTS: ClassVar[bool] = True
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {
        "visual_penalty": (0.1, 10.0),
        "visual_ridge": (0.3, 1.0, 3.0),
        "semantic_ridge": (0.01, 0.1),
    }
    ARRAYS: ClassVar[dict[str, Shape]] = {
        "matching": ("c", "c"),
        "visual_atoms": ("c", "m"),
        "semantic_atoms": ("c", "d"),
        "ridges": (2,),
        "n_iter": (),
    }

    @property
    def matching_(self) -> Float64Array:
        """W: of codes of classes and codes of samples."""
        return self._array("matching")

    @property
    def n_iter_(self) -> int:
        """The number of iterations; 1 where there is a closed form."""
        return int(self._array("n_iter"))

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        S, D = np.ascontiguousarray(prepared.class_vectors), np.ascontiguousarray(prepared.class_means)
        of_classes = mixtures(S, S, self.semantic_ridge)
        if self.loss == "squared":
            W, n_iter = self._squared(prepared, D, of_classes), 1
        else:
            W, n_iter = self._squared_hinge(prepared, D, of_classes, monitor)
        ridges = np.array([self.visual_ridge, self.semantic_ridge], dtype=np.float64)
        steps = {"n_iter": np.array(float(n_iter))}
        return {"matching": W, "visual_atoms": D, "semantic_atoms": S, "ridges": ridges, **steps}

    def _squared(self, training: TrainingData, D: Float64Array, of_classes: Float64Array) -> Float64Array:
        c = len(D)
        gram, sums = np.zeros((c, c)), np.zeros((c, c))
        for Z, numbers, weights in weighted_samples(training, _BLOCK):
            codes = mixtures(Z, D, self.visual_ridge)
            weighted = weights[:, None] * codes
            gram += codes.T @ weighted
            sums += sums_by_class(weighted, numbers, c)
        targets = 2 * sums - sums.sum(axis=0)  # a row for each class: its own samples count 1, others -1
        right = GramBasis(gram).solve(of_classes.T @ targets, self.visual_penalty)
        return np.ascontiguousarray(GramBasis(of_classes.T @ of_classes).solve(right.T, self.semantic_penalty).T)

    def _squared_hinge(
        self, training: TrainingData, D: Float64Array, of_classes: Float64Array, monitor: Monitor
    ) -> tuple[Float64Array, int]:
        c, penalty = len(D), self.visual_penalty * self.semantic_penalty
        blocks = [
            (mixtures(Z, D, self.visual_ridge), numbers, weights)
            for Z, numbers, weights in weighted_samples(training, _BLOCK)
        ]

        def objective(parameters: Float64Array) -> tuple[float, Float64Array]:
            W = parameters.reshape(c, c)
            value, gradient = penalty * float(np.vdot(W, W)), 2 * penalty * W
            for codes, numbers, weights in blocks:
                rows, scores = np.arange(len(codes)), (codes @ W.T) @ of_classes.T
                scores[rows, numbers] *= -1
                lacking = np.maximum(0, 1 + scores)
                slopes = 2 * weights[:, None] * lacking
                value += float(np.vdot(slopes, lacking)) / 2
                slopes[rows, numbers] *= -1
                gradient += of_classes.T @ (slopes.T @ codes)
            return value, gradient.ravel()

        best, values = descend(objective, np.zeros(c * c), max_iter=self.max_iter, tol=self.tol, monitor=monitor)
        return best.reshape(c, c).copy(), max(1, len(values) - 1)

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        visual, semantic = self.arrays_["ridges"].tolist()
        weights = np.asarray(mixtures(class_vectors, self.arrays_["semantic_atoms"], semantic) @ self.matching_)
        return FunctionScorer(partial(_scores, self.arrays_["visual_atoms"], visual, weights))


def _scores(atoms: Float64Array, ridge: float, weights: Float64Array, Z: FloatArray) -> FloatArray:
    return np.asarray(mixtures(Z.astype(np.float64, copy=False), atoms, ridge) @ weights.T)
