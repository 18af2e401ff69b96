"""Sufficient statistics of labelled samples: a fit needs nothing else, whatever the number of samples."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import (
    Float64Array,
    as_count,
    as_labels,
    as_matrix,
    as_real_array,
    as_sample_weights,
    readable_blocks,
    readable_in_place,
    require_finite,
)
from jcmspl.support.machine import one_blas_thread_each
from jcmspl.support.scaling import Scaling

_READABLE = ("float16", "bfloat16", "float32", "float64")
_LEAST_COUNT, _MOST_COUNT = 1e-150, 1e150  # the range of sums of weights other than zero


class Sums(NamedTuple):
    """The content of statistics without the Gram matrix, read once."""

    n_samples: float
    squares: Float64Array  #: of each feature
    class_sums: Float64Array
    counts: Float64Array


class Statistics:
    """Gram matrix, class sums and class counts of labelled samples.

    They are collected in one pass over chunks of any size. The statistics of two parts of the data add up to those of
    the whole, and a part can be subtracted again. Sums are in float64 for samples of any type. A sample of weight w
    counts w times: all three are then weighted sums.

    Parameters
    ----------
    n_features : int
    n_classes : int
        Labels are the class numbers 0..n_classes-1.
    unit_rows : bool, default False
        Scale each sample to length one first; samples of zeros stay unchanged.
    power : bool, default False
        Take the signed root of each value first, ``sign(x) |x| ** 0.5``.

    Attributes
    ----------
    n_features : int
        The number of features.
    n_classes : int
        The number of classes, including those without samples.
    scaling : tuple
        (unit_rows, power).

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.core import Statistics
    >>> X, labels = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 1, 1])
    >>> statistics = Statistics(n_features=2, n_classes=2)
    >>> for part in (slice(0, 2), slice(2, 3)):
    ...     _ = statistics.update(X[part], labels[part])
    >>> statistics.class_sums
    array([[ 1.,  2.],
           [ 8., 10.]])
    """

    def __init__(self, n_features: int, n_classes: int, *, unit_rows: bool = False, power: bool = False) -> None:
        self.n_features = as_count(n_features, "n_features")
        self.n_classes = as_count(n_classes, "n_classes", minimum=0)
        self._core = _core.Statistics(self.n_features, self.n_classes)
        self.scaling = Scaling(bool(unit_rows), bool(power))

    @classmethod
    def from_samples(
        cls,
        X: npt.ArrayLike,
        labels: npt.ArrayLike,
        n_classes: int | None = None,
        *,
        unit_rows: bool = False,
        power: bool = False,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Statistics:
        """Return the statistics of one array of samples; the number of classes defaults to the largest label + 1."""
        X = as_real_array(X, "X")
        if n_classes is None:
            # accepts any whole number; update checks the labels again with the largest as the limit
            n_classes = int(as_labels(labels, len(X), 2**31 - 1).max(initial=-1)) + 1
        return cls(X.shape[1], n_classes, unit_rows=unit_rows, power=power).update(
            X, labels, sample_weight=sample_weight
        )

    @classmethod
    def from_arrays(
        cls,
        gram: npt.ArrayLike,
        class_sums: npt.ArrayLike,
        counts: npt.ArrayLike,
        *,
        unit_rows: bool = False,
        power: bool = False,
    ) -> Statistics:
        """Return statistics with the given content; only the lower triangle of gram is read.

        Counts are the numbers of samples of each class, or the sums of their weights.
        """
        gram, class_sums = as_matrix(gram, "gram"), as_matrix(class_sums, "class_sums")
        numbers = as_real_array(counts, "counts", ndim=1)
        if not np.all((numbers == 0) | ((numbers >= _LEAST_COUNT) & (numbers <= _MOST_COUNT))):
            raise ValueError(f"counts must be 0, or numbers from {_LEAST_COUNT:g} to {_MOST_COUNT:g}")
        if np.any(gram.diagonal() < 0):
            raise ValueError("gram has a negative element on its diagonal, so it is not X.T @ X")
        if gram.shape != (class_sums.shape[1],) * 2 or len(numbers) != len(class_sums):
            raise ValueError(
                "expected gram (m, m), class_sums (c, m) and counts (c,), but their shapes are "
                f"{gram.shape}, {class_sums.shape} and {numbers.shape}"
            )
        core = _core.Statistics.from_arrays(gram, class_sums, np.ascontiguousarray(numbers, dtype=np.float64))
        return cls._wrap(core, Scaling(bool(unit_rows), bool(power)))

    @classmethod
    def _wrap(cls, core: _core.Statistics, scaling: Scaling) -> Statistics:
        statistics = cls.__new__(cls)
        statistics._core, statistics.scaling = core, scaling
        statistics.n_features, statistics.n_classes = core.n_features, core.n_classes
        return statistics

    @property
    def unit_rows(self) -> bool:
        """Whether samples are scaled to length one first."""
        return self.scaling.unit_rows

    @property
    def power(self) -> bool:
        """Whether signed roots of values are taken first."""
        return self.scaling.power

    def update(
        self,
        X: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        first_row: int = 0,
    ) -> Statistics:
        """Add samples and return self. After an error none of them has been added.

        Parameters
        ----------
        X : array_like of shape (n, n_features)
            Arrays of float16, bfloat16 (of ml_dtypes), float32 and float64 of any memory layout, also memory maps, are
            read in place, block by block.
        labels : array_like of shape (n,)
            The class number of each sample.
        sample_weight : array_like of shape (n,), optional
            How often each sample counts; the values of samples with weight 0 are not read.
        first_row : int, default 0
            The number of the first sample in messages about bad values.
        """
        X = as_real_array(X, "X")
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but the statistics are for {self.n_features}")
        labels = as_labels(labels, len(X), self.n_classes)
        weights = None if sample_weight is None else as_sample_weights(sample_weight, len(X))
        if readable_in_place(X, _READABLE):
            self._add(X, labels, first_row, weights)
            return self
        part = Statistics(self.n_features, self.n_classes, **self.scaling._asdict())
        for rows in readable_blocks(X):
            read = np.ascontiguousarray(X[rows])
            block = read if readable_in_place(read, _READABLE) else read.astype(np.float64)
            of_rows = None if weights is None else weights[rows]
            part._add(block, labels[rows], first_row + rows.start, of_rows)
        self._core.add(part._core)
        return self

    def _add(
        self, X: npt.NDArray[Any], labels: npt.NDArray[np.int64], first_row: int, weights: Float64Array | None
    ) -> None:
        """Add samples that the core can read; several blocks of them in several threads."""
        core, name = self._core, X.dtype.name
        update: Any = {"float16": core.update_float16, "bfloat16": core.update_bfloat16}.get(name, core.update)
        values = X.view(np.uint16) if name in ("float16", "bfloat16") else X
        several_blocks = len(X) > core.block_rows
        with one_blas_thread_each(X.size * self.n_features) if several_blocks else nullcontext(1) as n_threads:
            update(values, labels, *self.scaling, first_row, weights, n_threads)

    @property
    def n_samples(self) -> float:
        """The number of samples, or the sum of their weights."""
        return float(self.counts.sum())

    @property
    def gram(self) -> Float64Array:
        """``X.T @ X``, the paper's XX'. Each access makes a copy, as for the other arrays."""
        return self._core.gram

    @property
    def squares(self) -> Float64Array:
        """The sum of squares of each feature, the diagonal of the Gram matrix."""
        return self._core.squares

    @property
    def class_sums(self) -> Float64Array:
        """The sum of the samples of each class, one row per class."""
        return self._core.class_sums

    @property
    def counts(self) -> Float64Array:
        """The number of samples of each class, or the sum of their weights."""
        return self._core.counts

    @property
    def sums(self) -> Sums:
        """All but the Gram matrix at once."""
        core = self._core
        return Sums(float(core.counts.sum()), core.squares, core.class_sums, core.counts)

    def copy(self) -> Statistics:
        """Return independent statistics with the same content."""
        twin = Statistics(self.n_features, self.n_classes, **self.scaling._asdict())
        twin._core.add(self._core)
        return twin

    def select_classes(self, classes: npt.ArrayLike) -> Statistics:
        """Return the statistics with renumbered classes: the new class i is the old class ``classes[i]``.

        The Gram matrix does not change, so a class that is left out must have no samples. -1 stands for a new class
        without samples.
        """
        chosen = np.asarray(classes)
        if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and chosen.size):
            raise TypeError("classes must be a list of class numbers")
        chosen = chosen.astype(np.int64)
        kept = chosen[chosen >= 0]
        if len(np.unique(kept)) != len(kept) or np.any(kept >= self.n_classes) or np.any(chosen < -1):
            raise ValueError(f"classes must be different numbers 0..{self.n_classes - 1}, or -1 for a new class")
        counts = self.counts
        lost = np.setdiff1d(np.flatnonzero(counts), kept)
        if len(lost):
            raise ValueError(
                f"class {lost[0]} has {counts[lost[0]]:.12g} samples and cannot be left out: subtract their "
                "statistics first"
            )
        new_counts, new_sums = np.zeros(len(chosen)), np.zeros((len(chosen), self.n_features))
        new_counts[chosen >= 0], new_sums[chosen >= 0] = counts[kept], self.class_sums[kept]
        return self._wrap(_core.Statistics.from_arrays(self.gram, new_sums, new_counts), self.scaling)

    def shifted_and_scaled(self, shift: Float64Array, scale: Float64Array, noise: Float64Array) -> Statistics:
        """Return the statistics of ``(x - shift) / scale``; a column whose squares sum up to noise at most is zero."""
        return self._wrap(_core.shift_and_scale(self._core, shift, scale, noise), Scaling())

    def whitened(
        self, shrinkage: float, noise: Float64Array, *, symmetric: bool = False
    ) -> tuple[Float64Array, Statistics] | None:
        """Return T and the statistics of ``T x``: :mod:`jcmspl.data.whitening`.

        Parameters
        ----------
        shrinkage : float
        noise : ndarray of shape (n_features,)
            The error of ``gram[i, j]`` is up to ``noise[i] * noise[j]``.
        symmetric : bool, default False
            Whether T is symmetric and not lower triangular.

        Returns
        -------
        tuple or None
            None if samples of a class do not differ.
        """
        with one_blas_thread_each(self.n_features**3) as n_threads:
            result = _core.whiten(self._core, shrinkage, noise, symmetric, n_threads)
        return None if result is None else (result[0], self._wrap(result[1], Scaling()))

    def whitened_by(self, T: Float64Array, noise: Float64Array) -> Statistics:
        """Return the statistics of ``T x`` for a given T; noise as in :meth:`whitened`."""
        with one_blas_thread_each(self.n_features**3) as n_threads:
            core = _core.whitened_by(self._core, np.ascontiguousarray(T), noise, n_threads)
        return self._wrap(core, Scaling())

    def __iadd__(self, other: Statistics) -> Statistics:
        self._core.add(self._core_of(other))
        return self

    def __isub__(self, other: Statistics) -> Statistics:
        self._core.subtract(self._core_of(other))
        return self

    def __add__(self, other: Statistics) -> Statistics:
        total = self.copy()
        total += other
        return total

    def __sub__(self, other: Statistics) -> Statistics:
        rest = self.copy()
        rest -= other
        return rest

    def _core_of(self, other: Statistics) -> _core.Statistics:
        if not isinstance(other, Statistics):
            raise TypeError(f"statistics add up with statistics, but this is {other!r}")
        if self.unit_rows != other.unit_rows:
            raise ValueError("one of the statistics has samples scaled to length one, the other has not")
        if self.power != other.power:
            raise ValueError("one of the statistics has signed roots (power) of the samples, the other has not")
        return other._core

    def allclose(self, other: Statistics, rtol: float = 1e-10) -> bool:
        """Whether both are equal up to rounding: counts to rtol, sums within rtol of their largest value."""
        shape = (self.n_features, self.n_classes, self.scaling)
        if shape != (other.n_features, other.n_classes, other.scaling):
            return False
        if not np.allclose(self.counts, other.counts, rtol=rtol, atol=0):
            return False
        pairs = ((self.gram, other.gram), (self.class_sums, other.class_sums))
        largest = [max(np.abs(one).max(initial=0), np.abs(two).max(initial=0)) for one, two in pairs]
        return all(np.allclose(*pair, rtol=0, atol=rtol * most) for pair, most in zip(pairs, largest, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(Statistics.from_arrays, **self.scaling._asdict())
        return rebuild, (self.gram, self.class_sums, self.counts)

    def __repr__(self) -> str:
        scaling = "".join(f", {name}=True" for name, on in self.scaling._asdict().items() if on)
        sizes = f"n_features={self.n_features}, n_classes={self.n_classes}{scaling}"
        return f"Statistics({sizes}, n_samples={self.n_samples:.12g})"


class StartStatistics:
    """The contribution of a start C0, given sample by sample, to the first iteration of :func:`jcmspl.core.solve`.

    Parameters
    ----------
    n_concepts, n_features, n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.core import Spectrum, StartStatistics, Statistics, solve
    >>> rng = np.random.default_rng(0)
    >>> X, labels = rng.random((60, 8)), np.arange(60) % 3
    >>> spectrum = Spectrum(Statistics.from_samples(X, labels), class_vectors=rng.random((3, 4)))
    >>> codes = rng.standard_normal((60, 3))  # C0, a row for each sample
    >>> start = StartStatistics(n_concepts=3, n_features=8, n_classes=3).update(codes, X, labels)
    >>> solve(spectrum, l1=1, l2=1, l3=1, l4=1, start=start, max_iter=5).n_iter
    5
    """

    def __init__(self, n_concepts: int, n_features: int, n_classes: int) -> None:
        self.n_concepts = as_count(n_concepts, "n_concepts")
        self.n_features = as_count(n_features, "n_features")
        self.n_classes = as_count(n_classes, "n_classes")
        self._core = _core.StartStatistics(self.n_concepts, self.n_features, self.n_classes)

    def update(self, codes: npt.ArrayLike, X: npt.ArrayLike, labels: npt.ArrayLike) -> StartStatistics:
        """Add samples with their codes, one row of n_concepts values each.

        The samples must be those of the statistics, and have no weights there.
        """
        codes, X = _finite_samples(codes, "codes"), _finite_samples(X, "X")
        if codes.shape != (len(X), self.n_concepts):
            raise ValueError(f"codes must have shape {(len(X), self.n_concepts)}, but has {codes.shape}")
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but the start is for {self.n_features}")
        self._core.update(codes, X, as_labels(labels, len(X), self.n_classes))
        return self


def _finite_samples(value: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return finite rows that the core can read, copied only if necessary."""
    array = as_real_array(value, name)
    if not readable_in_place(array):
        array = np.ascontiguousarray(array, dtype=np.float64)
    require_finite(array, name)
    return array
