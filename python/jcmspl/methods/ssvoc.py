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


def _check_vocabulary(value: Any, name: str) -> None:
    if value is not None and not as_matrix(value, name).size:
        raise ValueError(f"{name} is empty: leave it out, or give a row for each word")


@estimator
class SSVoc(Iterative, Bilinear):
    r"""Vocabulary-informed learning, after Fu, Sigal (2016): regression on class vectors, away from other words.

    ``min over W of the sum over samples of regression times the sum over attributes of max(0, |s_y - Wx| - tube)^2
    + (1 - regression) R + penalty |W|^2``, where R is half the sum, over the classes that are nearest to the sample's
    own and over the nearest words of the vocabulary, of ``max(0, margin + |Wx - s_y|^2 / 2 - |Wx - v|^2 / 2)^2``. It is
    convex. Terms are those of the paper; that they are squared and the constants are reconstructed, and L-BFGS takes
    the place of the authors' gradient descent.

    Parameters
    ----------
    penalty : float
        Penalty of W. The default normalisation makes it mean the same whatever the spread of the samples.
    regression : float
        The paper's α: the share of the regression, the rest being that of the margins. With 1 and tube=0 this is
        :class:`RidgeVS`.
    tube : float
        The paper's ε: errors up to it do not count.
    margin : float
        The paper's C: by how much closer a sample is to be to its own class than to others.
    n_neighbours : int
        How many other training classes, and words of the vocabulary, a sample is kept away from.
    vocabulary : array_like of shape (n_words, n_attributes)
        Vectors of words, in the units of the class vectors: those of all classes, say, or a language's. By default
        there are none but those of the training classes ("closed"). A word that is a class's own vector is not among
        its neighbours.
    max_iter
        The largest number of iterations of L-BFGS.
    tol
        Stop when no entry of the gradient is larger than this part of the largest one at the start.
    metric : {"euclidean", "cosine", "dot"} or callable
        "euclidean" is the published one.
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
        words = prepared.class_vectors[:0]
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
            prepared, words, self.penalty, self.regression, self.tube, self.margin, self.n_neighbours
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
        penalty: float,
        regression: float,
        tube: float,
        margin: float,
        n_neighbours: int,
    ) -> None:
        self._blocks, self._vectors = blocks, blocks.class_vectors
        self._penalty, self._regression, self._tube = penalty, regression, tube
        self.size = self._vectors.shape[1] * blocks.n_features
        self._words, shares = _neighbours(self._vectors, words, n_neighbours)
        self._shares = (1 - regression) * shares
        # the squares of Wx cancel: margin + |Wx - s|^2 / 2 - |Wx - v|^2 / 2 = offset - (s - v)'Wx
        squares, own = np.sum(self._words**2, axis=1), np.sum(self._vectors**2, axis=1)
        self._offsets = margin + (own[:, None] - squares) / 2

    def __call__(self, parameters: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient."""
        W = parameters.reshape(-1, self._blocks.n_features)
        value, gradient = self._penalty * float(np.sum(W**2)), 2 * self._penalty * W
        for Z, numbers, weights in self._blocks:
            places, own = Z @ W.T, self._vectors[numbers]
            errors = places - own
            errors = np.sign(errors) * np.maximum(0, np.abs(errors) - self._tube)
            weights = weights[:, None]
            value += self._regression * float(np.sum(weights * errors**2))
            of_places = 2 * self._regression * errors
            if self._regression < 1:
                closeness = places @ self._words.T - np.sum(places * own, axis=1, keepdims=True)
                violations = np.maximum(0, self._offsets[numbers] + closeness)
                counted = self._shares[numbers] * violations
                value += float(np.sum(weights * counted * violations))
                of_places += 2 * (counted @ self._words - counted.sum(axis=1, keepdims=True) * own)
            gradient += (weights * of_places).T @ Z
        return value, gradient.ravel()


def _neighbours(vectors: Float64Array, words: Float64Array, count: int) -> tuple[Float64Array, Float64Array]:
    """Return the words that are near to any class, and a row for each class: 1/2 or 1 for those near to it.

    A half for being among the nearest other classes, and a half for being among the nearest of all words. A word that
    comes twice counts once, and none is its own neighbour.
    """
    everything, places = np.unique(np.vstack([vectors, words]), axis=0, return_inverse=True)
    own = places.reshape(-1)[: len(vectors)]
    classes, found = np.arange(len(vectors))[:, None], []
    for among in (np.unique(own), np.arange(len(everything))):
        indices, _ = nearest(vectors, everything[among], min(count + 1, len(among)), metric="euclidean")
        others = among[indices] != own[:, None]
        others &= others.cumsum(axis=1) <= count
        found.append((np.broadcast_to(classes, others.shape)[others], among[indices][others]))
    rows, near = (np.concatenate(parts) for parts in zip(*found, strict=True))
    used = np.unique(near)
    shares = np.zeros((len(vectors), len(used)))
    np.add.at(shares, (rows, np.searchsorted(used, near)), 0.5)
    return everything[used], shares
