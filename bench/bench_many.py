"""Many classes: pinned codes at the size of the whole ImageNet, and the descent where classes have equal counts."""

import subprocess
import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np

from jcmspl import JCMSPL
from jcmspl.core import Spectrum, Statistics, solve
from jcmspl.core.solver import Solution
from question import Contestants, Question, Target, peak_megabytes
from samples import Samples, assert_equal

ROWS, FEATURES, ATTRIBUTES = 200_000, 1024, 300
PINNED_CLASSES, EQUAL_CLASSES = 21_841, 5_000
BLOCK = 5000
WEIGHTS = {"l1": 1, "l2": 100, "l3": 10, "l4": 1}


@lru_cache(maxsize=1)
def samples(n_classes: int) -> Samples:
    """Return float32 samples, made a block at a time: they take as much memory as they must."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(ROWS) % n_classes)
    centres = rng.standard_normal((n_classes, FEATURES), dtype=np.float32)
    X = np.empty((ROWS, FEATURES), np.float32)
    for first in range(0, ROWS, BLOCK):
        block = slice(first, first + BLOCK)
        X[block] = rng.standard_normal((len(labels[block]), FEATURES), dtype=np.float32)
        X[block] += centres[labels[block]]
        np.maximum(X[block], 0, out=X[block])
    return Samples(X, labels, rng.random((n_classes, ATTRIBUTES)))


def pinned_fit() -> JCMSPL:
    X, labels, class_vectors = samples(PINNED_CLASSES)
    return JCMSPL(class_match=np.inf, progress=False).fit(X, labels, class_vectors=class_vectors)


@lru_cache
def check_pinned() -> None:
    """Compare A, without whitening, with its equation for some classes, from the samples themselves."""
    X, labels, class_vectors = samples(PINNED_CLASSES)
    model = JCMSPL(class_match=np.inf, feature_normalisation="none", progress=False)
    model.fit(X, labels, class_vectors=class_vectors)
    l3, gram = model.visual_reconstruction, np.zeros((FEATURES, FEATURES))
    for first in range(0, ROWS, BLOCK):
        block = X[first : first + BLOCK].astype(np.float64)
        gram += block.T @ block
    for label in (0, 17, PINNED_CLASSES - 1):
        own = X[labels == label].astype(np.float64)
        expected = (1 + l3) * np.linalg.solve(gram + l3 * len(own) * np.eye(FEATURES), own.sum(axis=0))
        assert_equal(f"A of class {label}", model.arrays_["visual_projection"][label], expected, 1e-8)


def pinned() -> Contestants:
    X = samples(PINNED_CLASSES).X.astype(np.float64)
    return Contestants(ours=pinned_fit, peer=lambda: X.T @ X, check=check_pinned)


def pinned_memory() -> Contestants:
    return Contestants(ours=pinned_fit, check=check_pinned, megabytes=megabytes_of_pinned_fit)


def megabytes_of_pinned_fit() -> float:
    """Return the most memory of a process that does nothing else, above its samples."""
    process = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    return float(process.stdout)


def equal_fit(spectrum: Spectrum, start: Any) -> Solution:
    return solve(spectrum, **WEIGHTS, start=start, max_iter=1, tol=0)


@lru_cache(maxsize=1)
def equal() -> Contestants:
    """Return the descent along directions, which the start "codes" takes, and that of all classes from these codes."""
    X, labels, class_vectors = samples(EQUAL_CLASSES)
    spectrum = Spectrum(Statistics.from_samples(X, labels), class_vectors)
    by_directions, whole = partial(equal_fit, spectrum, "codes"), partial(equal_fit, spectrum, np.eye(EQUAL_CLASSES))

    def check():
        ours, theirs = by_directions(), whole()
        assert_equal("A", ours.visual_projection, theirs.visual_projection, 1e-8)
        assert_equal("B", ours.semantic_projection, theirs.semantic_projection, 1e-8)
        assert_equal("objective", ours.objective, theirs.objective, 1e-9)

    return Contestants(ours=by_directions, peer=whole, check=check)


_TASK = "pinned fit, 200,000 x 1024 (float32), 21,841 classes x 300"

QUESTIONS = [
    Question("many-pinned", f"{_TASK} / NumPy float64 X.T @ X", Target("time", 6), pinned, rounds=3),
    Question("many-pinned-memory", f"{_TASK}: peak, without the samples", Target("memory", 2000), pinned_memory),
    Question(
        "many-equal-counts",
        "an iteration, 5,000 classes of equal counts, m = 1024, d = 300 / that of all classes",
        Target("speed", 3),
        equal,
        rounds=1,
    ),
]


def test_many(time_side):
    time_side()


if __name__ == "__main__":  # the process whose memory is measured
    samples(PINNED_CLASSES)
    print(peak_megabytes(pinned_fit))
