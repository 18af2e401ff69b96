"""Semi-supervised vocabulary-informed learning."""

from typing import Any

import numpy as np

from jcmspl.core.scoring import nearest
from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.iterations import Iterative, SampleBlocks, fitted_by_descent
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import one_map
from jcmspl.model.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE_WEIGHT,
    SHARE,
    NamedArrays,
    checked_by,
    estimator,
    field,
)
from jcmspl.support.arguments import Float64Array, as_matrix

# Differences up to this fraction of a class vector's largest entry are rounding errors.
_ROUNDING = 1e-10


def _check_vocabulary(value: Any, name: str) -> None:
    if value is not None and not as_matrix(value, name).size:
        raise ValueError(f"{name} is empty: leave it out, or give a row for each word")


@estimator
class SSVoc(Iterative, Bilinear):
    r"""Vocabulary-informed learning, after Fu, Sigal (2016): a regression that keeps away from other words.

    W maps a sample x near the vector s of its class. It minimises ``penalty |W|^2`` and, summed over samples,
    ``regression E + (1 - regression) R``. E is the sum over attributes of ``max(0, |s - Wx| - tube)^2``. R is half the
    sum of ``max(0, margin + |Wx - s|^2 / 2 - |Wx - v|^2 / 2)^2`` over two lists of vectors v: the training classes
    nearest to the sample's class, and the nearest of all training classes and words of the vocabulary. The objective is
    convex. Its terms are the paper's; the squares and the constants are reconstructed, and L-BFGS replaces the authors'
    gradient descent.

    Parameters
    ----------
    penalty : float
        Penalty of W. With the default feature_normalisation its effect does not depend on the scale of the features.
    regression : float
        The paper's α: the weight of the regression; that of the margins is 1 - regression. With 1 and tube=0 this is
        :class:`RidgeVS`.
    tube : float
        The paper's ε: errors up to it do not count.
    margin : float
        The paper's C: how much closer samples must be to their own class than to others, in halves of squared
        distances.
    n_neighbours : int
        The length of each of the two lists of vectors that samples are kept away from.
    vocabulary : array_like of shape (n_words, n_attributes)
        Vectors of words in the units of the class vectors, such as those of all classes or of a language. By default
        there are only the training classes (the paper's closed vocabulary). A word with the vector of a class is not
        among the neighbours of that class.
    max_iter
        The largest number of iterations of L-BFGS.
    tol
        Stop when no entry of the gradient exceeds this fraction of the largest one at the start.
    metric : {"euclidean", "cosine", "dot"} or callable
        The comparison of Wx and class vectors in predictions; "euclidean" is the published one.
    """

    feature_normalisation: str = "sample_l2+center_unit"
    penalty: float = field(default=1.0, kw_only=False, metadata=POSITIVE_WEIGHT)
    regression: float = field(default=0.6, metadata=SHARE)
    tube: float = field(default=0.0, metadata=NOT_NEGATIVE)
    margin: float = field(default=1.0, metadata=NOT_NEGATIVE)
    n_neighbours: int = field(default=5, metadata=COUNT)
    vocabulary: Any = field(default=None, metadata=checked_by(_check_vocabulary, may_be_array=True))
    metric: Any = "euclidean"

    NEEDS = "samples"
    READS_WEIGHTS = True
    EXAMPLE = "n_neighbours=3"
    ONE_MAP = True
    PAPER = "Fu, Sigal (2016): Semi-supervised vocabulary-informed learning"
    GRID = {"penalty": (0.1, 1.0, 10.0), "regression": (0.3, 0.6), "metric": ("euclidean", "cosine")}
    ARRAYS = {**Bilinear.ARRAYS, **Iterative.COURSE}

    def _prepare(self, training: TrainingData) -> Any:
        return SampleBlocks(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        words = prepared.class_vectors[:0]  # no words
        if self.vocabulary is not None:
            given = as_matrix(self.vocabulary, "vocabulary")
            n_attributes = len(prepared.classes.shift)
            if given.shape[1] != n_attributes:
                raise ValueError(
                    f"the words of the vocabulary have {given.shape[1]} attributes, but the class vectors "
                    f"{n_attributes}: take both from one source"
                )
            words = prepared.classes.of_rows(given)
        objective = VocabularyObjective(
            prepared,
            words,
            penalty=self.penalty,
            regression=self.regression,
            tube=self.tube,
            margin=self.margin,
            n_neighbours=self.n_neighbours,
        )
        found, course = fitted_by_descent(self, objective, np.zeros(objective.size), monitor)
        A, B = one_map(found.reshape(-1, prepared.n_features).copy())
        return {"visual_projection": A, "semantic_projection": B, **course}


class VocabularyObjective:
    """The objective of :class:`SSVoc`, of W as one vector."""

    def __init__(
        self,
        blocks: SampleBlocks,
        words: Float64Array,
        *,
        penalty: float,
        regression: float,
        tube: float,
        margin: float,
        n_neighbours: int,
    ) -> None:
        self._blocks, self._vectors = blocks, blocks.class_vectors
        self._penalty, self._regression, self._tube = penalty, regression, tube
        self.size = self._vectors.shape[1] * blocks.n_features
        self._rivals, shares = _neighbours(self._vectors, words, n_neighbours)
        self._shares = (1 - regression) * shares
        # the squares of Wx cancel: margin + |Wx - s|^2 / 2 - |Wx - v|^2 / 2 = offset - (s - v)'Wx
        squares, own = np.sum(self._rivals**2, axis=1), np.sum(self._vectors**2, axis=1)
        self._offsets = margin + (own[:, None] - squares) / 2

    def __call__(self, parameters: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient."""
        W = parameters.reshape(-1, self._blocks.n_features)
        value, gradient = self._penalty * float(np.sum(W**2)), 2 * self._penalty * W
        for Z, numbers, weights in self._blocks:
            predicted, own = Z @ W.T, self._vectors[numbers]
            errors = predicted - own
            errors = np.sign(errors) * np.maximum(0, np.abs(errors) - self._tube)
            weights = weights[:, None]
            value += self._regression * float(np.sum(weights * errors**2))
            gradient_of_predicted = 2 * self._regression * errors
            if self._regression < 1:
                closeness = predicted @ self._rivals.T - np.sum(predicted * own, axis=1, keepdims=True)
                violations = np.maximum(0, self._offsets[numbers] + closeness)
                weighted = self._shares[numbers] * violations
                value += float(np.sum(weights * weighted * violations))
                gradient_of_predicted += 2 * (weighted @ self._rivals - weighted.sum(axis=1, keepdims=True) * own)
            gradient += (weights * gradient_of_predicted).T @ Z
        return value, gradient.ravel()


def _neighbours(vectors: Float64Array, words: Float64Array, count: int) -> tuple[Float64Array, Float64Array]:
    """Return the vectors that are near to any class, and a row of weights for each class: 0, 1/2 or 1.

    A vector weighs 1/2 for each list that it is in: the nearest other classes, and the nearest of classes and words
    together. Equal vectors count once, and a class is not its own neighbour.
    """
    everything, places = np.unique(np.vstack([vectors, _without_rounding(words, vectors)]), axis=0, return_inverse=True)
    own = places.reshape(-1)[: len(vectors)]  # versions of NumPy differ in the shape of the inverse
    classes = np.arange(len(vectors))[:, None]
    found = []
    for among in (np.unique(own), np.arange(len(everything))):
        indices, _ = nearest(vectors, everything[among], min(count + 1, len(among)), metric="euclidean")
        others = among[indices] != own[:, None]
        others &= others.cumsum(axis=1) <= count  # the first that are not the class itself
        found.append((np.broadcast_to(classes, others.shape)[others], among[indices][others]))
    rows, near = (np.concatenate(parts) for parts in zip(*found, strict=True))
    used = np.unique(near)
    shares = np.zeros((len(vectors), len(used)))
    np.add.at(shares, (rows, np.searchsorted(used, near)), 0.5)
    return everything[used], shares


def _without_rounding(words: Float64Array, vectors: Float64Array) -> Float64Array:
    """Return words in which those that differ from a class vector by rounding errors alone are that vector.

    Normalisation may round a word and a class in different ways, and a class must not become its own rival.
    """
    if not len(words):
        return words
    candidates = vectors[nearest(words, vectors, 1, metric="euclidean")[0][:, 0]]
    same = np.abs(words - candidates).max(axis=1) <= _ROUNDING * np.abs(candidates).max(axis=1)
    return np.where(same[:, None], candidates, words)
