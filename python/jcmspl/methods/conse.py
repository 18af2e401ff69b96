"""Convex combinations of the class vectors of likely training classes."""

from functools import partial

import numpy as np

from jcmspl.model.parameters import COUNT, estimator, field
from jcmspl.model.posteriors import Affine, PosteriorMethod, most_likely
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.scaling import unit_length


@estimator
class ConSE(PosteriorMethod):
    """Convex combination of semantic embeddings: the cosine of a class vector with the mean of those of likely classes.

    ``f(x) = sum of p(k|x) s_k``, over the ``n_likely`` training classes that are likeliest for a sample, divided by the
    sum of their p; a sample's class is that with the highest cos(f(x), u). The rule is as published; there the
    posterior is that of a deep network, here that of a classifier of the features.

    Parameters
    ----------
    n_likely : int
        The paper's T; all of them, if there are fewer training classes. Classes as likely as the last one count too.
    """

    n_likely: int = field(default=10, kw_only=False, metadata=COUNT)

    EXAMPLE = "n_likely=5"
    PAPER = "Norouzi et al. (2014): Zero-shot learning by convex combination of semantic embeddings"
    COMPARISON = ("n_likely", *PosteriorMethod.COMPARISON)
    GRID = {"shrinkage": (0.1, 0.5, 0.9), "n_likely": (3, 10), "posterior_temperature": (1.0, 10.0, 30.0)}

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        function = partial(_cosines, self._log_posterior(), self.n_likely, self._training_vectors(), class_vectors)
        return FunctionScorer(function)


def _cosines(
    log_posterior: Affine, n_likely: int, training: Float64Array, candidates: Float64Array, Z: FloatArray
) -> Float64Array:
    combined = most_likely(log_posterior, n_likely, Z) @ training
    return np.asarray(unit_length(combined) @ unit_length(candidates).T)
