"""Synthetic data of any size that resembles the features of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.splits import make_split
from jcmspl.support.arguments import Float64Array, IntArray, as_count, as_weight

_BLOCK = 4096  # rows made at a time; the numbers of a seed depend on it


def make_zsl(
    n_samples: int = 1000,
    n_features: int = 64,
    n_attributes: int = 16,
    n_seen: int = 12,
    n_unseen: int = 4,
    *,
    noise: float = 1.0,
    domain_shift: float = 0.0,
    decay: float = 1.0,
    imbalance: float = 0.0,
    n_val: int = 0,
    test_seen: float = 0.2,
    dtype: Any = np.float32,
    random_state: int = 0,
) -> Dataset:
    """Make a zero-shot problem with correlated, non-negative features, like those behind the last ReLU of a network.

    The mean of a class is a linear function of its vector. Means and the noise around them have the same covariance,
    whose eigenvalues fall like ``i ** -decay``; negative values become 0 in the end.

    Parameters
    ----------
    n_samples : int, default 1000
        At least 2 for each class. They are made in blocks, so that only X takes memory.
    n_features, n_attributes : int, default 64 and 16
    n_seen, n_unseen : int, default 12 and 4
        Numbers of classes.
    noise : float, default 1
        The standard deviation of samples around the mean of their class, in units of that of the means.
    domain_shift : float, default 0
        The difference between the maps from class vectors to means of seen and unseen classes: at 1, another map
        accounts for half of the variance of unseen classes.
    decay : float, default 1
        0: all eigenvalues are equal.
    imbalance : float, default 0
        The number of samples of the i-th class falls like ``i ** -imbalance``.
    n_val : int, default 0
        The number of seen classes for validation.
    test_seen : float, default 0.2
        The share of the samples of seen classes that is for testing.
    dtype : {float32, float64}, default float32
    random_state : int, default 0

    Examples
    --------
    >>> from jcmspl import JCMSPL
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = JCMSPL().fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.5
    True
    """
    n_seen, n_unseen = as_count(n_seen, "n_seen", 2), as_count(n_unseen, "n_unseen", 0)
    n_classes = n_seen + n_unseen
    n_samples = as_count(n_samples, "n_samples", 2 * n_classes)
    n_features, n_attributes = as_count(n_features, "n_features"), as_count(n_attributes, "n_attributes")
    n_val = as_count(n_val, "n_val", 0, n_seen - 1)
    noise, shift = as_weight(noise, "noise"), as_weight(domain_shift, "domain_shift")
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, but is {kind}")
    seed = as_count(random_state, "random_state", 0)
    rng = np.random.default_rng(seed)

    vectors = _class_vectors(rng, n_classes, n_attributes)
    spread = _Spread(rng, n_features, as_weight(decay, "decay"))
    maps = [spread.of(rng.standard_normal((n_attributes, n_features))) for _ in range(2)]
    shifted = (maps[0] + shift * maps[1]) / np.hypot(1, shift)
    centred = vectors - vectors.mean(axis=0)
    centred /= np.sqrt(np.mean(np.sum(centred**2, axis=1)))
    means = 1 + np.vstack([centred[:n_seen] @ maps[0], centred[n_seen:] @ shifted])

    numbers = _class_of_samples(rng, n_samples, n_classes, as_weight(imbalance, "imbalance"))
    X = np.empty((n_samples, n_features), dtype=kind)
    for block, first in enumerate(range(0, n_samples, _BLOCK)):
        rows = slice(first, min(first + _BLOCK, n_samples))
        z = np.random.default_rng([seed, block]).standard_normal((rows.stop - first, n_features), dtype=kind)
        X[rows] = np.maximum(means.astype(kind)[numbers[rows]] + noise * spread.of(z), 0)

    labels = [f"class {i:0{len(str(n_classes - 1))}}" for i in range(n_classes)]
    table = ClassTable(labels, vectors, [f"trait {i}" for i in range(n_attributes)])
    y = table.labels[numbers]
    parts = make_split(
        y, unseen=labels[n_seen:], val=labels[n_seen - n_val : n_seen], test_seen=test_seen, random_state=seed
    )
    return Dataset("made-up data", X, y, table, parts, f"make_zsl(random_state={seed})")


class _Spread:
    """Gives independent unit noise a covariance with power-law eigenvalues of mean one.

    The eigenvectors are those of a cosine transform with random signs, which costs far less than a random rotation.
    """

    def __init__(self, rng: np.random.Generator, size: int, decay: float) -> None:
        eigenvalues = np.arange(1, size + 1, dtype=np.float64) ** -decay
        self.scale = rng.permutation(np.sqrt(eigenvalues / eigenvalues.mean()))
        self.signs = rng.choice([-1.0, 1.0], size)

    def of(self, z: npt.NDArray[Any]) -> npt.NDArray[Any]:
        from scipy.fft import dct

        scaled = z * self.scale.astype(z.dtype)
        turned: npt.NDArray[Any] = dct(scaled, norm="ortho", overwrite_x=True)
        turned *= self.signs.astype(z.dtype)
        return turned


def _class_vectors(rng: np.random.Generator, n_classes: int, n_attributes: int) -> Float64Array:
    """Draw correlated values in 0..1, as attributes are: some classes are closely related."""
    families = rng.standard_normal((max(2, n_classes // 4), n_attributes))
    own = rng.standard_normal((n_classes, n_attributes))
    values = families[rng.integers(len(families), size=n_classes)] + own
    return 1 / (1 + np.exp(-1.5 * values))


def _class_of_samples(rng: np.random.Generator, n_samples: int, n_classes: int, imbalance: float) -> IntArray:
    """Assign samples to classes, at least two to each, in random order."""
    weights = np.arange(1, n_classes + 1, dtype=np.float64) ** -imbalance
    weights = rng.permutation(weights / weights.sum())  # so that some large classes are unseen
    counts = 2 + np.floor(weights * (n_samples - 2 * n_classes)).astype(np.int64)
    counts[np.argsort(-weights, kind="stable")[: n_samples - counts.sum()]] += 1
    return rng.permutation(np.repeat(np.arange(n_classes), counts))
