"""A start beside the saddle on which the codes of the classes lie where all classes weigh the same.

If samples and class vectors are centred as well, the sum of all concepts is the same for all samples, so that A and B
have no part in it. In exact arithmetic this holds after each iteration, but it is a saddle: with large weights of
reconstruction the smallest part grows by orders of magnitude in an iteration. Rounding errors are such a part, so the
CPU and the order of samples would decide where the descent goes. Noise with a fixed seed, far above rounding errors and
far below the codes, decides it instead. The same holds for several concepts of one class (docs/algorithm.md).
"""

from __future__ import annotations

import numpy as np

from jcmspl.core.solver import class_codes
from jcmspl.data.training import TrainingData
from jcmspl.support.arguments import Float64Array

# The standard deviation of the noise; codes are 0 and 1.
_NOISE = 1e-6
# Rounding errors that cannot grow to this in all iterations need no noise.
_VISIBLE = 1e-6


def start_beside_saddle(
    training: TrainingData, n_concepts: int, weights: tuple[float, ...], max_iter: int
) -> Float64Array | None:
    """Return the codes of the classes with some noise, or None where they are no saddle or errors stay small."""
    n_classes = len(training.class_vectors)
    log_error = np.log(np.finfo(np.float64).eps) + max_iter * np.log(_growth(*weights))
    if log_error < np.log(_VISIBLE) or not (n_concepts > n_classes or _is_balanced(training)):
        return None
    codes = class_codes(n_concepts, n_classes)
    return codes + _NOISE * np.random.default_rng(0).standard_normal(codes.shape)


def _growth(l1: float, l2: float, l3: float, l4: float) -> float:
    """Return the largest factor by which an iteration multiplies a small part of A and B in a concept."""
    with np.errstate(over="ignore"):
        visual = np.square(1 + l3)
        semantic = np.square(l1 + l4) / max(l1, np.finfo(np.float64).eps)
        return float((visual + semantic) / (1 + l1 + l2))


def _is_balanced(training: TrainingData) -> bool:
    """Whether all classes weigh the same, and samples and class vectors add up to zero."""
    counts = training.statistics.counts
    if np.ptp(counts) > _NOISE * counts.max():
        return False
    tables = training.statistics.class_sums, training.class_vectors
    return all(np.abs(rows.sum(axis=0)).max() <= _NOISE * np.abs(rows).sum(axis=0).max() for rows in tables)
