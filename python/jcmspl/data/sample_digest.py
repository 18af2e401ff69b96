"""Digests of samples: hashes of rows, by which a model knows the samples that it was trained on.

A hash is of the values of a row as float32, whatever type they have; the order of rows, and how they are cut into
chunks, change nothing. Of more rows than MOST the smallest hashes are kept, a random part: a row whose hash is above
the largest of them is then one of which nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.support.arguments import Float64Array, row_blocks

#: The most hashes that a digest holds: 512 kB.
MOST = 65_536
# Bytes of the rows that are hashed at a time, which stay in cache.
_CACHED = 2**18
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


class Overlap(NamedTuple):
    """How many of some samples are in a digest."""

    n_samples: int
    n_decided: int  #: those of which the digest can tell; all, unless it has left out hashes
    n_found: int  #: those of the latter that are in it

    @classmethod
    def of(cls, found: npt.NDArray[np.bool_], decided: npt.NDArray[np.bool_]) -> Overlap:
        """Return the counts of what :meth:`SampleDigest.has` tells."""
        return cls(len(found), int(decided.sum()), int(found.sum()))

    @property
    def is_exact(self) -> bool:
        """Whether the digest could tell of every sample."""
        return self.n_decided == self.n_samples

    @property
    def n_estimated(self) -> int:
        """About how many of all samples are in the digest."""
        return round(self.n_samples * self.n_found / self.n_decided) if self.n_decided else 0


@dataclass(frozen=True, eq=False)
class SampleDigest:
    """Hashes of rows; sums have those of all.

    Attributes
    ----------
    hashes : ndarray of uint64
        Ascending and different; MOST at most.
    is_complete : bool
        Whether these are the hashes of all rows; otherwise they are the smallest.
    """

    hashes: Hashes
    is_complete: bool = True

    @classmethod
    def of(cls, X: npt.NDArray[np.generic], weights: Float64Array | None = None) -> SampleDigest:
        """Return the digest of the rows of an array that weigh anything."""
        hashes = row_hashes(X)
        return cls._smallest(hashes if weights is None else hashes[weights > 0])

    def __add__(self, other: SampleDigest) -> SampleDigest:
        of_both = (digest.hashes for digest in (self, other))
        parts = [hashes[self.decides(hashes) & other.decides(hashes)] for hashes in of_both]
        return self._smallest(np.concatenate(parts), self.is_complete and other.is_complete)

    def __len__(self) -> int:
        return len(self.hashes)

    def decides(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return of which hashes the digest can tell whether they are those of its rows."""
        if self.is_complete:
            return np.ones(len(hashes), dtype=bool)
        return np.asarray(hashes <= self.hashes[-1])

    def has(self, X: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows are in the digest, and of which it can tell."""
        hashes = row_hashes(X)
        if not len(self):
            return np.zeros(len(hashes), dtype=bool), np.ones(len(hashes), dtype=bool)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self) - 1)
        return np.asarray(self.hashes[places] == hashes), self.decides(hashes)

    @classmethod
    def _smallest(cls, hashes: Hashes, is_complete: bool = True) -> SampleDigest:
        ordered = np.sort(hashes, kind="stable")  # which merges runs that are in order
        is_new = np.ones(len(ordered), dtype=bool)
        is_new[1:] = ordered[1:] != ordered[:-1]
        different = ordered[is_new]
        return cls(different[:MOST].copy(), is_complete and len(different) <= MOST)


def sum_if_known(one: SampleDigest | None, other: SampleDigest | None) -> SampleDigest | None:
    """Return the digest of the samples of both; None unless both are known."""
    return None if one is None or other is None else one + other


def row_hashes(X: npt.NDArray[np.generic]) -> Hashes:
    """Return a hash of 64 bits of each row: a sum of products modulo 2^64, which no order of summation changes."""
    n, m = X.shape
    keys, hashes = _keys((m + 1) // 2), np.empty(n, dtype=np.uint64)
    size = max(1, _CACHED // (8 * len(keys) or 1))
    floats = np.zeros((min(size, n), 2 * len(keys)), dtype=np.float32)
    words = floats.view(np.uint64)
    for rows in row_blocks(n, size):
        block = X[rows]
        own = words[: len(block)]
        floats[:, m:] = 0
        with np.errstate(all="ignore"):  # what float32 cannot hold is infinite
            floats[: len(block), :m] = block
            floats += np.float32(0)  # -0.0 becomes 0.0
        # numbers such as 1.0 differ in their high bits alone, whose products would differ there alone
        np.multiply(own, _FACTOR, out=own)
        own.byteswap(inplace=True)
        hashes[rows] = np.einsum("ij,j->i", own, keys)
    return _mixed(hashes)


@lru_cache(maxsize=8)
def _keys(count: int) -> Hashes:
    """Return odd factors, the same for ever: files have hashes that were made with them."""
    return _mixed(np.arange(1, count + 1, dtype=np.uint64) * _FACTOR) | np.uint64(1)


def _mixed(values: Hashes) -> Hashes:
    """Return numbers in which each bit depends on all bits of the given ones (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
