"""Open sets: whether a sample is of any of the candidates at all, told by the score of the best of them.

Of simple measures (the best score, its lead over the second, its share in the softmax, its height above the mean score,
with or without a division by their spread) the best score tells strangers best, with nearly all methods and data:
bench/open_set.py. Samples and classes are centred, so that a class of which nothing is known would score near zero; and
unlike the others it does not change when a candidate is added that scores lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array
from jcmspl.support.arguments import Float64Array
from jcmspl.support.shown import quoted


def area(known: npt.ArrayLike, strangers: npt.ArrayLike) -> float:
    """Return the area under the ROC curve: how often a known sample scores higher than a stranger, ties half."""
    one, two = np.asarray(known, dtype=np.float64), np.asarray(strangers, dtype=np.float64)
    ranks = rankdata(np.concatenate([one, two]))[: len(one)]
    return float((ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(two)))


@dataclass(frozen=True)
class Threshold:
    """The least score of a name, and what it did to training classes that played unseen ones and strangers.

    Attributes
    ----------
    value : float
        A sample whose best score is lower is rejected.
    lost : float
        The share of samples of candidates that it rejected.
    rejected : float
        The share of strangers that it rejected.
    auroc : float
        The area under the ROC curve of the best score, in the mean over folds: 1 tells strangers from known samples
        without a mistake, 0.5 is a guess.
    """

    value: float
    lost: float
    rejected: float
    auroc: float

    @classmethod
    def of(cls, folds: Sequence[tuple[Float64Array, Float64Array]], max_false_rejection: float) -> Threshold:
        """Choose the highest threshold that rejects no more than a share of the known samples of all folds.

        Parameters
        ----------
        folds : sequence of (known, strangers)
            The best scores of samples.
        max_false_rejection : float
        """
        known, strangers = (np.sort(np.concatenate(each)) for each in zip(*folds, strict=True))
        value = float(known[min(int(max_false_rejection * len(known)), len(known) - 1)])
        areas = [area(*fold) for fold in folds]
        return cls(value, float(np.mean(known < value)), float(np.mean(strangers < value)), float(np.mean(areas)))

    def __str__(self) -> str:
        return (
            f"below {self.value:.4g} (rejects {100 * self.lost:.1f} % of known samples and {100 * self.rejected:.1f} % "
            f"of strangers; AUROC {self.auroc:.3f})"
        )


def with_none(labels: LabelArray, reject_label: Label) -> LabelArray:
    """Return the labels of candidates, and behind them what a sample is called that is of none of them."""
    if reject_label is not None and as_label_list([reject_label], "reject_label")[0] in set(labels.tolist()):
        raise ValueError(f"reject_label is {quoted(reject_label)}, which is a candidate: choose another one")
    return label_array([*labels.tolist(), reject_label])
