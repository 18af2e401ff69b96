"""Signatures: class vectors made binary, and the rule that names a class by the attributes of a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jcmspl.support.arguments import Float64Array, IntArray

#: What an attribute must exceed for a class to have it: its own mean over the training classes, or that of all.
THRESHOLDS = ("attribute_mean", "overall_mean")
# Probabilities are kept from 0 and 1 by this much.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Signatures:
    """Which classes have which attributes.

    Attributes
    ----------
    thresholds : ndarray of shape (n_attributes,)
    training : ndarray of shape (n_classes, n_attributes)
        Of the training classes: 1 where a class has the attribute, 0 where it has not.
    varies : ndarray of bool
        Whether an attribute is not the same for all of these: others say nothing.
    prior : ndarray
        The share of training classes that have it; 0.5 where it does not vary.
    """

    thresholds: Float64Array
    training: Float64Array
    varies: np.ndarray[tuple[int], np.dtype[np.bool_]]
    prior: Float64Array

    @classmethod
    def fitted(cls, vectors: Float64Array, threshold: str) -> Signatures:
        """Make the vectors of training classes binary."""
        mean = vectors.mean(axis=0)
        return cls.above(mean if threshold == "attribute_mean" else np.full_like(mean, mean.mean()), vectors)

    @classmethod
    def above(cls, thresholds: Float64Array, vectors: Float64Array) -> Signatures:
        """Make the vectors of training classes binary by given thresholds."""
        training = (vectors > thresholds).astype(np.float64)
        share = training.mean(axis=0)
        varies = (share > 0) & (share < 1)
        return cls(thresholds, training, varies, np.where(varies, share, 0.5))

    def of(self, vectors: Float64Array) -> Float64Array:
        """Return the signatures of any classes."""
        return np.asarray(vectors > self.thresholds, dtype=np.float64)

    def require_varied(self, method: str, threshold: str) -> Signatures:
        """Refuse class vectors of which nothing is left; return self."""
        if not self.varies.any():
            raise ValueError(
                f"{method} asks which training classes have an attribute, and with threshold={threshold!r} each "
                f"attribute is one that all of them have, or none of them: these class vectors cannot be made binary, "
                "so try another threshold or class_normalisation, or a method that takes them as they are, such as RPL"
            )
        return self

    def scores(self, probabilities: Float64Array, candidates: Float64Array, *, use_prior: bool) -> Float64Array:
        """Return ``log p(signature | x) - log p(signature)`` of candidates for samples whose attributes are such.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_attributes)
            How likely it is that a sample has an attribute.
        candidates : ndarray of shape (n_candidates, n_attributes)
            Signatures.
        use_prior : bool
            Whether to subtract the second term.
        """
        p = np.where(self.varies, np.clip(probabilities, _LEAST, 1 - _LEAST), 0.5)
        has, lacks = np.log(p), np.log1p(-p)
        if use_prior:
            has -= np.log(self.prior)
            lacks -= np.log1p(-self.prior)
        found = np.asarray(has @ candidates.T + lacks @ (1 - candidates).T)
        # BLAS may round equal columns differently, by their place: classes of one signature must tie nevertheless.
        first = _first_equal(candidates[:, self.varies] > 0)
        return found if np.array_equal(first, np.arange(len(first))) else found[:, first]


def _first_equal(signatures: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> IntArray:
    """Return for each row the number of the first row that is equal to it."""
    _, first, which = np.unique(np.packbits(signatures, axis=1), axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[which.reshape(-1)])
