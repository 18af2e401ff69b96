"""Semantic manifold distance by an absorbing Markov chain."""

from functools import partial

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist

from jcmspl.data.class_table import ClassTable
from jcmspl.model.parameters import COUNT, POSITIVE, estimator, field
from jcmspl.model.posteriors import Affine, PosteriorMethod, log_probabilities, most_likely, training_numbers
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray

# The least weight of an edge, relative to the strongest edge of the same training class: every edge can be taken.
_MIN_RELATIVE_WEIGHT = 1e-8
# The range of widths whose squares neither overflow nor underflow.
_WIDTHS = 1e-150, 1e150
# Smaller probabilities count as this one, so that their logarithm is finite.
_MIN_PROBABILITY = 1e-300


@estimator
class AMP(PosteriorMethod):
    """Absorbing Markov chain on a graph of classes: a random walk from likely training classes to an unseen class.

    The chain is as published. Classes are joined to their nearest neighbours, with weights
    ``exp(-|a - b|^2 / width^2)``, and unseen classes to training classes only. A walk starts at a training class that
    is likely for the sample, and steps from training class to training class until it ends at an unseen one. The score
    of an unseen class is the logarithm of the probability that the walk ends there, ``p(x)' (I - Q)^-1 R``: p(x) are
    the probabilities of the training classes, Q the steps between them, R the steps to unseen classes.

    The paper does not say: two training classes are joined if either is among the nearest of the other; the width is
    relative to the median distance; training classes may be candidates, and their score is log p(k|x). The score of an
    unseen class depends on the other unseen candidates, which share the walks.

    Parameters
    ----------
    n_neighbours : int
        The least number of classes that each class is joined to.
    width : float
        The width of the weights, in units of the median distance between training classes.
    n_likely : int
        The number of likeliest training classes at which a walk may start; those as likely as the last are included.
    """

    n_neighbours: int = field(default=3, kw_only=False, metadata=COUNT)
    width: float = field(default=1.0, kw_only=False, metadata=POSITIVE)
    n_likely: int = field(default=10, metadata=COUNT)

    EXAMPLE = "n_neighbours=5"
    PAPER = "Fu, Xiang, Kodirov, Gong (2015): Zero-shot object recognition by semantic manifold distance"
    COMPARISON = ("n_neighbours", "width", "n_likely", *PosteriorMethod.COMPARISON)
    GRID = {"n_neighbours": (3, 5, 10), "width": (0.5, 1.0), "posterior_temperature": (1.0, 10.0, 30.0)}

    def _scorer_of(self, table: ClassTable, space: str) -> FunctionScorer:
        numbers = training_numbers(self, table)
        vectors = np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors))
        is_new = numbers < 0
        ends = np.zeros((len(self._trained_vectors), 0))
        log_posterior = self._log_posterior()
        if is_new.any():
            ends = absorption(self._training_vectors(), vectors[is_new], self.n_neighbours, self.width)
        return FunctionScorer(partial(_scores, log_posterior, self.n_likely, ends, numbers))


def absorption(training: Float64Array, new: Float64Array, n_neighbours: int, width: float) -> Float64Array:
    """Return the probability, (n_training, n_new), to end at each new class from each training class."""
    squares = cdist(training, np.concatenate([training, new]), "sqeuclidean")
    edges = _edges(squares, n_neighbours)
    median = float(np.median(pdist(training))) or 1.0  # 1 if most classes are the same
    scale = float(np.clip(width * median, *_WIDTHS)) ** 2
    # weights relative to the nearest neighbour's do not underflow; rows are divided by their sums afterwards
    nearest = np.where(edges, squares, np.inf).min(axis=1, keepdims=True)
    relative = np.exp(np.minimum(nearest - squares, 0.0) / scale)
    weights = np.where(edges, np.maximum(relative, _MIN_RELATIVE_WEIGHT), 0.0)
    steps = weights / weights.sum(axis=1, keepdims=True)
    c = len(training)
    ends = np.maximum(np.linalg.solve(np.eye(c) - steps[:, :c], steps[:, c:]), 0.0)  # rows add up to 1, up to rounding
    return np.asarray(ends / ends.sum(axis=1, keepdims=True))


def _edges(squares: Float64Array, n_neighbours: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return whether each training class is joined to each training and each new class, by squared distances."""
    c, n = squares.shape
    own = squares.copy()
    np.fill_diagonal(own, np.inf)
    nearest = np.argsort(own, axis=1, kind="stable")[:, : min(n_neighbours, n - 1)]
    edges = np.zeros((c, n), dtype=bool)
    np.put_along_axis(edges, nearest, True, axis=1)
    edges[:, :c] |= edges[:, :c].T
    nearest_to_new = np.argsort(squares[:, c:], axis=0, kind="stable")[: min(n_neighbours, c)]
    np.put_along_axis(edges[:, c:], nearest_to_new, True, axis=0)
    # training classes without a path to a new class are joined to their nearest new class
    _, component = connected_components(edges[:, :c], directed=False)
    without_exit = ~np.isin(component, component[edges[:, c:].any(axis=1)])
    edges[without_exit, c + squares[without_exit, c:].argmin(axis=1)] = True
    return edges


def _scores(log_posterior: Affine, n_likely: int, ends: Float64Array, numbers: IntArray, Z: FloatArray) -> Float64Array:
    """Return the scores of candidates: their posterior for training classes (numbers), else the ends of walks (-1)."""
    scores = np.empty((len(Z), len(numbers)))
    is_new = numbers < 0
    scores[:, ~is_new] = log_probabilities(log_posterior, Z)[:, numbers[~is_new]]
    scores[:, is_new] = np.log(np.maximum(most_likely(log_posterior, n_likely, Z) @ ends, _MIN_PROBABILITY))
    return scores
