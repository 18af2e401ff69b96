"""Fits of JCMSPL to the same data: the start beside a saddle, what a descent costs, and the solution for pinned codes.

Codes pinned to those of the classes, C = H, are the limit of a large weight class_match. Then A and B are found at
once, each in the eigenbasis of a Gram matrix, and nothing is of the size of classes times classes. With q concepts for
a class of n samples, which have the sum s and the class vector y,

    its rows of A are (1 + l3) s' (XX' + l3 n q I)^-1,       those of B are (l1 + l4) n y' (l1 YY' + l4 n q I)^-1

and for infinite l3 and l4 they are the class's mean sample and its vector, divided by q. In the visual space that is
ridge regression of the mean samples on class vectors, with the penalty l4 / l1.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jcmspl.core.solver import Spectrum, class_codes, n_directions
from jcmspl.data.training import TrainingData
from jcmspl.model.moments import GramBasis, Moments
from jcmspl.support.arguments import Float64Array, row_blocks
from jcmspl.support.machine import memory_at_hand

#: Two cores of today take about a day for so many.
_MOST_OPERATIONS = 5e15
#: Bytes that are there without a look.
_LITTLE = 2**26
#: A larger max_iter is a bound that is not meant to be reached.
_ITERATIONS = 100
_WAY_OUT = "set class_match=inf, which pins the codes to those of the classes and takes no iterations"


def require_affordable(n_concepts: int, n_classes: int, n_features: int, n_attributes: int, max_iter: int) -> None:
    """Refuse a descent that takes days, or more memory than there is."""
    n_iter = min(max_iter, _ITERATIONS)
    operations = n_iter * operations_of_iteration(n_concepts, n_classes, n_features, n_attributes)
    fit = f"a fit with {n_concepts:,} concepts and finite class_match"
    if operations > _MOST_OPERATIONS:
        raise ValueError(
            f"{fit} takes {operations:.0e} operations in {n_iter} iterations, which is days: {_WAY_OUT}; or "
            "lower max_iter. Classes of equal counts, as class_weight='balanced' makes them, take less"
        )
    needed = bytes_of_descent(n_concepts, n_classes, n_features)
    there = memory_at_hand() if needed > _LITTLE else math.inf
    if needed > there:
        raise MemoryError(
            f"{fit} takes {needed / 1e9:.0f} GB of memory, but only {there / 1e9:.0f} GB are free: {_WAY_OUT}"
        )


def operations_of_iteration(k: int, c: int, m: int, d: int) -> float:
    """Return the additions and multiplications of an iteration (docs/algorithm.md: what an iteration costs)."""
    q, s = min(c, d), m + c
    return 10 / 3 * k**3 + (5 * (m + q) + 3 * s) * k**2 + 4 * s * q * k


def bytes_of_descent(k: int, c: int, m: int) -> float:
    """Return the bytes of the matrices that grow with the square of the number of classes."""
    s = m + c
    return 8.0 * (2 * s * max(k, c) + 8 * k**2)


# The standard deviation of the noise; codes are 0 and 1.
_NOISE = 1e-6
# Rounding errors that cannot grow to this in all iterations need no noise.
_VISIBLE = 1e-6


def start_beside_saddle(
    training: TrainingData, n_concepts: int, weights: tuple[float, ...], max_iter: int
) -> Float64Array | None:
    """Return the codes of the classes with some noise, or None where they are no saddle or errors stay small."""
    n_classes = len(training.class_vectors)
    log_error = np.log(np.finfo(np.float64).eps) + max_iter * np.log(_growth(*weights))
    if log_error < np.log(_VISIBLE) or not (n_concepts > n_classes or _is_balanced(training)):
        return None
    codes = class_codes(n_concepts, n_classes)
    return codes + _NOISE * np.random.default_rng(0).standard_normal(codes.shape)


def _growth(l1: float, l2: float, l3: float, l4: float) -> float:
    """Return the largest factor by which an iteration multiplies a small part of A and B in a concept."""
    with np.errstate(over="ignore"):
        visual = np.square(1 + l3)
        semantic = np.square(l1 + l4) / max(l1, np.finfo(np.float64).eps)
        return float((visual + semantic) / (1 + l1 + l2))


def _is_balanced(training: TrainingData) -> bool:
    """Whether all classes weigh the same, and samples and class vectors add up to zero."""
    counts = training.statistics.counts
    if np.ptp(counts) > _NOISE * counts.max():
        return False
    tables = training.statistics.class_sums, training.class_vectors
    return all(np.abs(rows.sum(axis=0)).max() <= _NOISE * np.abs(rows).sum(axis=0).max() for rows in tables)


#: Classes that are solved for at once. There may be many, and what is found on the way takes as much memory as A.
_CLASSES = 1024


class _Terms(NamedTuple):
    match: float  # |AX - H|^2
    reconstruction: float  # |X - A'H|^2


class _Projection:
    """A row for each class, and its terms of the objective, which may take longer and are not always asked for."""

    def __init__(self, rows: Float64Array, find_terms: Callable[[], _Terms]) -> None:
        self.rows, self._find_terms = rows, find_terms

    @cached_property
    def terms(self) -> _Terms:
        """Both terms."""
        return self._find_terms()


class Pinned:
    """Solutions for any weights. A is kept for the next one, which mostly has the same weights of samples."""

    def __init__(self, moments: Moments, n_concepts: int | None = None) -> None:
        self._moments, self._counts = moments, moments.counts
        c = len(self._counts)
        k = c if n_concepts is None else n_concepts
        if k < c:
            raise ValueError(f"n_concepts must be at least the number of classes, {c}, but is {k}")
        self._sizes = k // c + (np.arange(c) < k % c)  # concepts of each class
        self._visual: tuple[float, _Projection] | None = None
        self._lock = threading.Lock()

    def solve(
        self, l1: float, l3: float, l4: float, *, wants_objective: bool = True
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return A, B and the five terms of the objective; those whose weight is infinite are left out, as 0.

        The terms are 0 where they are not wanted.
        """
        with self._lock:
            if self._visual is None or self._visual[0] != l3:
                self._visual = l3, self._visual_projection(l3)
            visual = self._visual[1]
        semantic = self._semantic_projection(l1, l4)
        A, B = (np.repeat(part.rows, self._sizes, axis=0) for part in (visual, semantic))
        if not wants_objective:
            return A, B, np.zeros(5)
        of_A, of_B = visual.terms, semantic.terms
        terms = np.array(
            [
                of_A.match,
                l1 * of_B.match,
                0.0,
                l3 * of_A.reconstruction if np.isfinite(l3) else 0.0,
                l4 * of_B.reconstruction if np.isfinite(l4) else 0.0,
            ]
        )
        return A, B, terms / 2

    def _visual_projection(self, l3: float) -> _Projection:
        moments = self._moments
        total = float(moments.squares.sum())
        if np.isfinite(l3):
            return self._with_terms(*self._solved(moments.visual, moments.sums, 1.0, l3), moments.sums, total)
        rows = moments.sums / self._shares(1.0)

        def find_terms() -> _Terms:
            quadratic = np.einsum("cm,cm->c", rows @ moments.gram, rows)
            return self._terms(rows, quadratic, moments.sums, total)

        return _Projection(rows, find_terms)

    def _semantic_projection(self, l1: float, l4: float) -> _Projection:
        moments = self._moments
        sums = self._counts[:, None] * moments.vectors
        if np.isinf(l4):
            rows = sums / self._shares(1.0)
            coordinates = rows @ moments.semantic.vectors
            quadratic = coordinates**2 @ moments.semantic.values
        else:
            rows, quadratic = self._solved(moments.semantic, sums, l1, l4)
        return self._with_terms(rows, quadratic, sums, float(moments.semantic.values.sum()))

    def _solved(
        self, basis: GramBasis, sums: Float64Array, match: float, reconstruction: float
    ) -> tuple[Float64Array, Float64Array]:
        """Return (l + l') s' (l G + l' n q I)^-1 for each class, l and l' the two weights, and what G makes of it."""
        shares, rows, quadratic = self._shares(reconstruction), np.empty_like(sums), np.empty(len(sums))
        for block in row_blocks(len(sums), _CLASSES):
            divisor = match * basis.values + shares[block]
            coordinates = (match + reconstruction) * (sums[block] @ basis.vectors) / np.where(divisor > 0, divisor, 1)
            coordinates[divisor == 0] = 0
            rows[block] = coordinates @ basis.vectors.T
            quadratic[block] = coordinates**2 @ basis.values
        return rows, quadratic

    def _shares(self, weight: float) -> Float64Array:
        return np.asarray(weight * self._counts * self._sizes)[:, None]

    def _with_terms(self, rows: Float64Array, quadratic: Float64Array, sums: Float64Array, total: float) -> _Projection:
        return _Projection(rows, lambda: self._terms(rows, quadratic, sums, total))

    def _terms(self, rows: Float64Array, quadratic: Float64Array, sums: Float64Array, total: float) -> _Terms:
        sizes, counts = self._sizes, self._counts
        products = np.einsum("cm,cm->c", rows, sums)
        match = float(np.sum(sizes * (quadratic - 2 * products + counts)))
        lengths = np.einsum("cm,cm->c", rows, rows)
        reconstruction = total + float(np.sum(-2 * sizes * products + counts * sizes**2 * lengths))
        return _Terms(max(match, 0.0), max(reconstruction, 0.0))


class Prepared:
    """The data that fits to the same samples share, each part made on first use; several threads may ask for it."""

    def __init__(self, training: TrainingData) -> None:
        self._training, self._lock = training, threading.Lock()
        self.class_vectors = training.class_vectors
        self._spectrum: Spectrum | None = None
        self._pinned: dict[int | None, Pinned] = {}

    def spectrum(self) -> Spectrum:
        """Return the spectrum, on which the descent works."""
        with self._lock:
            if self._spectrum is None:
                self._spectrum = Spectrum(self._training.statistics, self._training.class_vectors)
            return self._spectrum

    def require_affordable(self, n_concepts: int | None, max_iter: int, *, from_codes: bool) -> None:
        """Refuse a descent, from the codes of the classes or elsewhere, of days, or beyond memory."""
        (c, d), m = self.class_vectors.shape, self._training.statistics.n_features
        k, classes = n_concepts or c, c
        if k == c and from_codes:
            k = classes = n_directions(self._training.raw.counts, m + d)
        require_affordable(k, classes, m, d, max_iter)

    def start(
        self, n_concepts: int | None, init: Any, weights: tuple[float, ...], max_iter: int
    ) -> tuple[Spectrum, Any]:
        """Return the spectrum and the start of a descent: at the codes, or beside them where these are a saddle."""
        spectrum = self.spectrum()
        k = n_concepts or spectrum.n_classes
        expected = (k, spectrum.n_classes)
        if not isinstance(init, str) and np.shape(init) != expected:
            raise ValueError(f"init must have shape (n_concepts, n_classes) = {expected}, but has {np.shape(init)}")
        if not (isinstance(init, str) and init == "codes"):
            return spectrum, init
        if spectrum.is_rotated and k == spectrum.n_classes:
            return spectrum, init  # along directions of the data there is no saddle
        beside = start_beside_saddle(self._training, k, weights, max_iter)
        return spectrum, init if beside is None else beside

    def pinned(self, n_concepts: int | None) -> Pinned:
        """Return the solver for A and B where the codes are known."""
        with self._lock:
            if n_concepts not in self._pinned:
                self._pinned[n_concepts] = Pinned(Moments(self._training), n_concepts)
            return self._pinned[n_concepts]
