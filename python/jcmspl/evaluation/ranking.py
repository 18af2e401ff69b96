"""Which lead is more than noise: ranks, and a paired test over random splits of the same classes.

Splits are drawn from the same classes, so they share unseen and training classes and their results are not independent:
the plain t-test finds differences where there are none. The corrected resampled t-test (Nadeau, Bengio, 2003: Inference
for the generalization error) multiplies the variance of the mean difference by what the overlap adds, 1/n + unseen/seen
instead of 1/n. Of many methods one is the best by chance; Holm's correction allows for their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from jcmspl.support.arguments import Float64Array

#: A method differs from the best if the corrected p-value is below this.
LEVEL = 0.05
#: How the test is called in print.
TEST = "corrected resampled t-test (Nadeau, Bengio, 2003) with Holm's correction for the number of methods"


@dataclass(frozen=True)
class Standing:
    """What a method reached over random splits.

    Attributes
    ----------
    mean : float
    standard_error : float
        Of that mean, with what splits have in common allowed for; NaN for a single split.
    mean_rank : float
        Over splits; 1 is the best, and methods that are equal share the mean of their ranks.
    p_value : float
        Of the difference to the best method, corrected for the number of methods; 1 for the best itself, NaN for a
        single split.
    """

    mean: float
    standard_error: float
    mean_rank: float
    p_value: float

    @property
    def differs(self) -> bool:
        """Whether the method is worse than the best by more than noise."""
        return self.p_value < LEVEL


def standings(scores: Mapping[str, Sequence[float]], n_unseen: int, n_seen: int) -> dict[str, Standing]:
    """Return what each method reached, of scores that all have for the same splits; the highest mean first.

    Parameters
    ----------
    scores : mapping of str to sequence of float
        For each method its score on each of the splits.
    n_unseen, n_seen : int
        How many classes a split tests on and trains on.
    """
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
    """Return the mean over splits (columns) of the rank of each method (row)."""
    return np.asarray(stats.rankdata(-scores, axis=0).mean(axis=1))


def corrected_standard_error(values: Sequence[float] | Float64Array, ratio: float) -> float:
    """Return the standard error of a mean over splits that test on ratio times as many classes as they train on."""
    n = len(values)
    return float(np.sqrt((1 / n + ratio) * np.var(values, ddof=1))) if n > 1 else float("nan")


def corrected_p_value(differences: Float64Array, ratio: float) -> float:
    """Return the p-value of the corrected resampled t-test, of both sides."""
    error, mean = corrected_standard_error(differences, ratio), abs(float(np.mean(differences)))
    if mean <= 1e-12:  # equal but for rounding, perhaps on every split
        return 1.0 if error == error else error
    return float(2 * stats.t.sf(mean / error, len(differences) - 1)) if error != 0 else 0.0


def holm(p_values: Sequence[float]) -> Float64Array:
    """Return p-values of several tests, corrected for their number."""
    values = np.asarray(p_values, dtype=np.float64)
    order = values.argsort()
    corrected = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    result = np.empty_like(values)
    result[order] = corrected
    return result
