"""Data with realistic spectra for the tests: correlated, non-negative features with unit-norm rows."""

from typing import NamedTuple

import numpy as np


class Samples(NamedTuple):
    X: np.ndarray
    labels: np.ndarray
    class_vectors: np.ndarray


def make_samples(n=300, m=24, d=10, c=6, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((m, m)) * np.arange(1, m + 1) ** -0.7
    centres = rng.standard_normal((c, m))
    labels = rng.permutation(np.concatenate([np.arange(c), rng.integers(0, c, max(0, n - c))]))
    X = np.maximum((0.7 * centres[labels] + rng.standard_normal((len(labels), m))) @ mixing.T, 0) + 1e-3
    X *= scale / np.linalg.norm(X, axis=1, keepdims=True)
    vectors = rng.random((c, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Samples(X, labels, vectors)
