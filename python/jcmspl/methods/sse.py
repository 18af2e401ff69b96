"""Semantic similarity embedding: classes as mixtures of seen classes."""

from functools import partial
from typing import Any

import numpy as np

from jcmspl.core.constrained import mixtures
from jcmspl.core.similarities import Intersections
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.iterations import Iterative, WeightedBlocks, course, descend, sums_by_class
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import WEIGHT, FittedArray, NamedArrays, estimator, field
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray

# Samples that are read at a time.
_BLOCK = 4096


@estimator
class SSE(Iterative, ZeroShotClassifier):
    r"""Semantic similarity embedding, after Zhang, Saligrama (2015): a class is a mixture of seen classes.

    The shares of seen classes in a class with vector a are ``min |a - S p|^2 + mixture_ridge |p|^2`` over the simplex.
    How far a sample is of a seen class y is ``w' min(x, v_y)``, by elements (the paper's INT; its ReLU,
    ``w' max(0, x - v_y)``, is the same model with the opposite w, since shares add up to one). The score of a class is
    the sum of these, weighted by its shares. The weights w and thresholds v_y are learnt by margins: for each sample,
    and in the mean over the samples of each class, its own class is to be ahead of any other seen class by 1. The
    shortfall is squared, and ``|w|^2 / 2 + threshold_penalty |V|^2 / 2`` is added.

    The model, both kinds of margins and the start (v_y are the class means) are the paper's. Squared shortfalls, means
    over samples and over classes in place of sums, and the descent in w and V together (L-BFGS) in place of alternating
    steps are ours. Similarities of all samples are kept in memory, (n_samples, n_classes).

    Parameters
    ----------
    sample_margin, class_margin : float
        The weights of the two kinds of margins: the paper's λ2 and λ1.
    threshold_penalty : float
        The paper's λv.
    mixture_ridge : float
        The paper's γ: the larger, the more seen classes mix.
    feature_normalisation
        One that does not centre samples: features must not be negative, as after a rectifier.

    Attributes
    ----------
    objective_
        The objective after each iteration; it never rises.
    """

    feature_normalisation: str = "sample_l2"
    class_normalisation: str = "sample_l2"
    sample_margin: float = field(default=100.0, metadata=WEIGHT)
    class_margin: float = field(default=100.0, metadata=WEIGHT)
    threshold_penalty: float = field(default=0.01, metadata=WEIGHT)
    mixture_ridge: float = field(default=0.01, metadata=WEIGHT)
    max_iter: int = 100
    tol: float = 5e-3

    EXAMPLE = ""
    PAPER = "Zhang, Saligrama (2015): Zero-shot learning via semantic similarity embedding"
    NEEDS = "samples"
    READS_WEIGHTS = True
    HEAVY_IS_SIMPLE = False
    GRID = {"sample_margin": (10.0, 100.0, 1000.0), "mixture_ridge": (0.001, 0.01, 0.1)}
    ARRAYS = {"weights": ("m",), "thresholds": ("c", "m"), "atoms": ("c", "d"), "ridge": (), **Iterative.COURSE}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    weights_ = FittedArray("w, the weight of each feature.")
    thresholds_ = FittedArray("V, the thresholds of each training class.")

    def _prepare(self, training: TrainingData) -> TrainingData:
        for Z, _ in training.samples():
            if (Z < 0).any():
                raise ValueError(
                    "Negative values in data passed to SSE, with "
                    f"feature_normalisation={self.feature_normalisation!r}: it compares features with "
                    "thresholds, so that none may be negative. Use features as after a "
                    "rectifier and a normalisation that does not centre them, such as 'sample_l2', or another method"
                )
        return training

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        V = prepared.class_means
        margins = _Margins(self, prepared)
        start = np.concatenate([np.zeros(V.shape[1]), V.ravel()])
        found = descend(margins, start, max_iter=self.max_iter, tol=self.tol, monitor=monitor)
        w, V = found.point[: V.shape[1]], found.point[V.shape[1] :].reshape(V.shape)
        return {
            "weights": w.copy(),
            "thresholds": V.copy(),
            "atoms": np.ascontiguousarray(prepared.class_vectors),
            "ridge": np.array(float(self.mixture_ridge)),
            **course(found.values, converged=found.converged),
        }

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        shares = mixtures(class_vectors, self.arrays_["atoms"], float(self.arrays_["ridge"]))
        return FunctionScorer(partial(_scores, Intersections(self.thresholds_, self.weights_), shares))


class _Margins:
    """The objective, and its gradient, as a function of w and V in one vector."""

    def __init__(self, model: SSE, training: TrainingData) -> None:
        self._model, self._training = model, training
        self._shares = mixtures(training.class_vectors, training.class_vectors, model.mixture_ridge)
        self._counts = training.statistics.counts
        self._blocks = WeightedBlocks(training, _BLOCK)

    def __call__(self, parameters: Float64Array) -> tuple[float, Float64Array]:
        model, m = self._model, self._training.statistics.n_features
        w, V = parameters[:m], parameters[m:].reshape(-1, m)
        kernel = Intersections(V, w)
        similar = [(kernel.of(Z), numbers, weights) for Z, numbers, weights in self._blocks]
        value = float(w @ w) / 2 + model.threshold_penalty * float(np.vdot(V, V)) / 2
        slope = np.concatenate([w, model.threshold_penalty * V.ravel()])
        of_classes, slopes_of_classes = self._of_classes(similar)
        value += of_classes
        for (Z, _, _), (rows, numbers, weights) in zip(self._blocks, similar, strict=True):
            factors = model.sample_margin * weights / self._training.n_samples
            lost, slopes = missing(rows, numbers, self._shares, factors)
            value += lost
            slopes += (weights / self._counts[numbers])[:, None] * slopes_of_classes[numbers]
            of_w, of_V = kernel.gradients(Z, slopes)
            slope[:m] += of_w
            slope[m:] += of_V.ravel()
        return value, slope

    def _of_classes(self, similar: list[tuple[Float64Array, IntArray, Float64Array]]) -> tuple[float, Float64Array]:
        """Return the losses of the margins of classes, and their slopes by the mean similarities of each class."""
        c = len(self._counts)
        sums = np.zeros((c, c))
        for rows, numbers, weights in similar:
            sums += sums_by_class(weights[:, None] * rows, numbers, c)
        factors = np.full(c, self._model.class_margin / c)
        return missing(sums / self._counts[:, None], np.arange(c), self._shares, factors)


def missing(
    similar: Float64Array, numbers: IntArray, shares: Float64Array, factors: Float64Array
) -> tuple[float, Float64Array]:
    """Return the squared hinge losses of margins of 1, weighted, and their slopes by the similarities.

    ``similar``, (n, c), holds the similarities of samples, or of means of them, to the seen classes, ``numbers`` the
    class of each, ``shares``, (c, c), the shares of seen classes in seen classes, and ``factors`` the weights.
    """
    scores = similar @ shares.T
    rows = np.arange(len(scores))
    lacking = np.maximum(0, 1 + scores - scores[rows, numbers][:, None])
    lacking[rows, numbers] = 0
    slopes = 2 * factors[:, None] * lacking
    value = float(np.vdot(slopes, lacking)) / 2
    slopes[rows, numbers] = -slopes.sum(axis=1)
    return value, slopes @ shares


def _scores(kernel: Intersections, shares: Float64Array, Z: FloatArray) -> FloatArray:
    return kernel.of(Z) @ shares.T
