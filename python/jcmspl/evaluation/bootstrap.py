"""How much figures depend on which classes there are: intervals by the bootstrap over classes, drawn with a seed.

Samples of one class stand or fall together, so that classes are drawn, with replacement and with all their samples. All
spaces have the same draws: a difference between two of them is that of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from jcmspl.data.labels import Label
from jcmspl.evaluation.findings import Bootstrap, Interval
from jcmspl.evaluation.metrics import Tally
from jcmspl.support.arguments import Float64Array

SETTINGS = Bootstrap(level=0.95, draws=2000, seed=0)
# Numbers of classes that are drawn at a time.
_BLOCK = 1 << 20


def class_draws(n_classes: int, kind: int, settings: Bootstrap = SETTINGS) -> Iterator[Float64Array]:
    """Give draws of so many classes, some at a time: rows are draws, columns how often each class is in them.

    Draws of another kind (unseen classes are 0, seen ones 1) are independent of these.
    """
    rng = np.random.default_rng([settings.seed, kind])
    most = max(1, _BLOCK // n_classes)
    for first in range(0, settings.draws, most):
        n_draws = min(most, settings.draws - first)
        drawn = rng.integers(n_classes, size=(n_draws, n_classes)) + n_classes * np.arange(n_draws)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_draws * n_classes)
        yield counts.reshape(n_draws, n_classes).astype(np.float64)


def interval(values: Float64Array, settings: Bootstrap = SETTINGS) -> Interval:
    """Return what lies in the middle of the figures of all draws (percentiles)."""
    rest = (1 - settings.level) / 2
    low, high = np.quantile(values, [rest, 1 - rest])
    return Interval(float(low), float(high))


def intervals(tallies: Sequence[tuple[Tally, Tally | None]], unseen: Sequence[Label]) -> list[dict[str, Interval]]:
    """Return for each space the intervals of its figures, by their names; none of a figure of a single class.

    Parameters
    ----------
    tallies : sequence of (Tally, Tally or None)
        What samples of unseen classes were taken for among these, and all samples among all classes.
    unseen : sequence of labels
    """
    tested = [label for label in unseen if label in tallies[0][0].counts]
    known = set(tested)
    seen = [label for label in (tallies[0][1] or tallies[0][0]).counts if label not in known]
    found: list[dict[str, Interval]] = [{} for _ in tallies]
    if len(tested) < 2:
        return found
    sizes = _column(tested, lambda label: tallies[0][0].counts[label])
    shares = [_shares(among_unseen, tested) for among_unseen, _ in tallies]
    own = [_shares(among_all, tested) for _, among_all in tallies if among_all]
    drawn = _sums([*shares, *(one * sizes for one in shares), *own, sizes], 0)
    per_class, rest = np.split(drawn, [len(shares)], axis=1)
    per_sample = rest[:, : len(shares)] / rest[:, -1:]
    per_class, acc_unseen = per_class / len(tested), rest[:, len(shares) : -1] / len(tested)
    for number, one in enumerate(found):
        one |= {"per_class": interval(per_class[:, number]), "per_sample": interval(per_sample[:, number])}
        if number:
            one["per_class_difference"] = interval(per_class[:, number] - per_class[:, 0])
    if own and len(seen) > 1:
        acc_seen = _sums([_shares(among_all, seen) for _, among_all in tallies if among_all], 1) / len(seen)
        for number, one in enumerate(found):
            both = acc_seen[:, number], acc_unseen[:, number]
            total = both[0] + both[1]
            means = 2 * both[0] * both[1] / np.where(total > 0, total, 1)
            figures = {"acc_seen": both[0], "acc_unseen": both[1], "harmonic_mean": means}
            one |= {name: interval(values) for name, values in figures.items()}
    return found


def _column(labels: Sequence[Label], value: Callable[[Label], float]) -> Float64Array:
    return np.array([value(label) for label in labels], dtype=np.float64)


def _shares(tally: Tally, labels: Sequence[Label]) -> Float64Array:
    shares = tally.shares()
    return _column(labels, lambda label: shares[label])


def _sums(columns: Sequence[Float64Array], kind: int) -> Float64Array:
    """Return for each draw the sum of each column over its classes."""
    values = np.column_stack(columns)
    return np.concatenate([counts @ values for counts in class_draws(len(values), kind)])
