"""The low-rank embedded semantic autoencoder."""

from typing import Any

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.iterations import Iterative, course
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import OPTIONAL_COUNT, WEIGHT, NamedArrays, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class LESAE(Iterative, Bilinear):
    r"""A semantic autoencoder of low rank, after Liu et al. (2018).

    ``min |X - W'Y|^2 + weight |WX - Y|^2 + low_rank sum_{i > rank} s_i(W)^2``, with s_i the singular values of W. As in
    the paper, the last term is ``tr T'WW'T`` with T the eigenvectors of WW' of the least eigenvalues, found by turns
    with W, which is the solution of a Sylvester equation. Constants and the rule to stop are ours; it starts from
    :class:`SAE`.

    Parameters
    ----------
    weight : float
        The paper's λ.
    low_rank : float
        The paper's β.
    rank : int
        The paper's r; by default half of what the class vectors span. From that on the method is :class:`SAE`.
    tol
        Stop when a turn lowers the objective by less than this part of it.

    Attributes
    ----------
    objective_
        After each turn; the first is that of SAE.
    """

    weight: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    low_rank: float = field(default=10.0, kw_only=False, metadata=WEIGHT)
    rank: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    max_iter: int = 100
    tol: float = 1e-6

    EXAMPLE = "rank=8"
    ONE_MAP = True
    PAPER = "Liu et al. (2018): Zero Shot Learning via Low-rank Embedded Semantic AutoEncoder"
    GRID = {"weight": (0.01, 0.1, 1.0, 10.0), "low_rank": (0.1, 10.0, 1e3), "space": ("semantic", "visual")}
    ARRAYS = {**Bilinear.ARRAYS, **Iterative.COURSE}

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        problem = _Problem(prepared, self.weight, self.low_rank, self.rank)
        W = problem.solution(np.zeros((len(problem.squares), 0)))
        objective: list[float] = []
        for done in range(1, self.max_iter + 1):
            value, tail = problem.objective(W)
            objective.append(value)
            monitor.tell_of_iteration(done, value)
            stalled = self.tol > 0 and done > 1 and objective[-2] - value <= self.tol * value
            if not tail.size or stalled or done == self.max_iter:
                break
            W = problem.solution(tail)
        A, B = one_map(prepared.semantic.vectors @ W @ prepared.visual.vectors.T)
        arrays = {"visual_projection": np.ascontiguousarray(A), "semantic_projection": B}
        return arrays | course(objective, converged=stalled or not tail.size)


class _Problem:
    """The problem in the eigenbases of YY' and XX': W has no part outside of them."""

    def __init__(self, moments: Moments, weight: float, low_rank: float, rank: int | None) -> None:
        semantic, visual = moments.semantic, moments.visual
        self.squares, self._of_samples = semantic.values, weight * visual.values
        self._cross: Float64Array = (1 + weight) * (semantic.vectors.T @ moments.cross @ visual.vectors)
        self._constant = float(visual.values.sum() + weight * semantic.values.sum())
        self._low_rank = low_rank
        self._rank = max(1, len(self.squares) // 2) if rank is None else rank

    def solution(self, tail: Float64Array) -> Float64Array:
        """Return the W for given directions, as columns, in which it is to be small."""
        if not tail.size:  # the coefficient is diagonal already
            return np.asarray(self._cross / (self.squares[:, None] + self._of_samples))
        values, vectors = np.linalg.eigh(np.diag(self.squares) + self._low_rank * tail @ tail.T)
        return np.asarray(vectors @ ((vectors.T @ self._cross) / (values[:, None] + self._of_samples)))

    def objective(self, W: Float64Array) -> tuple[float, Float64Array]:
        """Return the objective and the directions in which W is least, those beyond the rank."""
        values, vectors = np.linalg.eigh(W @ W.T)
        beyond = slice(0, max(0, len(values) - self._rank))
        fit = float(np.sum(W**2 * (self.squares[:, None] + self._of_samples)) - 2 * np.vdot(W, self._cross))
        value = self._constant + fit + self._low_rank * float(np.maximum(values[beyond], 0).sum())
        return value, vectors[:, beyond]
