"""The temperature of probabilities, chosen on training classes that play unseen ones.

A probability is the softmax of scores over a temperature, and the unit of a temperature is the spread of the scores of
mean training samples: the model of a fold, which knows fewer classes, has scores of another size. The temperature with
the lowest log loss, in the mean over folds, is chosen; it hardly depends on the number of candidates
(bench/trust.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from jcmspl.data.labels import Label
from jcmspl.data.samples import Samples
from jcmspl.model.labelling import looked_at
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array

#: The temperature "auto" before a calibration, in units of the spread. On three spaces and three metrics of CUB it lies
#: near the temperature that gives unseen classes their highest likelihood.
AUTO_TEMPERATURE = 0.35
#: The temperatures that a calibration tries, in the same unit.
TEMPERATURES: Float64Array = AUTO_TEMPERATURE * 2.0 ** np.arange(-8, 5.5, 0.5)
# A log loss that is as good as none: right classes have a probability of 99 %.
_SMALL_LOSS = 0.01


class Sums(NamedTuple):
    """Sums over candidates at some temperatures, a row for each sample.

    ``seen`` and ``unseen`` (n, n_temperatures) are the logarithms of the sums over the seen and over the unseen
    candidates c of ``exp((score of c - score of the own class) / temperature)``; ``is_seen`` is the kind of own class.
    """

    seen: npt.NDArray[np.float32]
    unseen: npt.NDArray[np.float32]
    is_seen: npt.NDArray[np.bool_]

    def losses(self, temperatures: Float64Array, bias: float) -> dict[str, Float64Array]:
        """Return the mean log loss at each temperature, by the group of candidates; groups without samples lack.

        Among all candidates, where ``bias`` is subtracted from scores of seen classes, both kinds of samples count for
        half.
        """
        found, of_kinds = {}, []
        for group, own, others, rows, sign in (
            ("seen", self.seen, self.unseen, self.is_seen, 1),
            ("unseen", self.unseen, self.seen, ~self.is_seen, -1),
        ):
            if rows.any():
                found[group] = own[rows].mean(axis=0, dtype=np.float64)
                among_all = np.logaddexp(own[rows], others[rows] + sign * bias / temperatures)
                of_kinds.append(among_all.mean(axis=0, dtype=np.float64))
        return {**found, "all": np.mean(of_kinds, axis=0)}


def sums_of(
    X: npt.NDArray[Any], labels: list[Label], seen: Recogniser, unseen: Recogniser, temperatures: Float64Array
) -> Sums:
    """Return the sums of samples, all of which are of candidates of two recognisers."""
    scores = [np.asarray(one.scores(X), dtype=np.float64) for one in (seen, unseen)]
    number = {label: i for i, label in enumerate([*seen.labels.tolist(), *unseen.labels.tolist()])}
    own = np.array([number[label] for label in labels], dtype=np.int64)
    of_own = np.concatenate(scores, axis=1)[np.arange(len(own)), own][:, None]
    sums = []
    with np.errstate(over="ignore"):  # a tiny temperature: the loss is infinite
        for part in scores:
            gaps = part - of_own
            columns = [logsumexp(gaps / temperature, axis=1) for temperature in temperatures]
            sums.append(np.stack(columns, axis=1).astype(np.float32))
    return Sums(sums[0], sums[1], own < len(seen.labels))


class TemperatureTrials:
    """Tries temperatures on models of folds of classes, each in the unit of its own scores."""

    def __init__(self) -> None:
        self._folds: list[tuple[Sums, float]] = []
        self._sizes: list[int] = []
        self._n_classes = 0

    def add(self, samples: Samples, seen: Recogniser, unseen: Recogniser, spread: float) -> None:
        """Try all temperatures on the samples of a fold, which are of both kinds."""
        pieces = looked_at(samples, sums_of, seen, unseen, spread * TEMPERATURES)
        self._folds.append((Sums(*(np.concatenate(each) for each in zip(*pieces, strict=True))), spread))
        self._sizes.append(len(unseen.labels))
        self._n_classes = len(seen.labels) + len(unseen.labels)

    def chosen(self, bias: float) -> dict[str, float]:
        """Return the best temperature for each group of candidates, in units of the spread of scores."""
        losses: dict[str, list[Float64Array]] = {}
        for (sums, spread), size in zip(self._folds, self._sizes, strict=True):
            for group, of_fold in sums.losses(spread * TEMPERATURES, bias).items():
                if group != "unseen" or size > 1:  # a single candidate tells nothing
                    losses.setdefault(group, []).append(of_fold)
        n_per_draw = self._n_classes * len(self._sizes) / sum(self._sizes)
        return {group: chosen_temperature(of_folds, n_per_draw) for group, of_folds in losses.items()}


def chosen_temperature(losses: Sequence[Float64Array], n_per_draw: float) -> float:
    """Return the best of TEMPERATURES, given the losses of each fold; ``n_per_draw`` folds are of different classes.

    The less folds agree, the nearer it stays to AUTO_TEMPERATURE: by the squared standard error of its logarithm over
    the squared distance.
    """
    usual = np.log(AUTO_TEMPERATURE)
    of_folds = np.log([lowest(TEMPERATURES, one) for one in losses])
    distance = np.log(lowest(TEMPERATURES, np.mean(losses, axis=0))) - usual
    error = of_folds.std(ddof=1) / np.sqrt(n_per_draw) if len(losses) > 1 else np.inf
    share = max(0.0, 1.0 - (error / distance) ** 2) if distance else 0.0
    return float(np.exp(usual + share * distance))


def lowest(temperatures: Float64Array, losses: Float64Array) -> float:
    """Return the temperature of the lowest loss: where a parabola through the three lowest has its lowest point.

    Temperatures ascend by a factor. If every sample is right, the loss only falls with the temperature, and would make
    the first mistake of a call a certainty: then the highest temperature, up to the usual one, with a small loss.
    """
    best = int(losses.argmin())
    if best == 0:
        fits = (losses <= losses[0] + _SMALL_LOSS) & (temperatures <= AUTO_TEMPERATURE)
        return float(temperatures[fits].max())
    if not 0 < best < len(losses) - 1:
        return float(temperatures[best])
    before, here, after = losses[best - 1 : best + 2]
    curvature = before - 2 * here + after
    shift = (before - after) / (2 * curvature) if 0 < curvature < np.inf else 0.0
    return float(temperatures[best] * (temperatures[1] / temperatures[0]) ** shift)
