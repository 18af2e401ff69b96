"""How much figures depend on the choice of classes: bootstrap intervals, and a test of differences between methods.

Bootstrap: classes are drawn with replacement and with all their samples, which stand or fall together. All spaces have
the same draws, so the interval of a difference is that of pairs.

Test: random splits of the same classes share training and test classes, so their results are not independent and the
plain t-test finds differences where there are none. The corrected resampled t-test (Nadeau, Bengio, 2003: Inference for
the generalization error) multiplies the variance of the mean difference by 1/n + unseen/seen instead of 1/n. The best
of many methods may be so by chance; Holm's correction accounts for their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from jcmspl.data.labels import Label
from jcmspl.evaluation.accuracy import Tally
from jcmspl.evaluation.findings import Bootstrap, Interval
from jcmspl.support.arguments import Float64Array

#: The settings of the bootstrap.
SETTINGS = Bootstrap(level=0.95, draws=2000, seed=0)
#: With fewer classes there is no interval: of three, most draws are the same few, and their ends are single classes.
LEAST_CLASSES = 4
# Classes drawn at a time, to bound the memory.
_BLOCK = 1 << 20
#: A method differs from the best if the corrected p-value is below this.
LEVEL = 0.05
#: The name of the test in print.
TEST = "corrected resampled t-test (Nadeau, Bengio, 2003) with Holm's correction for the number of methods"


def class_draws(n_classes: int, kind: int, settings: Bootstrap = SETTINGS) -> Iterator[Float64Array]:
    """Yield blocks of draws: a row for each draw, with the number of times each class is in it.

    Draws of different kinds (0 for unseen, 1 for seen classes) are independent.
    """
    rng = np.random.default_rng([settings.seed, kind])
    most = max(1, _BLOCK // n_classes)
    for first in range(0, settings.draws, most):
        n_draws = min(most, settings.draws - first)
        drawn = rng.integers(n_classes, size=(n_draws, n_classes)) + n_classes * np.arange(n_draws)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_draws * n_classes)
        yield counts.reshape(n_draws, n_classes).astype(np.float64)


def interval(values: Float64Array, settings: Bootstrap = SETTINGS) -> Interval:
    """Return the percentile interval of the figures of all draws."""
    rest = (1 - settings.level) / 2
    low, high = np.quantile(values, [rest, 1 - rest])
    return Interval(float(low), float(high))


def intervals(tallies: Sequence[tuple[Tally, Tally | None]], unseen: Sequence[Label]) -> list[dict[str, Interval]]:
    """Return the intervals of the figures of each space, by name; figures of fewer than LEAST_CLASSES have none.

    Each space has two tallies: samples of unseen classes among these, and all samples among all classes.
    """
    tested = [label for label in unseen if label in tallies[0][0].counts]
    known = set(tested)
    seen = [label for label in (tallies[0][1] or tallies[0][0]).counts if label not in known]
    found: list[dict[str, Interval]] = [{} for _ in tallies]
    if len(tested) < LEAST_CLASSES:
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
    """Return the sum of each column over the classes of each draw."""
    values = np.column_stack(columns)
    return np.concatenate([counts @ values for counts in class_draws(len(values), kind)])


@dataclass(frozen=True)
class Standing:
    """Accuracy of a method over random splits; with a single split, the standard error and the p-value are NaN."""

    mean: float
    standard_error: float  #: of the mean, corrected for the overlap of splits
    mean_rank: float  #: over splits; 1 is the best, and equal methods share the mean of their ranks
    p_value: float  #: of the difference to the best, corrected for the number of methods; 1 for the best

    @property
    def differs(self) -> bool:
        """Whether the method is worse than the best by more than noise."""
        return self.p_value < LEVEL


def standings(scores: Mapping[str, Sequence[float]], n_unseen: int, n_seen: int) -> dict[str, Standing]:
    """Rank methods by their scores on the same splits of so many classes; the highest mean first."""
    if not scores:
        return {}
    table = np.array(list(scores.values()), dtype=np.float64)
    means, ratio = table.mean(axis=1), n_unseen / n_seen
    best = int(means.argmax())
    others = [i for i in range(len(table)) if i != best]
    p_values = np.where(table.shape[1] > 1, np.ones(len(table)), np.nan)
    p_values[others] = holm([corrected_p_value(table[best] - table[i], ratio) for i in others])
    ranks = mean_ranks(table)
    found = {
        name: Standing(float(means[i]), corrected_standard_error(table[i], ratio), float(ranks[i]), float(p_values[i]))
        for i, name in enumerate(scores)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].mean))


def mean_ranks(scores: Float64Array) -> Float64Array:
    """Return the mean rank of each method (row) over splits (columns)."""
    return np.asarray(stats.rankdata(-scores, axis=0).mean(axis=1))


def corrected_standard_error(values: Sequence[float] | Float64Array, ratio: float) -> float:
    """Return the corrected standard error of a mean over splits; ratio is that of test to training classes."""
    n = len(values)
    return float(np.sqrt((1 / n + ratio) * np.var(values, ddof=1))) if n > 1 else float("nan")


def corrected_p_value(differences: Float64Array, ratio: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test."""
    error, mean = corrected_standard_error(differences, ratio), abs(float(np.mean(differences)))
    if mean <= 1e-12:  # equal up to rounding
        return 1.0 if error == error else error
    return float(2 * stats.t.sf(mean / error, len(differences) - 1)) if error != 0 else 0.0


def holm(p_values: Sequence[float]) -> Float64Array:
    """Apply Holm's correction to the p-values of several tests."""
    values = np.asarray(p_values, dtype=np.float64)
    order = values.argsort()
    corrected = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    result = np.empty_like(values)
    result[order] = corrected
    return result
