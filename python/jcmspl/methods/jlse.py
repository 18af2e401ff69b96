"""Joint latent similarity embedding: mixtures of seen classes on both sides, and a matrix that matches them."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from jcmspl.core.constrained import Mixtures, mixtures
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.iterations import Block, Iterative, Minimum, course, descend, sums_by_class, weighted_samples
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import GramBasis
from jcmspl.model.parameters import WEIGHT, FittedArray, NamedArrays, estimator, field, one_of_names
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray

# Samples that are coded at a time.
_BLOCK = 512
LOSSES = ("squared", "squared_hinge", "hinge")
# The hinge is round within this part of the margin; a wider one first leads there sooner.
_ROUND = (0.3, 0.03)


@estimator
class JLSE(Iterative, ZeroShotClassifier):
    r"""Joint latent similarity embedding, after Zhang, Saligrama (2016), in its decoupled mode.

    A class with vector a has the code ``min |a - S z|^2 + semantic_ridge |z|^2`` over the simplex, the shares of the
    seen classes S in it; a sample has the code ``min |x - D z|^2 + visual_ridge |z|^2``, the shares of the mean samples
    D of seen classes in it. Whether they match is the sign of ``z_s' W z_t``, and W is learnt from all pairs of a
    training sample and a training class.

    From the paper are latent codes on both sides and a match of them that is learnt as a binary question. The
    dictionaries, which are not learnt here, and the forms of the loss are reconstructed. The paper's joint mode is left
    out: how its codes know of the match, and how new samples are then coded, is not known well enough.

    Parameters
    ----------
    loss : {"squared", "squared_hinge", "hinge"}
        "squared": W is that of :class:`ESZSL` between the codes, in closed form. "squared_hinge": a support vector
        machine, ``sum max(0, 1 - t z_s' W z_t)^2 + visual_penalty semantic_penalty |W|^2`` with t = 1 for the sample's
        own class and -1 for others, which needs the codes of all samples in memory, (n_samples, n_classes). "hinge":
        the same without the square, but for a parabola in place of the kink that is below it by 0.015 at most.
    visual_penalty, semantic_penalty : float
        Penalties of W, as of :class:`ESZSL`; for hinges their product counts.
    visual_ridge, semantic_ridge : float
        The larger, the more classes share in the code of a sample or a class. With the default normalisation
        visual_ridge means the same for all data; with none, samples that lie close together get one code.
    max_iter
        Of the descent for hinges; for "hinge", of each of two stages.

    Attributes
    ----------
    objective_
        After each iteration; for "hinge" with a wider parabola in the first stage than in the second.
    n_iter_
        1 where there is a closed form.
    """

    feature_normalisation: str = "sample_l2+center_unit"
    loss: str = field(default="squared", metadata=one_of_names(LOSSES))
    visual_penalty: float = field(default=1.0, metadata=WEIGHT)
    semantic_penalty: float = field(default=1.0, metadata=WEIGHT)
    visual_ridge: float = field(default=1.0, metadata=WEIGHT)
    semantic_ridge: float = field(default=0.01, metadata=WEIGHT)
    max_iter: int = 100
    tol: float = 1e-6

    EXAMPLE = ""
    PAPER = "Zhang, Saligrama (2016): Zero-shot learning via joint latent similarity embedding"
    NEEDS = "samples"
    READS_WEIGHTS = True
    GRID = {"visual_penalty": (0.1, 10.0), "visual_ridge": (0.3, 1.0, 3.0), "semantic_ridge": (0.01, 0.1)}
    ARRAYS = {
        "matching": ("c", "c"),
        "visual_atoms": ("c", "m"),
        "semantic_atoms": ("c", "d"),
        "ridges": (2,),
        **Iterative.COURSE,
    }

    matching_ = FittedArray("W, which matches codes of classes (rows) with codes of samples.")

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        S, D = np.ascontiguousarray(prepared.class_vectors), np.ascontiguousarray(prepared.class_means)
        of_classes = mixtures(S, S, self.semantic_ridge)
        blocks = self._coded(prepared, D, monitor)
        if self.loss == "squared":
            W, value = self._least_squares(blocks, of_classes)
            found = course([value], converged=True)
        else:
            W, found = self._by_margins(list(blocks), of_classes, monitor)
        ridges = np.array([self.visual_ridge, self.semantic_ridge], dtype=np.float64)
        return {"matching": W, "visual_atoms": D, "semantic_atoms": S, "ridges": ridges, **found}

    def _coded(self, training: TrainingData, D: Float64Array, monitor: Monitor) -> Iterator[Block]:
        """Give codes of samples, their class numbers and their weights, a block at a time."""
        done, total = 0, len(training.numbers)
        code = Mixtures(D, self.visual_ridge)
        for Z, numbers, weights in weighted_samples(training, _BLOCK):
            yield code(Z), numbers, weights
            done += len(Z)
            monitor.tell_of_samples(done, total)

    def _least_squares(self, blocks: Iterator[Block], of_classes: Float64Array) -> tuple[Float64Array, float]:
        """Return W and the value of the objective of ESZSL."""
        c = len(of_classes)
        gram, sums, total = np.zeros((c, c)), np.zeros((c, c)), 0.0
        for codes, numbers, weights in blocks:
            weighted = weights[:, None] * codes
            gram += codes.T @ weighted
            sums += sums_by_class(weighted, numbers, c)
            total += float(weights.sum()) * c
        targets = of_classes.T @ (2 * sums - sums.sum(axis=0))  # own samples of a class count 1, others -1
        of_vectors = of_classes.T @ of_classes
        right = GramBasis(gram).solve(targets, self.visual_penalty)
        W = np.ascontiguousarray(GramBasis(of_vectors).solve(right.T, self.semantic_penalty).T)
        gram.flat[:: c + 1] += self.visual_penalty
        of_vectors.flat[:: c + 1] += self.semantic_penalty
        return W, total - 2 * float(np.vdot(W, targets)) + float(np.vdot(of_vectors @ W @ gram, W))

    def _by_margins(
        self, blocks: list[Block], of_classes: Float64Array, monitor: Monitor
    ) -> tuple[Float64Array, NamedArrays]:
        """Return W and how the descent went."""
        margins = _Margins(blocks, of_classes, self.visual_penalty * self.semantic_penalty)
        found = Minimum(np.zeros(of_classes.size), 0.0, np.empty(0), [], converged=True)
        values: list[float] = []
        for width in _ROUND if self.loss == "hinge" else (None,):
            margins.width = width
            found = descend(margins, found.point, max_iter=self.max_iter, tol=self.tol, monitor=monitor)
            values += found.values
        return margins.matching(found.point), course(values, converged=found.converged)

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        visual, semantic = self.arrays_["ridges"].tolist()
        weights = np.asarray(mixtures(class_vectors, self.arrays_["semantic_atoms"], semantic) @ self.matching_)
        return FunctionScorer(partial(_scores, Mixtures(self.arrays_["visual_atoms"], visual), weights))


class _Margins:
    """The objective of hinges, and its gradient, in coordinates of W in which it is about as curved everywhere."""

    #: Where the hinge goes over from a parabola into a line; None: it is squared.
    width: float | None = None

    def __init__(self, blocks: list[Block], of_classes: Float64Array, penalty: float) -> None:
        self._blocks, self._of_classes, self._penalty = blocks, of_classes, penalty
        gram = sum((codes.T @ (weights[:, None] * codes) for codes, _, weights in blocks), np.zeros(of_classes.shape))
        semantic, self._left = np.linalg.eigh(of_classes.T @ of_classes)
        visual, self._right = np.linalg.eigh(gram)
        curvatures = np.outer(semantic, visual) + penalty
        self._units = 1 / np.sqrt(np.maximum(curvatures, 1e-12 * curvatures.max()))

    def matching(self, coordinates: Float64Array) -> Float64Array:
        """Return W."""
        return np.ascontiguousarray(self._left @ (self._units * coordinates.reshape(self._units.shape)) @ self._right.T)

    def __call__(self, coordinates: Float64Array) -> tuple[float, Float64Array]:
        W, of_classes = self.matching(coordinates), self._of_classes
        value, gradient = self._penalty * float(np.vdot(W, W)), 2 * self._penalty * W
        of_samples = of_classes @ W
        for codes, numbers, weights in self._blocks:
            rows, scores = np.arange(len(codes)), codes @ of_samples.T
            scores[rows, numbers] *= -1
            losses, slopes = self._hinge(np.maximum(0, 1 + scores))
            value += float(weights @ losses.sum(axis=1))
            slopes *= weights[:, None]
            slopes[rows, numbers] *= -1
            gradient += of_classes.T @ (slopes.T @ codes)
        return value, np.ravel(self._units * (self._left.T @ gradient @ self._right))

    def _hinge(self, lacking: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the losses by what is missing of margins, and their slopes."""
        if self.width is None:
            return lacking**2, 2 * lacking
        slopes = np.minimum(lacking / self.width, 1)
        return slopes * (lacking - self.width / 2 * slopes), slopes


def _scores(code: Mixtures, weights: Float64Array, Z: FloatArray) -> FloatArray:
    return np.asarray(code(Z.astype(np.float64, copy=False)) @ weights.T)
