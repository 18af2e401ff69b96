"""Normalisation of features and class vectors, named by its axis and fitted on training data only.

A normalisation is ``z = (x / |x| - shift) / scale``, each part of it optional. Fitting needs nothing but sufficient
statistics, so the samples are read once; applying it folds into the weights of a recogniser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.support.arguments import Float64Array, FloatArray, one_of
from jcmspl.support.names import NORMALISATIONS as NORMALISATIONS

# Sums of n squares carry errors of about this part of them: less than that is no variance but rounding.
_NOISE = 64 * np.finfo(np.float64).eps


def parse_normalisation(name: Any, parameter: str) -> tuple[bool, str]:
    """Return whether samples are scaled to length one, and the step that follows by column."""
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must be one of {', '.join(map(repr, NORMALISATIONS))}, but is {name!r}")
    plain = name.replace(" ", "")
    if plain.endswith("+sample_l2"):
        raise ValueError(
            f"{parameter}={name!r} would need the data twice: samples are scaled first, so write "
            f"'sample_l2+{plain.removesuffix('+sample_l2')}'"
        )
    one_of(plain, parameter, NORMALISATIONS)
    first, _, rest = plain.partition("+")
    return (True, rest or "none") if first == "sample_l2" else (False, first)


@dataclass(frozen=True, eq=False)
class Normalisation:
    """A fitted normalisation: ``z = (x / |x| - shift) / scale``.

    ==================  ==============================================================================
    name                what it does
    ==================  ==============================================================================
    none                nothing
    sample_l2           each sample (or class vector) is divided by its length
    center              the mean of each column over the training data is subtracted
    feature_l2          each column is divided by its length over the training data
    zscore              center, then each column is divided by its standard deviation
    center_unit         center, then all columns are divided by one number: the mean square length is 1
    zscore_unit         zscore, then the same
    sample_l2+...       sample_l2 first, then one of the last five
    ==================  ==============================================================================

    Columns that are constant are centred and not divided. With the last two the weights of a model mean the same
    whatever the unit and the number of the features are (docs/tuning.md).
    """

    name: str
    unit_rows: bool
    shift: Float64Array
    scale: Float64Array

    @classmethod
    def from_statistics(cls, name: str, statistics: Statistics) -> Normalisation:
        """Fit to samples by way of their statistics, which were scaled as the name says."""
        unit_rows, step = parse_normalisation(name, "feature_normalisation")
        if unit_rows != statistics.unit_rows:
            raise ValueError(f"feature_normalisation={name!r} needs statistics made with unit_rows={unit_rows}")
        n = statistics.n_samples
        squares = statistics.gram.diagonal() / max(n, 1)
        mean = statistics.class_sums.sum(axis=0) / max(n, 1)
        return cls(name.replace(" ", ""), unit_rows, *_column_step(step, mean, squares, n))

    @classmethod
    def from_rows(cls, name: str, rows: npt.ArrayLike) -> Normalisation:
        """Fit to the rows of a small matrix, such as the class vectors of the seen classes."""
        unit_rows, step = parse_normalisation(name, "class_normalisation")
        matrix = np.asarray(rows, dtype=np.float64)
        if unit_rows:
            matrix = _unit(matrix)
        mean, squares = matrix.mean(axis=0), np.mean(matrix**2, axis=0)
        return cls(name.replace(" ", ""), unit_rows, *_column_step(step, mean, squares, len(matrix)))

    def of_statistics(self, statistics: Statistics) -> Statistics:
        """Return the statistics of the normalised samples, from those of the raw (or unit-length) ones."""
        n, counts = statistics.n_samples, statistics.counts
        sums = statistics.class_sums
        total = sums.sum(axis=0)
        # sum over samples of (x - s)(x - s)' = G - t s' - s t' + n s s', with t the sum of the samples
        cross = np.outer(total - n * self.shift / 2, self.shift)
        gram = statistics.gram - cross - cross.T
        gram /= np.outer(self.scale, self.scale)
        # what is left of a constant column is rounding, and must not look like a small signal
        noise = _NOISE * statistics.gram.diagonal() / self.scale**2
        constant = gram.diagonal() <= noise
        gram[constant] = 0
        gram[:, constant] = 0
        sums = (sums - counts[:, None] * self.shift) / self.scale
        sums[:, constant] = 0
        return Statistics.from_arrays(gram, sums, counts)

    def of_rows(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return normalised rows, of the dtype of the rows."""
        matrix = _unit(rows) if self.unit_rows else rows
        shift = self.shift.astype(rows.dtype)
        moved = matrix - shift
        # What is left of a row that is the mean is rounding, which cosines would take for a direction.
        moved[np.abs(moved) <= 4 * np.finfo(rows.dtype).eps * np.abs(shift)] = 0
        return np.asarray(moved / self.scale.astype(rows.dtype))

    def undone(self, rows: npt.NDArray[Any]) -> FloatArray:
        """Return rows in the units of the data; of unit length (about) where samples were scaled."""
        return np.asarray(rows * self.scale.astype(rows.dtype) + self.shift.astype(rows.dtype))

    def folded(self, weights: Float64Array, bias: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return weights and bias that do to raw (or unit-length) samples what the given ones do to normalised ones."""
        scaled = weights / self.scale
        return scaled, bias - scaled @ self.shift


def _column_step(step: str, mean: Float64Array, squares: Float64Array, n: int) -> tuple[Float64Array, Float64Array]:
    """Return the shift and the scale of each column."""
    zero, one = np.zeros_like(mean), np.ones_like(mean)
    if step == "none":
        return zero, one
    if step == "center":
        return mean, one
    if step == "feature_l2":
        length = np.sqrt(squares * n)
        return zero, np.where(length > 0, length, 1)
    variance = squares - mean**2
    varies = variance > _NOISE * squares
    if step == "center_unit":
        length = np.sqrt(variance[varies].sum())
        return mean, np.full_like(mean, length if length > 0 else 1)
    spread = np.sqrt(np.where(varies, variance, 1))
    if step == "zscore_unit":
        spread *= max(float(np.count_nonzero(varies)), 1.0) ** 0.5
    return mean, spread


def _unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # the largest value first: squares of huge or tiny values would overflow or vanish
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    scaled = rows / np.where(largest > 0, largest, 1).astype(rows.dtype)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1).astype(rows.dtype))
