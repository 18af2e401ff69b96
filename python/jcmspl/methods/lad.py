"""Latent attribute dictionaries."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve

from jcmspl.core.constrained import descend_within_ball, within_ball
from jcmspl.data.training import TrainingData
from jcmspl.model.iterations import Iterative, course
from jcmspl.model.kinds import Embedding
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import OPTIONAL_COUNT, POSITIVE, WEIGHT, NamedArrays, estimator, field, one_of_names
from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.scaling import unit_length

COMPARED = ("both", "latent", "similarity", "attribute")


@estimator
class LAD(Iterative, Embedding):
    r"""Latent attributes in a dictionary of samples, after Jiang et al. (2017).

    ``min |X - DL|^2 + semantic_match |L - WY|^2 + class_match |H - UL|^2``, over D, W, U, whose columns are of length
    one at most, and the latent attributes L of samples; H holds a 1 for the class of each sample. L has a closed form,
    and all that is needed of it follows from statistics; the columns of the others are updated one after the other. The
    objective is the paper's. Its start, its rule to stop, and that scores of two spaces are added with equal weights,
    were reconstructed.

    Parameters
    ----------
    semantic_match : float
        The paper's α.
    class_match : float
        The paper's β. With 0 there are no similarities to training classes: U is 0.
    n_latent : int
        The number of latent attributes; by default the number of training classes, and at most the
        number of directions in which samples differ.
    ridge : float
        Latent attributes of a new sample are ``(D'D + ridge I)^-1 D'x``.
    compare : {"both", "latent", "similarity", "attribute"}
        The cosines of latent attributes l and Wy; of similarities to training classes, Ul and UWy; of both, added; or
        of ``(W'W + ridge I)^-1 W'l`` and y. It may be changed after a fit.
    metric : {"dot", "cosine", "euclidean"} or callable
        Of unit vectors: all three choose the same class.
    """

    semantic_match: float = field(default=0.1, kw_only=False, metadata=WEIGHT)
    class_match: float = field(default=0.01, kw_only=False, metadata=WEIGHT)
    n_latent: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    ridge: float = field(default=0.01, metadata=POSITIVE)
    compare: str = field(default="both", metadata=one_of_names(COMPARED))
    max_iter: int = 100
    tol: float = 1e-4
    metric: Any = "dot"

    EXAMPLE = 'compare="attribute"'
    PAPER = "Jiang et al. (2017): Learning Discriminative Latent Attributes for Zero-Shot Classification"
    GRID = {"semantic_match": (0.01, 0.1, 1.0), "class_match": (1e-3, 1e-2, 0.1), "compare": COMPARED}
    COMPARISON = ("metric", "compare")
    HEAVY_IS_SIMPLE = False
    ARRAYS = {
        "encoder": ("k", "m"),
        "semantic_map": ("k", "d"),
        "similarity_map": ("c", "k"),
        "readout": ("d", "k"),
        **Iterative.COURSE,
    }

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        problem = _Problem(prepared, float(self.semantic_match), float(self.class_match))
        factors, objective = problem.start(self.n_latent or len(prepared.counts)), [np.inf]
        for done in range(1, self.max_iter + 1):
            factors, value = problem.improved(factors)
            stalled = self.tol > 0 and objective[-1] - value <= self.tol * value
            objective.append(value)
            monitor.tell_of_iteration(done, value)
            if stalled:
                break
        W, U = factors.W.T, factors.U.T
        arrays = {
            "encoder": _with_ridge(prepared.visual.vectors @ factors.D.T, self.ridge),
            "semantic_map": W,
            "similarity_map": U,
            "readout": _with_ridge(W, self.ridge),
        }
        found = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        return found | course(objective[1:], converged=stalled)

    def _embed(self, Z: FloatArray) -> FloatArray:
        latent = Z @ self.arrays_["encoder"].T.astype(Z.dtype)
        if self.compare == "attribute":
            return unit_length(latent @ self.arrays_["readout"].T.astype(Z.dtype))
        return self._of_latent(latent)

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        if self.compare == "attribute":
            return unit_length(class_vectors)
        return np.asarray(self._of_latent(class_vectors @ self.arrays_["semantic_map"].T), dtype=np.float64)

    def _of_latent(self, latent: FloatArray) -> FloatArray:
        """Return rows whose inner products are the cosines of latent attributes, of similarities, or their sum."""
        if self.compare == "latent":
            return unit_length(latent)
        similarities = unit_length(latent @ self.arrays_["similarity_map"].T.astype(latent.dtype))
        return similarities if self.compare == "similarity" else np.hstack([unit_length(latent), similarities])


class Factors(NamedTuple):
    """D' (k, r) in the eigenbasis of samples, W' (d, k) and U' (k, c): rows are of length one at most."""

    D: Float64Array
    W: Float64Array
    U: Float64Array


class _Problem:
    """The problem on statistics: L is eliminated, ``L = PX + RH``.

    All happens in the eigenbasis of samples, in which their Gram matrix is diagonal: D never leaves it, and lengths and
    products are the same there.
    """

    def __init__(self, moments: Moments, semantic_match: float, class_match: float) -> None:
        self._moments, self._alpha, self._beta = moments, semantic_match, class_match
        self._gram = moments.visual.values  # of XX'
        self._sums = moments.sums @ moments.visual.vectors  # HX'
        self._semantic_gram = (moments.vectors.T * moments.counts) @ moments.vectors

    def start(self, n_latent: int) -> Factors:
        """Return principal components, and what ridge regression makes of them."""
        moments, rank = self._moments, len(self._gram)
        D = np.eye(rank)[::-1][:n_latent] if rank else np.zeros((1, 0))  # no rank: all samples are the same
        codes = D @ self._sums.T  # LH'
        W = moments.semantic.solve(codes @ moments.vectors, 1.0).T
        U = codes / (D @ self._gram + 1)[:, None]
        return Factors(*(within_ball(factor) for factor in (D, W, U if self._beta else 0 * U)))

    def improved(self, factors: Factors) -> tuple[Factors, float]:
        """Return factors after one round of updates, of L first, and the objective."""
        D, W, U = factors
        moments, alpha, beta = self._moments, self._alpha, self._beta
        inner = D @ D.T + alpha * np.eye(len(D)) + beta * U @ U.T
        # where both weights are 0, columns of zeros must not make it singular
        inner += 1e-12 * (float(inner.trace()) / len(inner) or 1.0) * np.eye(len(inner))
        # the solver of NumPy, whose products these are: threads of two BLAS libraries would wait for each other
        both = np.linalg.solve(inner, np.hstack([D, alpha * (moments.vectors @ W).T + beta * U]))
        P, R = both[:, : D.shape[1]], both[:, D.shape[1] :]
        samples = P * self._gram + R @ self._sums  # LX'
        labels = P @ self._sums.T + R * moments.counts  # LH'
        vectors = (labels @ moments.vectors).T  # YL'
        codes = samples @ P.T + labels @ R.T  # LL'
        codes = (codes + codes.T) / 2
        D = descend_within_ball(D, samples, codes)
        W = descend_within_ball(W, vectors, self._semantic_gram)
        U = descend_within_ball(U, labels, codes) if beta else U
        value = (
            float(self._gram.sum())
            + _squares(D, samples, codes)
            + alpha * (float(codes.trace()) + _squares(W, vectors, self._semantic_gram))
            + beta * (float(moments.counts.sum()) + _squares(U, labels, codes))
        )
        return Factors(D, W, U), value


def _squares(rows: Float64Array, products: Float64Array, gram: Float64Array) -> float:
    """Return |A - F'L|^2 - |A|^2, given LA' and LL'."""
    return float(np.vdot(rows @ rows.T, gram) - 2 * np.vdot(rows, products))


def _with_ridge(factor: Float64Array, ridge: float) -> Float64Array:
    """Return ``(F'F + ridge I)^-1 F'``."""
    return np.asarray(solve(factor.T @ factor + ridge * np.eye(factor.shape[1]), factor.T, assume_a="pos"))
