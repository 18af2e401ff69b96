"""What a descent costs, and the sentence for one that nobody would wait for: before it starts, from sizes alone."""

from __future__ import annotations

from jcmspl.support.memory import memory_at_hand

#: Two cores of today take about a day for so many.
_MOST_OPERATIONS = 5e15
#: A larger max_iter is a bound that is not meant to be reached.
_ITERATIONS = 100
_WAY_OUT = "set class_match=inf, which pins the codes to those of the classes and takes no iterations"


def require_affordable(n_concepts: int, n_classes: int, n_features: int, n_attributes: int, max_iter: int) -> None:
    """Refuse a descent that takes days, or more memory than there is."""
    n_iter = min(max_iter, _ITERATIONS)
    operations = n_iter * operations_of_iteration(n_concepts, n_classes, n_features, n_attributes)
    fit = f"a fit with {n_concepts:,} concepts and finite class_match"
    if operations > _MOST_OPERATIONS:
        raise ValueError(
            f"{fit} takes {operations:.0e} operations in {n_iter} iterations, which is days: {_WAY_OUT}; or "
            "lower max_iter. Classes of equal counts, as class_weight='balanced' makes them, take less"
        )
    needed, there = bytes_of_descent(n_concepts, n_classes, n_features), memory_at_hand()
    if needed > there:
        raise MemoryError(
            f"{fit} takes {needed / 1e9:.0f} GB of memory, but only {there / 1e9:.0f} GB are free: {_WAY_OUT}"
        )


def operations_of_iteration(k: int, c: int, m: int, d: int) -> float:
    """Return the additions and multiplications of an iteration (docs/algorithm.md: what an iteration costs)."""
    q, s = min(c, d), m + c
    return 10 / 3 * k**3 + (5 * (m + q) + 3 * s) * k**2 + 4 * s * q * k


def bytes_of_descent(k: int, c: int, m: int) -> float:
    """Return what the matrices take that grow with the square of the number of classes."""
    s = m + c
    return 8.0 * (2 * s * max(k, c) + 8 * k**2)
