"""Imputation of missing values: by the mean of the training samples, or by zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.row_source import RowSource
from jcmspl.support.arguments import Float64Array, IntArray, LazyRows, one_of
from jcmspl.support.names import IMPUTATIONS

_ROWS = 8192  # read at a time


@dataclass(frozen=True, eq=False)
class Imputation:
    """Replacements of missing values.

    Attributes
    ----------
    how : {"mean", "zero", "given"}
        "given": the values come from elsewhere, such as a model.
    values : ndarray of shape (n_features,)
    n_values, n_features, n_samples : int
        The number of missing values in the samples that were read, and of features and samples that have any.
    """

    how: str
    values: Float64Array
    n_values: int = 0
    n_features: int = 0
    n_samples: int = 0

    @classmethod
    def of(cls, X: RowSource, rows: IntArray, how: str) -> Imputation:
        """Read some samples once; for the mean, they should be the training samples."""
        one_of(how, "impute", IMPUTATIONS)
        sums, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=np.int64)
        n_samples = 0
        for first in range(0, len(rows), _ROWS):
            block = np.asarray(X[rows[first : first + _ROWS]], dtype=np.float64)
            missing = np.isnan(block)
            block = np.where(missing, 0.0, block)
            sums += block.sum(axis=0)
            counts += (~missing).sum(axis=0)
            n_samples += int(missing.any(axis=1).sum())
        empty = np.flatnonzero(counts == 0)
        if how == "mean" and len(empty):
            raise DatasetError(
                f"the feature {empty[0] + 1} (of {X.shape[1]}, from 1 on) has no value in any of the {len(rows):,} "
                f"training samples, so it has no mean ({len(empty)} such features in all): leave it out (ignore, "
                "--ignore), or impute zero"
            )
        values = sums / counts if how == "mean" else np.zeros(X.shape[1])
        absent = len(rows) - counts
        return cls(how, values, int(absent.sum()), int((absent > 0).sum()), n_samples)

    def __str__(self) -> str:
        by = {"mean": "by means of the training samples", "zero": "by zero"}.get(self.how, "by those of the model")
        return (
            f"{self.n_values:,} missing values, in {self.n_samples:,} of the training samples and {self.n_features:,} "
            f"of the features, are replaced {by}"
        )


class ImputedRows(LazyRows):
    """Rows whose missing values are replaced as they are read.

    Attributes
    ----------
    source : RowSource
    values : ndarray of shape (n_features,)
    n_imputed : int
        The number of values replaced so far; a row that is read again does not count again.
    """

    def __init__(self, source: RowSource, values: Float64Array) -> None:
        dtype = np.dtype(source.dtype)
        self.source, self.values = source, values
        self.shape, self.dtype = tuple(source.shape), dtype
        self.n_imputed = 0
        self._counted = np.zeros(len(source), dtype=bool)

    def _read(self, rows: IntArray) -> npt.NDArray[Any]:
        whole_run = len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
        block = np.asarray(self.source[int(rows[0]) : int(rows[-1]) + 1] if whole_run else self.source[rows])
        missing = np.isnan(block).sum(axis=1)
        self.n_imputed += int(missing[~self._counted[rows]].sum())
        self._counted[rows] = True
        return filled(block, self.values)

    def bounds(self) -> list[tuple[int, int]]:
        """Return (first row, row after the last) of each file."""
        return self.source.bounds() if hasattr(self.source, "bounds") else [(0, len(self))]

    @property
    def shards(self) -> Any:
        """The files that hold the rows."""
        return self.source.shards  # type: ignore[attr-defined]


def filled(block: npt.NDArray[Any], values: Float64Array) -> npt.NDArray[Any]:
    """Return rows with missing values replaced, not copied if there are none."""
    missing = np.isnan(block) if block.dtype.kind == "f" else np.zeros(0, dtype=bool)
    return np.where(missing, values.astype(block.dtype), block) if missing.any() else block


def imputed(X: RowSource, values: Any) -> RowSource:
    """Return features whose missing values are replaced by these."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (X.shape[1],):
        raise DatasetError(f"there are {values.size} values to impute, but {X.shape[1]} features")
    return ImputedRows(X, values) if np.dtype(X.dtype).kind == "f" else X
