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

# An edge that is so much weaker than the strongest of its class is taken to be so strong, so that a walk ends.
_WEAKEST = 1e-8
# Widths whose squares are numbers.
_WIDTHS = 1e-150, 1e150
# The least probability that has a logarithm of its own.
_LEAST = 1e-300


@estimator
class AMP(PosteriorMethod):
    """Absorbing Markov chain on a graph of classes: where a walk ends that starts at likely training classes.

    The chain is as published: classes are joined to their nearest neighbours, with weights
    ``exp(-|a - b|^2 / width^2)``, unseen classes to training classes only; a walk steps from training class to training
    class until it comes to an unseen one. The score of that is the logarithm of the probability to end there,
    ``p(x)' (I - Q)^-1 R``. After the paper are the graph's details (neighbours of either of two classes are joined; the
    width) and the training classes as candidates: their score is log p(k|x), as if a walk ended at its start with
    probability 1/2. A seen_penalty is the same as another probability. Scores of unseen candidates depend on
    which others there are.

    Parameters
    ----------
    n_neighbours : int
        How many classes each is joined to, at least.
    width : float
        In units of the median distance between training classes.
    n_likely : int
        From how many training classes a walk may start: those that are likeliest for the sample, and any as likely as
        the last one.
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
    distances = cdist(training, np.concatenate([training, new]), "sqeuclidean")
    edges = _edges(distances, n_neighbours)
    median = float(np.median(pdist(training))) or 1.0  # 1 if most classes are the same
    scale = float(np.clip(width * median, *_WIDTHS)) ** 2
    lowest = np.where(edges, distances, np.inf).min(axis=1, keepdims=True)
    relative = np.exp(np.minimum(lowest - distances, 0.0) / scale)
    weights = np.where(edges, np.maximum(relative, _WEAKEST), 0.0)
    steps = weights / weights.sum(axis=1, keepdims=True)
    c = len(training)
    ends = np.maximum(np.linalg.solve(np.eye(c) - steps[:, :c], steps[:, c:]), 0.0)
    return np.asarray(ends / ends.sum(axis=1, keepdims=True))


def _edges(distances: Float64Array, n_neighbours: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return which training classes are joined to which training and new classes, (c, c + q)."""
    c, n = distances.shape
    own = distances.copy()
    np.fill_diagonal(own, np.inf)
    nearest = np.argsort(own, axis=1, kind="stable")[:, : min(n_neighbours, n - 1)]
    edges = np.zeros((c, n), dtype=bool)
    np.put_along_axis(edges, nearest, True, axis=1)
    edges[:, :c] |= edges[:, :c].T
    of_new = np.argsort(distances[:, c:], axis=0, kind="stable")[: min(n_neighbours, c)]
    np.put_along_axis(edges[:, c:], of_new, True, axis=0)
    # a training class that no way leads from to a new one is joined to the nearest of these
    _, part = connected_components(edges[:, :c], directed=False)
    lost = ~np.isin(part, part[edges[:, c:].any(axis=1)])
    edges[lost, c + distances[lost, c:].argmin(axis=1)] = True
    return edges


def _scores(log_posterior: Affine, n_likely: int, ends: Float64Array, numbers: IntArray, Z: FloatArray) -> Float64Array:
    """Return the scores of candidates: training classes by their number, others by how a walk ends."""
    scores = np.empty((len(Z), len(numbers)))
    is_new = numbers < 0
    scores[:, ~is_new] = log_probabilities(log_posterior, Z)[:, numbers[~is_new]]
    scores[:, is_new] = np.log(np.maximum(most_likely(log_posterior, n_likely, Z) @ ends, _LEAST))
    return scores
