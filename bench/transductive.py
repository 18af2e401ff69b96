"""Published transductive methods in NumPy, all from the same first scores: rivals of `adapt` for bench/adapt.py.

Written after the published code and its constants. Each takes a Task and returns scores, (n_samples, n_candidates).
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix, diags

SMALL = 1e-9
MOST_NEIGHBOURS = 5


@dataclass(frozen=True, eq=False)
class Task:
    """Directions of samples, (n, m), prototypes of length one, (C, m), and first scores, (n, C), as cosines."""

    directions: np.ndarray
    prototypes: np.ndarray
    scores: np.ndarray = field(repr=False)

    @cached_property
    def neighbours(self):
        """The nearest other samples of each, nearest first, and their cosines."""
        k = min(MOST_NEIGHBOURS, len(self.directions) - 1)
        found, cosines = [], []
        for first in range(0, len(self.directions), 1024):
            products = self.directions[first : first + 1024] @ self.directions.T
            rows = np.arange(len(products))
            products[rows, first + rows] = -2
            some = np.argpartition(-products, k - 1, axis=1)[:, :k]
            own = np.take_along_axis(products, some, axis=1)
            order = np.argsort(-own, axis=1)
            found.append(np.take_along_axis(some, order, axis=1))
            cosines.append(np.take_along_axis(own, order, axis=1))
        return np.concatenate(found), np.concatenate(cosines)

    def graph(self, k):
        """Return the sparse matrix of cosines with the k nearest samples."""
        found, cosines = (part[:, :k] for part in self.neighbours)
        n, k = found.shape
        return csr_matrix((cosines.ravel(), found.ravel(), np.arange(0, k * n + 1, k)), (n, n))


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def softmax(logits):
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def first_scores(task):
    return task.scores


def even_anchor(task, pull=0.1, temperature=0.02, guess=0.3, rounds=15):
    """`adapt` as it was: each prediction counts as a tenth of an even share of the samples."""
    U, P = task.directions, task.prototypes
    logits, Q = (1 + guess) * task.scores, P
    for _ in range(rounds):
        shares = softmax(logits / temperature)
        Q = unit(pull * len(U) / len(P) * P + shares.T.astype(np.float32) @ U)
        logits = U @ Q.T.astype(np.float32) + guess * task.scores
    return logits


def kmeans(task, rounds=50):
    """Spherical k-means that starts from the first names."""
    U, centres, names = task.directions, task.prototypes, task.scores.argmax(axis=1)
    for _ in range(rounds):
        counts = np.bincount(names, minlength=len(centres))
        member = csr_matrix((np.ones(len(U), np.float32), (names, np.arange(len(U)))), (len(centres), len(U)))
        centres = np.where(counts[:, None] > 0, unit(member @ U), centres)
        scores = U @ centres.T.astype(np.float32)
        if np.array_equal(scores.argmax(axis=1), names):
            break
        names = scores.argmax(axis=1)
    return scores


def zlap(task, k=5, gamma=5.0, alpha=0.3):
    """Label propagation over a graph of samples and classes (Stojnic et al. 2024, ZLaP, transductive)."""
    n, C = task.scores.shape
    k_classes = min(k, C)
    found, cosines = (part[:, : k - 1] for part in task.neighbours)
    classes = np.argpartition(-task.scores, k_classes - 1, axis=1)[:, :k_classes]
    edges = np.maximum(np.take_along_axis(task.scores, classes, axis=1), 0) ** gamma
    rows = np.concatenate([np.repeat(np.arange(n), found.shape[1]), np.repeat(np.arange(n), k_classes)]) + C
    columns = np.concatenate([found.ravel() + C, classes.ravel()])
    values = np.concatenate([np.maximum(cosines, 0).ravel(), edges.ravel()])
    graph = csr_matrix((values, (rows, columns)), (n + C, n + C))
    graph = graph + graph.T
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = diags(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    graph = (scale @ graph @ scale).tocsr()
    labels = np.eye(n + C, C)
    spread = labels
    for _ in range(14):  # by then alpha to its power is below 1e-7
        spread = labels + alpha * (graph @ spread)
    return spread[C:]


def transclip(task, scale=100.0, k=3, rounds=10, most_certain=8):
    """Gaussian classes of one diagonal covariance, with text and Laplacian terms (Zanella et al. 2024, TransCLIP)."""
    U = task.directions
    first = softmax(scale * task.scores)
    shares = first
    seeds = np.argsort(-first, axis=0, kind="stable")[:most_certain]
    means = unit(np.stack([first[rows, c] @ U[rows] for c, rows in enumerate(seeds.T)]))
    variances = np.full(U.shape[1], 1 / U.shape[1])
    graph = _symmetric_graph(task, k)
    for round_ in range(rounds + 1):
        shares = _with_neighbours(first, _log_densities(U, means, variances), shares, graph, k)
        if round_ == rounds:
            break
        sums, sizes = shares.T.astype(np.float32) @ U, shares.sum(axis=0)
        means = np.where(sizes[:, None] > SMALL, unit(sums), means)
        variances = ((U**2).sum(axis=0) - 2 * (means * sums).sum(axis=0) + sizes @ means**2) / len(U)
        variances = np.maximum(variances, SMALL)
    return shares


def stata(task, scale=100.0, k=3, rounds=10, alpha=1.0):
    """Gaussian classes whose statistics are anchored at those of the text (Zanella et al. 2025, StatA)."""
    U, P = task.directions, task.prototypes
    first = softmax(scale * task.scores)
    shares, squares = first, U**2
    sums, sizes = first.T.astype(np.float32) @ U, first.sum(axis=0)
    usual = (squares.sum(axis=0) - 2 * (P * sums).sum(axis=0) + sizes @ P**2) / len(U)
    usual = np.maximum(usual, SMALL)
    means, variances = P, np.repeat(usual[None], len(P), axis=0)
    graph = _symmetric_graph(task, k)
    for round_ in range(rounds + 1):
        densities = _log_densities(U, means, variances) - 0.5 * np.log(variances).sum(axis=1)
        shares = _with_neighbours(first, densities, shares, graph, k)
        if round_ == rounds:
            break
        counts = np.bincount(shares.argmax(axis=1), minlength=len(P))
        trust = (counts / (alpha + counts))[:, None]
        single = shares.T.astype(np.float32)
        sums, sizes = single @ U, shares.sum(axis=0)[:, None]
        means = unit(trust * np.where(sizes > SMALL, unit(sums), 0) + (1 - trust) * P)
        own = (single @ squares - 2 * means * sums + sizes * means**2) / np.maximum(sizes, SMALL)
        variances = np.maximum(trust * own + (1 - trust) * (usual + (P - means) ** 2), SMALL)
    return shares


def _symmetric_graph(task, k):
    graph = task.graph(k)
    return (graph + graph.T).tocsr()


def _with_neighbours(first, densities, shares, graph, k, steps=5, weight=50):
    """Return shares by first guess, densities and the shares of neighbours, in turn."""
    text = np.log(np.maximum(first, 1e-300))
    for _ in range(steps):
        shares = softmax(text + densities / weight + graph @ shares / (2 * k))
    return shares


def _log_densities(U, means, variances):
    """Return log densities of normal distributions of diagonal covariance, but for their determinants."""
    precisions = (1 / variances).astype(np.float32)
    weighted = (means * precisions).astype(np.float32)
    of_samples = (U**2 @ precisions.T) if precisions.ndim == 2 else (U**2 @ precisions)[:, None]
    return -0.5 * (of_samples - 2 * (U @ weighted.T) + (means * weighted).sum(axis=1)).astype(np.float64)


RIVALS = {
    "none": first_scores,
    "even anchor": even_anchor,
    "k-means": kmeans,
    "ZLaP": zlap,
    "TransCLIP": transclip,
    "StatA": stata,
}
