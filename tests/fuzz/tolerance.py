"""How much answers may differ: by rounding, as far as the problem amplifies it, and names only where scores tie.

Scores of a linear layer have a bound of their own, of the sums of absolute products. For others, and for all that is
fitted anew, the data are changed in their last digit: what that changes is what rounding can do, and another order of
additions may do ten thousand times as much. Where it changes scores by a part that can be seen, the problem has no
answer that floating point could give (it is ill-posed), and nothing can be compared.
"""

import numpy as np

from jcmspl.model.recogniser import LinearRecogniser
from jcmspl.support.scaling import signed_root, unit_length

EPSILON = {np.dtype(np.float32): 2.0**-23, np.dtype(np.float64): 2.0**-52}
AMPLIFIED = 40_000  # how much more than one change of last digits another order of additions may do
_CHANGES = 16  # last digits by which samples change to see what that does to scores, which may jump
_SEEN = 1e-9  # the part of the largest score from which a change of last digits makes a problem ill-posed


class Wrong(AssertionError):
    """An answer that no rounding explains."""


def last_digits_changed(rng, values, dtype=np.float64, by=1):
    """Return numbers that differ by at most so many times the last digit of a type; zeros stay."""
    return values * (1 + EPSILON[np.dtype(dtype)] * rng.integers(-by, by + 1, values.shape))


def rounding(recogniser, T, scores, changed):
    """Return a bound on what rounding does to the scores of samples, in the precision of the samples.

    Parameters
    ----------
    recogniser : Recogniser
    T : ndarray of shape (n, m)
    scores : ndarray of shape (n, n_candidates)
    changed : function of a generator and a number, which returns the scores of samples changed by that many last digits
    """
    eps = EPSILON[T.dtype] if T.dtype in EPSILON else 2.0**-52
    if isinstance(recogniser, LinearRecogniser):
        rows = np.abs(T.astype(np.float64))
        rows = np.abs(signed_root(rows)) if recogniser.scaling.power else rows
        rows = unit_length(rows) if recogniser.scaling.unit_rows else rows
        return 4 * (T.shape[1] + 16) * eps * (rows @ np.abs(recogniser.weights).T + np.abs(recogniser.bias))
    rng = np.random.default_rng(0)
    moves = [np.abs(changed(rng, _CHANGES) - scores).max(axis=1, keepdims=True, initial=0) for _ in range(4)]
    size = np.abs(scores).max(initial=0)
    return AMPLIFIED / _CHANGES * np.max(moves, axis=0) + 64 * (T.shape[1] + 16) * eps * size + np.zeros_like(scores)


def conditioning(scores, others, floor, by=1):
    """Return the tolerance of scores of a model that is fitted anew, or None if it cannot be told.

    Parameters
    ----------
    scores : ndarray
    others : list of ndarray
        The scores of models that were fitted to data changed by that many last digits.
    floor : ndarray
        What rounding does to the scores of one model.
    by : int
    """
    moved = max(float(np.abs(other - scores).max(initial=0)) for other in others)
    size = max(float(np.abs(scores).max(initial=0)), float(floor.max(initial=0)) / 1e-12)
    if size == 0 or not moved <= by * _SEEN * size:
        return None
    return AMPLIFIED * moved + 1e3 * floor + 1e-8 * size + 1e-14


def same(what, one, other, allowed):
    """Refuse scores that differ by more than what is allowed."""
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if one.shape != other.shape:
        raise Wrong(f"{what}: shapes {one.shape} and {other.shape}")
    off = ~(np.abs(one - other) <= allowed)  # NaN is not
    if off.any():
        where = tuple(int(i) for i in np.argwhere(off)[0])
        limit, largest = np.broadcast_to(allowed, one.shape)[where], np.abs(other).max()
        raise Wrong(
            f"{what}: {off.sum()} of {off.size} scores differ, {where}: {one[where]:.17g} and {other[where]:.17g}, by "
            f"{abs(one[where] - other[where]):.3g} where {limit:.3g} is allowed (largest score {largest:.3g})"
        )


def best(what, positions, scores, allowed):
    """Refuse names, given as positions among the candidates, that are not of a best score but for ties."""
    rows = np.arange(len(scores))
    allowed = np.broadcast_to(allowed, scores.shape).max(axis=1)
    missing = scores.max(axis=1) - scores[rows, positions] - 2 * allowed
    if not (missing <= 0).all():
        row = int(np.argmax(~(missing <= 0)))
        raise Wrong(
            f"{what}: sample {row} is named {positions[row]}, with a score of {scores[row, positions[row]]!r}, but "
            f"{int(scores[row].argmax())} has {scores[row].max()!r}; rounding explains {2 * allowed[row]:.3g}"
        )
