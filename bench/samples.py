"""Data for the benchmarks, as image features are: correlated, not negative, of length one, every class present."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support import normalised, reference

__all__ = ["Samples", "assert_equal", "labelled_samples", "normalised", "reference"]


class Samples(NamedTuple):
    """Samples (rows), their class numbers and the vectors of the classes (rows)."""

    X: np.ndarray
    labels: np.ndarray
    class_vectors: np.ndarray


@lru_cache(maxsize=1)  # questions on the same data follow each other
def labelled_samples(n: int, m: int, n_attributes: int, n_classes: int) -> Samples:
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(n) % n_classes)
    centres = rng.standard_normal((n_classes, m))
    mixing = rng.standard_normal((m, m)) * np.arange(1, m + 1) ** -0.7
    X = (0.7 * centres[labels] + rng.standard_normal((n, m))) @ mixing.T
    return Samples(_unit_rows(np.maximum(X, 0)), labels, _unit_rows(rng.random((n_classes, n_attributes))))


def assert_equal(what: str, actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    error = np.linalg.norm(actual - expected) / np.linalg.norm(expected)
    assert error < tolerance, f"{what}: relative error {error:.1e}, allowed {tolerance:.0e}"


def _unit_rows(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
