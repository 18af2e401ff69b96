"""Canonical correlation analysis."""

import numpy as np

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import GramBasis, Moments
from jcmspl.model.parameters import OPTIONAL_COUNT, WEIGHT, estimator, field
from jcmspl.support.arguments import Float64Array


@estimator
class CCA(Bilinear):
    """Canonical correlation analysis of samples and their class vectors, compared where they correlate.

    ``(XX' + gamma I)^-1/2 XY' (YY' + lambda I)^-1/2 = P diag(r) Q'``, and ``A = P'(XX' + gamma I)^-1/2``,
    ``B = Q'(YY' + lambda I)^-1/2``: in the concept space samples and class vectors are uncorrelated but for their pairs
    of coordinates, whose correlations are r. As in textbooks; correlations are those of the normalised data, which by
    default is centred.

    Parameters
    ----------
    visual_penalty : float
        γ: penalty of the samples.
    semantic_penalty : float
        λ: penalty of the class vectors.
    n_components : int
        How many pairs of coordinates; by default all that correlate.
    space : {"concept", "semantic", "visual"}
        Compare Ax with By, B'Ax with y, or x with A'By.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_components, n_features)
        A.
    semantic_projection_ : ndarray of shape (n_components, n_attributes)
        B.
    """

    visual_penalty: float = field(default=10.0, kw_only=False, metadata=WEIGHT)
    semantic_penalty: float = field(default=100.0, kw_only=False, metadata=WEIGHT)
    n_components: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    space: str = "concept"

    EXAMPLE = "n_components=10"
    PAPER = "Hotelling (1936): Relations Between Two Sets of Variates"
    GRID = {
        "visual_penalty": (1.0, 10.0, 100.0),
        "semantic_penalty": (10.0, 100.0, 1e3, 1e4),
        "space": ("concept", "visual"),
    }

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        of_samples = _whitened(moments.visual, self.visual_penalty)
        of_classes = _whitened(moments.semantic, self.semantic_penalty)
        P, correlations, Q = np.linalg.svd(of_samples @ moments.cross.T @ of_classes.T, full_matrices=False)
        noise = np.finfo(np.float64).eps * len(moments.gram) * correlations.max(initial=0)
        n_pairs = min(int((correlations > noise).sum()), _most_pairs(moments))
        kept = slice(min(n_pairs, self.n_components or n_pairs))
        if not kept.stop:  # nothing correlates, as where all samples are the same
            return np.zeros((1, len(moments.gram))), np.zeros((1, len(moments.cross)))
        return P.T[kept] @ of_samples, Q[kept] @ of_classes


def _most_pairs(moments: Moments) -> int:
    """Return how many pairs can correlate: the rank of YX', of which rounding errors have more.

    Where samples are centred, sums over classes are 0 together, and what class vectors share does not count.
    """
    vectors = moments.vectors - moments.vectors.mean(axis=0) if moments.is_centred else moments.vectors
    return int(min(np.linalg.matrix_rank(vectors), np.linalg.matrix_rank(moments.sums)))


def _whitened(basis: GramBasis, penalty: float) -> Float64Array:
    """Return the whitening matrix of the Gram matrix plus the penalty."""
    return np.asarray((basis.vectors / np.sqrt(basis.values + penalty)).T)
