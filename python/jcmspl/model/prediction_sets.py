"""Prediction sets: the classes that a sample may be of, with a promised coverage (docs/trust.md).

Split-conformal prediction, where the exchangeable unit is the class: training classes that play unseen ones say how far
behind chance the right class may lie. A candidate is in the set if it is at least so many times as probable as the
average candidate; the best candidate always is. Relative to the average, a threshold serves any number of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from jcmspl.data.labels import Label, numbered, sorted_labels
from jcmspl.model.calibration import Drawing, calibration_samples, fold_models
from jcmspl.model.fitted import FittedModel
from jcmspl.model.known_classes import Call
from jcmspl.model.labelling import BEST, SetLimit, distances_of, looked_at
from jcmspl.model.prediction import group_of, spread_of
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.temperature import AUTO_TEMPERATURE
from jcmspl.support.arguments import Float64Array, IntArray, as_number
from jcmspl.support.exceptions import UncalibratedWarning
from jcmspl.support.names import GROUPS
from jcmspl.support.progress import told
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier
    from jcmspl.model.predictor import Predictor

#: The confidence of a promise.
CONFIDENCE = 0.95
#: The shares of coverage for which thresholds are kept.
LEVELS: Float64Array = np.arange(1, 401) / 400
# The bins in which distances of candidates are counted, of asinh(distance).
_BINS: Float64Array = np.linspace(np.arcsinh(BEST) - 1e-6, 14, 2001)


@dataclass(frozen=True)
class Promise:
    """The coverage of prediction sets: asked for, and promised.

    Attributes
    ----------
    asked : float
        The mean coverage of classes, over draws of training classes and of a new class, is at least this.
    promised : float
        The mean coverage of new classes is at least this, with the given confidence over draws of training classes.
    confidence : float
    n_classes : int
        The number of training classes behind it.
    threshold : float
        The largest distance of a candidate in the set; infinity where so few classes can promise nothing less than all
        candidates.
    size, n_candidates : float
        The mean number of classes in a set, and of candidates, when training classes played the part.
    """

    asked: float
    promised: float
    confidence: float
    n_classes: int
    threshold: float
    size: float
    n_candidates: float

    def __str__(self) -> str:
        if np.isinf(self.threshold):
            return (
                f"asked for {_short(self.asked)}, but {self.n_classes} training classes can promise at most "
                f"{_short(self.n_classes / (self.n_classes + 1))} unless sets hold all candidates"
            )
        only = "because there are only" if self.promised < self.asked - 0.02 else "with"
        return (
            f"asked for {_short(self.asked)}, this data can promise {_short(self.promised)} with "
            f"{_short(self.confidence)} confidence, {only} {self.n_classes} training classes; "
            f"sets hold {self.size:.1f} of {self.n_candidates:.0f} candidates on average"
        )


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """Thresholds of prediction sets for every coverage.

    Attributes
    ----------
    temperature : float
        In units of the spread of scores; a later change of the model's temperature does not change its sets.
    thresholds, sizes : ndarray of shape (400,)
        For mean coverages of 1/400, 2/400, ... 1 of the training classes: the largest distance of a candidate in the
        set, and the mean size of sets. The distance is minus the logarithm of the probability of the candidate times
        the number of candidates.
    n_classes : int
        The number of training classes that played the part.
    n_candidates : float
        The mean number of candidates.
    """

    temperature: float
    thresholds: Float64Array
    sizes: Float64Array
    n_classes: int
    n_candidates: float

    def at(self, coverage: float) -> Promise:
        """Return the threshold and the promise of sets with a coverage."""
        asked = as_coverage(coverage)
        needed = asked * (self.n_classes + 1) / self.n_classes
        level = int(np.searchsorted(LEVELS, needed - 1e-9))
        is_possible = level < len(LEVELS)
        return Promise(
            asked,
            math.floor(1000 * lower_bound(needed, self.n_classes)) / 1000 if is_possible else 1.0,  # not rounded up
            CONFIDENCE,
            self.n_classes,
            float(self.thresholds[level]) if is_possible else np.inf,
            float(self.sizes[level]) if is_possible else self.n_candidates,
            self.n_candidates,
        )

    def __str__(self) -> str:
        return str(self.at(0.9))


def _short(share: float) -> str:
    return f"{math.floor(1000 * share + 1e-6) / 10:g} %"


def as_coverage(value: Any) -> float:
    """Return a coverage; refuse all but shares above 0 and below 1."""
    number = as_number(value, "coverage", "a share between 0 and 1")
    if not 0 < number < 1:
        raise ValueError(f"coverage must be between 0 and 1, but is {value}: 0.9 asks for 90 %")
    return number


def lower_bound(mean: float, n: int, confidence: float = CONFIDENCE) -> float:
    """Return the least expectation of variables in [0, 1] of which n have this mean or more in one of 20 draws.

    Their sum S is below the binomial B of the same mean in convex order (Hoeffding 1963), so that for every h < x
    P(S >= x) <= E max(S - h, 0) / (x - h) <= E max(B - h, 0) / (x - h).
    """
    low, high, x = 0.0, mean, n * mean
    h, k = np.arange(max(0.0, np.ceil(x) - 200), np.ceil(x)), np.arange(n + 1)
    excess = np.maximum(k[None] - h[:, None], 0) / (x - h)[:, None]
    while high - low > 1e-4:
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):  # in SciPy before 1.11
            shares = binom.pmf(k, n, middle)
        if (excess @ shares).min() <= 1 - confidence:
            low = middle
        else:
            high = middle
    return low


def limit_for(model: Predictor, coverage: float, call: Call) -> SetLimit:
    """Return the limit of the sets of a call of ``predict_set``."""
    as_coverage(coverage)
    group = group_of(model, call)
    chosen = model.state.set_calibration.get((model.own_space, model.own_metric, group))
    if chosen is None:
        raise ValueError(
            f"no sets were calibrated for candidates among {group} classes in the {model.own_space} space: call "
            "calibrate_sets(X, y) with training samples, after calibrate (jcmspl fit --calibrate --calibrate-sets)"
        )
    promise = chosen.at(coverage)
    cautions = [f"{promise}: lower the coverage"] if np.isinf(promise.threshold) else []
    if model.state.adaptation is not None:
        cautions.append("sets were calibrated without adaptation: the coverage of adapted candidates is not promised")
    for text in cautions:
        if text not in model.state.warned:
            model.state.warned.add(text)
            warn_user(text, UncalibratedWarning)
    return SetLimit(chosen.temperature * spread_of(model), promise.threshold)


class Look(NamedTuple):
    """Distances of the own classes of samples, and how many distances of all candidates lie in each of _BINS."""

    own: Float64Array
    labels: list[Label]
    counts: IntArray


def look(X: npt.NDArray[Any], labels: list[Label], recogniser: Recogniser, temperature: float) -> Look:
    """Look at samples, all of which are of candidates."""
    found = distances_of(X, recogniser, temperature)
    in_bins = np.histogram(np.minimum(np.arcsinh(found), _BINS[-1]), _BINS)[0]
    own = found[np.arange(len(found)), numbered(labels, recogniser.labels.tolist())]
    return Look(own, list(labels), in_bins)


class _Trials:
    """The looks at samples of all folds, in the parts of seen and of unseen classes."""

    def __init__(self) -> None:
        self.looks: list[tuple[Look, bool]] = []
        self.sizes: list[int] = []

    def add(self, looks: Sequence[Look], n_candidates: int, *, is_seen: bool) -> None:
        self.looks += [(one, is_seen) for one in looks]
        self.sizes.append(n_candidates)

    def calibration(self, temperature: float) -> SetCalibration:
        """Return the calibration in which each class, and each part that it played, has the same weight."""
        own = np.concatenate([one.own for one, _ in self.looks])
        labels = [label for one, _ in self.looks for label in one.labels]
        classes = numbered(labels, sorted_labels(dict.fromkeys(labels)))
        as_seen = np.concatenate([np.full(len(one.own), is_seen) for one, is_seen in self.looks])
        n_classes = int(classes.max()) + 1
        of_part = np.bincount(2 * classes + as_seen, minlength=2 * n_classes)
        n_parts = (of_part.reshape(-1, 2) > 0).sum(axis=1)
        weights = 1 / (n_classes * n_parts[classes] * of_part[2 * classes + as_seen])
        order = np.argsort(own, kind="stable")
        coverage = np.cumsum(weights[order])
        last = np.minimum(np.searchsorted(coverage, LEVELS - 1e-9), len(own) - 1)
        thresholds = own[order][last]
        counts = np.sum([one.counts for one, _ in self.looks], axis=0)
        sizes = np.interp(np.arcsinh(thresholds), _BINS[1:], np.cumsum(counts) / len(own))
        return SetCalibration(temperature, thresholds, sizes, n_classes, float(np.mean(self.sizes)))


def with_sets(model: ZeroShotClassifier, X: Any, y: Any, drawing: Drawing) -> FittedModel:
    """Return the state with calibrated sets for each space and each group of candidates.

    Parameters are those of :meth:`ZeroShotClassifier.calibrate_sets`.
    """
    fitted, metric = model.state, model.own_metric
    with told(f"{type(model).__name__}.calibrate_sets", X) as line:
        samples = calibration_samples(model, X, y)
        trials = {(space, metric, group): _Trials() for space in model.SPACES for group in GROUPS}
        shares = {key: fitted.temperatures.get(key, AUTO_TEMPERATURE) for key in trials}
        for twin, unseen_rows, seen_rows in fold_models(model, samples, drawing):
            tested = {True: samples.only(seen_rows), False: samples.only(unseen_rows)}
            for key, trial in trials.items():
                space, _, group = key
                recogniser = twin.recogniser(candidates=group, seen_penalty=model.bias_in(space), space=space)
                temperature = shares[key] * spread_of(twin, space)
                for is_seen, some in tested.items():
                    if group in ("all", "seen" if is_seen else "unseen"):
                        looks = looked_at(some, look, recogniser, temperature)
                        trial.add(looks, len(recogniser.labels), is_seen=is_seen)
        found = {key: trial.calibration(shares[key]) for key, trial in trials.items()}
        line.text = f"among unseen classes {found[model.own_space, metric, 'unseen']}"
    return replace(fitted, set_calibration=fitted.set_calibration | found)
