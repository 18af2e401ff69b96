"""What discriminant analysis makes of its own training samples, each left out when it is looked at itself.

A model is surer of samples that it was trained on than of others. To leave one out changes the mean of its class and
takes a product off the covariance, so that no model has to be fitted anew.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from jcmspl.model.posteriors import ClassGaussians
from jcmspl.support.arguments import Float64Array, IntArray

# What is left of a direction in which a sample is all the scatter that there is.
_LEAST_REST = 1e-9


class LeftOut:
    """Log posteriors by normal distributions with a common covariance, for samples that they were fitted to.

    Parameters
    ----------
    gaussians : ClassGaussians
    shrinkage : float
    """

    def __init__(self, gaussians: ClassGaussians, shrinkage: float) -> None:
        self._counts, self._share = gaussians.counts, (1 - shrinkage) / gaussians.counts.sum()
        self._factor = gaussians.within.factor(shrinkage)
        self._means = self._whitened(gaussians.means)

    def _whitened(self, rows: Float64Array) -> Float64Array:
        return np.asarray(solve_triangular(self._factor, rows.T, lower=True, check_finite=False).T)

    def log_posterior(self, Z: Float64Array, numbers: IntArray, counts: Float64Array) -> Float64Array:
        """Return the log posteriors, but for a term that all classes share, of samples without which all is fitted.

        Of a sample that counts more than once, once is left out. The number of samples and the level that the
        covariance is shrunk towards stay as they are. A class that is left without samples keeps its mean.

        Parameters
        ----------
        Z : ndarray of shape (n, m)
        numbers : ndarray of shape (n,)
            The class of each sample.
        counts : ndarray of shape (n,)
            How often each counts.
        """
        V, M, rows = self._whitened(Z), self._means, np.arange(len(Z))
        products, own_means = V @ M.T, M[numbers]
        squares = np.einsum("ij,ij->i", V, V)
        distances = squares[:, None] - 2 * products + np.einsum("ij,ij->i", M, M)
        own = np.maximum(distances[rows, numbers], 0)
        # (x - mean of its class) and (x - mean of class j), in the metric of the covariance
        mixed = squares[:, None] - products - products[rows, numbers][:, None] + own_means @ M.T
        total = self._counts[numbers]
        left = total - np.minimum(counts, 1.0)
        alone = left <= 0
        stretch = np.where(alone, 1.0, total / np.where(alone, 1.0, left))  # x - mean is so much longer
        taken = self._share * np.where(alone, 0.0, (total - left) * stretch)
        rest = np.maximum(1 - taken * own, _LEAST_REST)
        distances += (taken / rest)[:, None] * mixed**2
        distances[rows, numbers] = stretch**2 * own / rest
        logs = np.log(self._counts) - distances / 2
        logs[rows, numbers] += np.log(np.where(alone, total, left) / total)
        return np.asarray(logs)
