"""Normalisation of features and class vectors, named by its axis and fitted on training data only.

A normalisation is ``z = T (r / |r| - shift) / scale``, each part of it optional; r is x or its signed root. Fitting
needs nothing but sufficient statistics, so the samples are read once; applying it folds into the weights of a
recogniser, all but the root and the length.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics, Sums
from jcmspl.data import whitening
from jcmspl.data.class_kernel import ClassKernel
from jcmspl.support.arguments import Float64Array, FloatArray, one_of
from jcmspl.support.names import FEATURE_NORMALISATIONS as FEATURE_NORMALISATIONS
from jcmspl.support.names import NORMALISATIONS as NORMALISATIONS
from jcmspl.support.names import POWERS
from jcmspl.support.scaling import NOISE, Scaling, signed_root, unit_length
from jcmspl.support.warn import warn_user

_WHITEN = "+whiten"
#: How much the scatter within classes is shrunk towards a multiple of the identity.
SHRINKAGE = 5.0


def parse_normalisation(name: Any, parameter: str, names: tuple[str, ...] = NORMALISATIONS) -> tuple[bool, str]:
    """Return whether rows are scaled to length one, and the step that follows by column."""
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must be one of {', '.join(map(repr, names))}, but is {name!r}")
    return _parsed(name, parameter, names)


@lru_cache  # the same names are parsed several times in a fit
def _parsed(name: str, parameter: str, names: tuple[str, ...]) -> tuple[bool, str]:
    plain = name.replace(" ", "")
    if plain.endswith("+sample_l2"):
        raise ValueError(
            f"{parameter}={name!r} would need the data twice: samples are scaled first, so write "
            f"'sample_l2+{plain.removesuffix('+sample_l2')}'"
        )
    if plain.endswith(_WHITEN) and names is NORMALISATIONS:
        raise ValueError(f"{parameter}={name!r} is for samples only: class vectors are not whitened")
    one_of(plain, parameter, names)
    first, _, rest = plain.partition("+")
    return (True, rest or "none") if first == "sample_l2" else (False, plain)


class FeatureSteps(NamedTuple):
    """The parsed name of a normalisation of samples; ``power`` is None where the samples decide it."""

    power: bool | None
    unit_rows: bool
    column: str
    whiten: bool

    def scaling(self, power: bool) -> Scaling:
        """Return the scaling of samples, which comes first, once the samples have decided about roots."""
        return Scaling(self.unit_rows, power if self.power is None else self.power)


def parse_feature_normalisation(name: Any, parameter: str = "feature_normalisation") -> FeatureSteps:
    """Parse the steps for samples: roots of values first, then the steps of class vectors, whitening last."""
    plain: Any = name
    power: bool | None = False
    if isinstance(name, str):
        first, _, rest = name.replace(" ", "").partition("+")
        if first in POWERS:
            plain, power = rest or "none", None if first == POWERS[1] else True
    try:
        unit_rows, column = parse_normalisation(plain, parameter, FEATURE_NORMALISATIONS)
    except ValueError as error:
        raise ValueError(f"{error} (any of them may start with 'power+' or 'auto_power+')") from None
    return FeatureSteps(power, unit_rows, column.removesuffix(_WHITEN), column.endswith(_WHITEN))


@dataclass(frozen=True, eq=False)
class Normalisation:
    """A fitted normalisation: ``z = T (r / |r| - shift) / scale``.

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
    center+whiten       center, then T: :mod:`jcmspl.data.whitening`; the mean square length is 1 (samples only, also
                        with sample_l2 first)
    power+...           first of all the signed root of each value, sign(x) |x| ** 0.5; then one of these (samples only)
    auto_power+...      the same if no value of the first samples is negative, else without it
    ==================  ==============================================================================

    Columns that are constant are centred and not divided. With the last two the weights of a model mean the same
    whatever the unit and the number of the features are (docs/tuning.md).
    """

    name: str
    scaling: Scaling
    shift: Float64Array
    scale: Float64Array
    whitening: Float64Array | None = None
    kernel: ClassKernel | None = None  # of class vectors
    columns: Float64Array | None = None  # of class vectors: what their columns are multiplied by, before all else

    @property
    def unit_rows(self) -> bool:
        """Whether rows are scaled to length one."""
        return self.scaling.unit_rows

    @property
    def n_outputs(self) -> int:
        """The number of columns after the normalisation."""
        return len(self.shift) if self.whitening is None else len(self.whitening)

    @property
    def is_centred(self) -> bool:
        """Whether the mean over the training data becomes zero."""
        return self.kernel is not None or "center" in self.name or "zscore" in self.name

    @classmethod
    def of_training(
        cls,
        name: str,
        statistics: Statistics,
        shrinkage: float = SHRINKAGE,
        *,
        sums: Sums | None = None,
        symmetric: bool = False,
        n_components: int | None = None,
        timings: dict[str, float] | None = None,
    ) -> tuple[Normalisation, Statistics]:
        """Return a normalisation that is fitted to samples, and their statistics when they are normalised by it.

        ``symmetric`` says which whitening it is (:mod:`jcmspl.data.whitening`), ``n_components`` how many directions
        of whitened samples are left, if not all. ``sums`` are those of the statistics, if they have been read. Seconds
        are added to ``timings``.
        """
        timings, started = {} if timings is None else timings, time.perf_counter()
        steps = parse_feature_normalisation(name)
        scaling = steps.scaling(statistics.scaling.power)
        for option in ("unit_rows", "power"):
            if getattr(scaling, option) != getattr(statistics.scaling, option):
                needed = f"{option}={getattr(scaling, option)}"
                raise ValueError(f"feature_normalisation={name!r} needs statistics made with {needed}")
        n, squares, class_sums, _ = statistics.sums if sums is None else sums
        resolved = decided_name(name, scaling.power)
        step = _column_step(steps.column, class_sums.sum(axis=0) / (n or 1), squares / (n or 1), n)
        plain = cls(resolved, scaling, *step)
        noise = plain._noise_of(squares)
        normalised = plain.of_statistics(statistics)
        timings["normalise"] = time.perf_counter() - started
        if not steps.whiten:
            return plain, normalised
        whitened = normalised.whitened(shrinkage, noise, symmetric=symmetric)
        if whitened is not None and n_components is not None and n_components < len(whitened[0]):
            whitened = whitening.reduced(*whitened, n_components)
        timings["whiten"] = time.perf_counter() - started - timings["normalise"]
        if whitened is None:
            if normalised.squares.any():  # samples that are all the same are another matter
                warn_user(
                    "there is one sample of each class, or those of a class do not differ: there is no scatter within "
                    "classes to whiten by, and nothing is whitened",
                    RuntimeWarning,
                )
            return replace(plain, name=resolved.removesuffix(_WHITEN)), normalised
        return replace(plain, whitening=whitened[0]), whitened[1]

    @classmethod
    def from_rows(
        cls,
        name: str,
        rows: npt.ArrayLike,
        class_kernel: str = "linear",
        kernel_width: float = 1.0,
        columns: Float64Array | None = None,
    ) -> Normalisation:
        """Fit to the rows of a small matrix, such as the class vectors of the seen classes."""
        unit_rows, step = parse_normalisation(name, "class_normalisation")
        given = np.asarray(rows, dtype=np.float64)
        matrix = given if columns is None else given * columns
        if unit_rows:
            matrix = unit_length(matrix)
        mean, squares = matrix.mean(axis=0), np.mean(matrix**2, axis=0)
        steps = _column_step(step, mean, squares, len(matrix))
        plain = cls(name.replace(" ", ""), Scaling(unit_rows), *steps, columns=columns)
        if class_kernel == "linear":
            return plain
        return replace(plain, kernel=ClassKernel.fitted(class_kernel, kernel_width, plain.of_rows(given)))

    def of_statistics(self, statistics: Statistics) -> Statistics:
        """Return the statistics of the normalised samples, from those of the raw (or unit-length) ones."""
        # what is left of a constant column is rounding, and must not look like a small signal
        squares = statistics.squares
        normalised = statistics.shifted_and_scaled(self.shift, self.scale, NOISE * squares / self.scale**2)
        if self.whitening is None:
            return normalised
        return normalised.whitened_by(self.whitening, self._noise_of(squares))

    def _noise_of(self, squares: Float64Array) -> Float64Array:
        """Return how much of each normalised column may be rounding, of the root of its sum of squares."""
        return np.asarray(np.sqrt(NOISE * squares) / self.scale)

    def rounding_in(self, squares: Float64Array) -> Float64Array:
        """Return how much of the sum of squares of each normalised column may be rounding alone.

        The sums of squares are those before normalisation: what centring takes off leaves its rounding errors behind.
        """
        squares = self._noise_of(squares) ** 2
        return squares if self.whitening is None else np.einsum("ij,ij,j->i", self.whitening, self.whitening, squares)

    def of_rows(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return normalised rows, of the dtype of the rows."""
        scaled = rows if self.columns is None else rows * self.columns.astype(rows.dtype)
        roots = signed_root(scaled) if self.scaling.power else scaled
        matrix = unit_length(roots) if self.scaling.unit_rows else roots
        shift = self.shift.astype(rows.dtype)
        moved = matrix - shift
        # What is left of a row that is the mean is rounding, which cosines would take for a direction.
        moved[np.abs(moved) <= 4 * np.finfo(rows.dtype).eps * np.abs(shift)] = 0
        moved /= self.scale.astype(rows.dtype)
        if self.kernel is not None:
            return self.kernel.of(moved)
        return moved if self.whitening is None else np.asarray(moved @ self.whitening.T.astype(rows.dtype))

    def of_sums(self, sums: Float64Array, counts: npt.NDArray[Any]) -> Float64Array:
        """Return the sums of normalised samples, from those of the given numbers of raw (or unit-length) ones."""
        shifts = np.multiply.outer(counts, self.shift)
        moved = sums - shifts
        moved[np.abs(moved) <= NOISE * np.abs(shifts)] = 0  # rounding, which cosines would take for a direction
        moved /= self.scale
        return moved if self.whitening is None else np.asarray(moved @ self.whitening.T)

    def undone(self, rows: npt.NDArray[Any]) -> FloatArray:
        """Return rows in the units of the data; of unit length (about) where samples were scaled.

        Columns that were multiplied by zero stay zero.
        """
        if self.kernel is not None:
            raise ValueError(f"class vectors cannot be had back from class_kernel={self.kernel.name!r}: use 'linear'")
        plain = rows if self.whitening is None else whitening.undone(self.whitening, rows).astype(rows.dtype)
        moved = np.asarray(plain * self.scale.astype(rows.dtype) + self.shift.astype(rows.dtype))
        if self.columns is None:
            return moved
        return np.asarray(moved / np.where(self.columns > 0, self.columns, np.inf).astype(rows.dtype))

    def folded(self, weights: Float64Array, bias: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return weights and bias that do to raw (or unit-length) samples what the given ones do to normalised ones."""
        if self.whitening is None:
            scaled = weights / self.scale
        else:
            scaled = whitening.times(weights, self.whitening, triangular=self._is_triangular) / self.scale
        return scaled, bias - scaled @ self.shift

    @cached_property
    def _is_triangular(self) -> bool:
        return self.whitening is not None and whitening.is_triangular(self.whitening)

    def unfolded(self, weights: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return weights and bias that do to normalised samples what the given weights do to raw (or unit) ones."""
        scaled = weights * self.scale
        if self.whitening is not None:
            scaled = whitening.divided(scaled, self.whitening)
        return scaled, weights @ self.shift

    def reach(self) -> tuple[float, float]:
        """Return a and b such that what becomes of a raw (or unit-length) sample is at most ``a |x| + b`` long."""
        stretch = 1.0 if self.whitening is None else float(np.linalg.norm(self.whitening))
        largest = float(np.abs(1 / self.scale).max(initial=0))
        return stretch * largest, stretch * float(np.linalg.norm(self.shift / self.scale))


def decided_name(name: str, power: bool) -> str:
    """Return the name of a normalisation of samples with "auto_power" replaced by what the samples decided."""
    first, _, rest = name.replace(" ", "").partition("+")
    if first != POWERS[1]:
        return name.replace(" ", "")
    parts = [POWERS[0]] * power + [rest] * bool(rest)
    return "+".join(parts) or "none"


def _column_step(step: str, mean: Float64Array, squares: Float64Array, n: float) -> tuple[Float64Array, Float64Array]:
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
    varies = variance > NOISE * squares
    if step == "center_unit":
        length = np.sqrt(variance[varies].sum())
        return mean, np.full_like(mean, length if length > 0 else 1)
    spread = np.sqrt(np.where(varies, variance, 1))
    if step == "zscore_unit":
        spread *= max(float(np.count_nonzero(varies)), 1.0) ** 0.5
    return mean, spread
