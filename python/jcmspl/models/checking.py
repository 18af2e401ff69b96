"""Samples as users pass them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data


def checked_samples(estimator: Any, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
    """Return X as an array that the core can read, without looking for NaN: the core does that as it reads.

    The estimator remembers, or is asked, how many features there are and what they are called.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X has masked values: fill or remove them")
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    array: npt.NDArray[Any] = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=None if kind in "fiub" else "numeric",
        ensure_all_finite=False,
        ensure_min_samples=least,
    )
    return array
