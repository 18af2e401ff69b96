"""Low-rank embedded semantic dictionaries, several together."""

from typing import Any

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import GramBasis, Moments
from jcmspl.model.parameters import COUNT, OPTIONAL_COUNT, SEED, SHARE, WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array, IntArray, as_random_state


@estimator
class LESD(Bilinear):
    """Dictionaries of low rank from class vectors to samples, an ensemble of them, after Ding, Shao, Fu (2017).

    Each is a regression of reduced rank, ``min |X - P D Y|^2 + alpha |P D|^2`` with ``P'P = I``, P of n_components
    columns, learnt from a part of the seen classes. P'x is compared with Dy in all of them together. That there are
    dictionaries in an embedding of low rank, and an ensemble of them, is the paper's; the objective and how the members
    of the ensemble differ, by classes drawn at random, were reconstructed.

    Parameters
    ----------
    alpha
    n_components : int
        The rank; by default all that classes give.
    n_members : int
        The number of dictionaries.
    class_share : float
        The share of the seen classes that each learns from. With 1 they are all the same, and only one is learnt.
    space : {"concept", "visual", "semantic"}
        Compare P'x with Dy in all members, or x with the mean of PDy.
    random_state
        Seed of the classes of the members, which are drawn in the order of their labels: other names are another draw.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_dimensions, n_features)
        P' of all members, one below the other, divided by the root of their number.
    semantic_projection_ : ndarray of shape (n_dimensions, n_attributes)
        D, likewise.
    """

    alpha: float = field(default=10.0, kw_only=False, metadata=WEIGHT)
    n_components: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    n_members: int = field(default=10, metadata=COUNT)
    class_share: float = field(default=0.8, metadata=SHARE)
    space: str = "concept"
    metric: Any = "cosine"
    random_state: Any = field(default=0, metadata=SEED)

    EXAMPLE = "n_members=5"
    PAPER = "Ding, Shao, Fu (2017): Low-Rank Embedded Ensemble Semantic Dictionary for Zero-Shot Learning"
    GRID = {"alpha": (1.0, 10.0, 100.0), "n_components": (None, 50, 20), "space": ("concept", "visual")}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        members = [
            reduced_rank_map(moments, classes, self.alpha, self.n_components)
            for classes in self._classes_of_members(len(moments.vectors))
        ]
        P, D = (np.vstack(parts) / np.sqrt(len(members)) for parts in zip(*members, strict=True))
        return P, D

    def _classes_of_members(self, n_classes: int) -> list[IntArray]:
        n_chosen = max(min(2, n_classes), round(self.class_share * n_classes))
        if n_chosen == n_classes:
            return [np.arange(n_classes)]
        rng = as_random_state(self.random_state)
        return [np.sort(rng.permutation(n_classes)[:n_chosen]) for _ in range(self.n_members)]


def reduced_rank_map(
    moments: Moments, classes: IntArray, alpha: float, n_components: int | None
) -> tuple[Float64Array, Float64Array]:
    """Return P' and D of the regression of samples of some classes on their vectors, of at most the given rank."""
    vectors, sums = moments.vectors[classes], moments.sums[classes]
    basis = GramBasis((vectors.T * moments.counts[classes]) @ vectors)
    # The error of PD beside that of full rank W is |(W - PD) C|^2 with CC' = YY' + alpha I, here C = U diag(roots).
    roots = np.sqrt(basis.values + alpha)
    P, values, Q = np.linalg.svd((sums.T @ (vectors @ basis.vectors)) / roots, full_matrices=False)
    noise = np.finfo(np.float64).eps * max(P.shape) * values.max(initial=0)
    kept = slice(min(int((values > noise).sum()), n_components or len(values)))
    if not kept.stop:  # all samples are the same
        return np.zeros((1, moments.sums.shape[1])), np.zeros((1, vectors.shape[1]))
    return P[:, kept].T, values[kept, None] * Q[kept] / roots @ basis.vectors.T
