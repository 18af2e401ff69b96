"""Scores as shares that add up to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from jcmspl.support.arguments import FloatArray, as_number

#: What the temperature "auto" means: this share of the spread of the scores of mean training samples. On three spaces
#: and three metrics of CUB it lies near the temperature that gives unseen classes their highest likelihood.
AUTO_TEMPERATURE = 0.35


def as_temperature(value: Any, name: str = "temperature") -> float | None:
    """Return a number above 0; None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    number = as_number(value, name, "a number or 'auto'")
    if number <= 0:
        raise ValueError(f"{name} must be a finite number above 0, but is {number}")
    return number


def softmax(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the softmax of the scores of each row, divided by a temperature; of the dtype of the scores."""
    # the differences first, in float64: scores over a tiny temperature would overflow
    exponents = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        exponents /= temperature
    shares = np.exp(exponents)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=scores.dtype)
