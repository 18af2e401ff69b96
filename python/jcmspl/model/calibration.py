"""Calibrated stacking: how much to take off the scores of training classes in generalized recognition.

A model prefers the classes it was trained on. A bias on their scores makes up for that; the curve of accuracy on seen
against accuracy on unseen classes, as the bias goes from minus to plus infinity, tells how well the two can be had
together.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from jcmspl.data.class_folds import ClassKFold, held_out_rows
from jcmspl.data.collect import Collector
from jcmspl.data.labels import Label, as_label_list, some, sorted_labels
from jcmspl.data.parts import Part
from jcmspl.data.reading import Columns
from jcmspl.data.samples import Samples
from jcmspl.model.fitted import FittedModel
from jcmspl.model.labelling import Judged, judged, looked_at, statistics_of_folds
from jcmspl.model.learning import learnt
from jcmspl.model.prediction import spread_of
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.temperature import TemperatureTrials
from jcmspl.support.arguments import Float64Array, IntArray, as_count, as_number, as_random_state
from jcmspl.support.progress import logger, told

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier
    from jcmspl.model.predictor import Predictor


# Folds of few classes are drawn again: until so many classes were held out, at most so often.
_ENOUGH, _MOST_DRAWS = 100, 4


@dataclass(frozen=True, eq=False)
class SeenUnseenCurve:
    """Accuracy on seen and on unseen classes as functions of the bias on the former.

    Attributes
    ----------
    seen_gaps, unseen_gaps : ndarray
        Sorted. For samples of seen (unseen) classes: the best score of a seen class minus the best of an unseen one. A
        bias above the gap makes the sample's prediction an unseen class.
    seen_weights, unseen_weights : ndarray
        What each of these samples adds to its accuracy if the class of its own kind is chosen: 0 if that one is wrong.

    Examples
    --------
    >>> from jcmspl.metrics import SeenUnseenCurve
    >>> curve = SeenUnseenCurve.of([0.4, 0.1, 0.3], [True, True, True], [0, 0, 1], [True, True, False])
    >>> [share.tolist() for share in curve.accuracies(0.35)]  # seen, unseen
    [0.5, 1.0]
    >>> curve.area()
    0.5
    """

    seen_gaps: Float64Array
    seen_weights: Float64Array
    unseen_gaps: Float64Array
    unseen_weights: Float64Array

    @classmethod
    def of(
        cls, gaps: npt.ArrayLike, right: npt.ArrayLike, classes: npt.ArrayLike, is_seen: npt.ArrayLike
    ) -> SeenUnseenCurve:
        """Make the curve of per-class accuracies from the values of samples.

        Parameters
        ----------
        gaps : array_like of shape (n,)
            The best score of a seen class minus the best of an unseen one.
        right : array_like of shape (n,)
            Whether the best class of the sample's own kind is the right one.
        classes, is_seen : array_like of shape (n,)
            Class numbers, and whether these are seen ones.
        """
        gap, seen = np.asarray(gaps, dtype=np.float64), np.asarray(is_seen, dtype=bool)
        _, numbers, counts = np.unique(np.asarray(classes), return_inverse=True, return_counts=True)
        weight = np.asarray(right, dtype=np.float64) / counts[numbers]
        sides = []
        for side in (seen, ~seen):
            if not side.any():
                raise ValueError("the curve needs samples of seen and of unseen classes")
            order = np.argsort(gap[side], kind="stable")
            n_classes = len(np.unique(numbers[side]))
            sides += [gap[side][order], weight[side][order] / n_classes]
        return cls(*sides)

    def accuracies(self, bias: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
        """Return the per-class accuracies on seen and on unseen classes with the given biases."""
        biases = np.asarray(bias, dtype=np.float64)
        below_seen = np.concatenate([[0], np.cumsum(self.seen_weights)])
        below_unseen = np.concatenate([[0], np.cumsum(self.unseen_weights)])
        # a tie goes to the seen class, which comes first among the candidates
        seen = below_seen[-1] - below_seen[np.searchsorted(self.seen_gaps, biases, side="left")]
        unseen = below_unseen[np.searchsorted(self.unseen_gaps, biases, side="left")]
        return np.asarray(seen), np.asarray(unseen)

    def harmonic_mean(self, bias: npt.ArrayLike) -> Float64Array:
        """Return the harmonic mean of the two accuracies with the given biases."""
        seen, unseen = self.accuracies(bias)
        total = seen + unseen
        return np.asarray(2 * seen * unseen / np.where(total > 0, total, 1))

    def biases(self) -> Float64Array:
        """Return biases between all steps of the curve, from below the first to above the last."""
        steps = np.unique(np.concatenate([self.seen_gaps, self.unseen_gaps]))
        margin = max(float(steps[-1] - steps[0]), 1.0) * 0.01
        return np.concatenate([[steps[0] - margin], (steps[1:] + steps[:-1]) / 2, [steps[-1] + margin]])

    def area(self) -> float:
        """Return the area under the curve (AUSUC)."""
        seen, unseen = self.accuracies(self.biases())
        return float(np.sum((unseen[1:] + unseen[:-1]) / 2 * -np.diff(seen)))

    def best_bias(self) -> float:
        """Return the bias with the highest harmonic mean: the middle of it, where several are best."""
        return best_bias([self])


def best_bias(curves: list[SeenUnseenCurve]) -> float:
    """Return the bias with the highest mean harmonic mean over the curves: the middle of it, where several are best."""
    biases = np.unique(np.concatenate([curve.biases() for curve in curves]))
    mean = np.mean([curve.harmonic_mean(biases) for curve in curves], axis=0)
    best = np.flatnonzero(mean >= mean.max() - 1e-12)
    return float(biases[best[len(best) // 2]])


def generalized_curve(seen: Recogniser, unseen: Recogniser, chunks: Iterable[tuple[Any, Any]]) -> SeenUnseenCurve:
    """Return the curve of a model on samples with labels, a chunk at a time.

    Parameters
    ----------
    seen, unseen : Recogniser
        The model with its training classes as candidates, and with the others.
    chunks : iterable of (X, y)

    Examples
    --------
    >>> from jcmspl import JCMSPL
    >>> from jcmspl.datasets import make_zsl
    >>> from jcmspl.metrics import generalized_curve
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = JCMSPL().fit(*data.part("train"), class_vectors=data.classes)
    >>> seen, unseen = model.recogniser(candidates="seen"), model.recogniser(candidates="unseen")
    >>> curve = generalized_curve(seen, unseen, [data.part("test_seen"), data.part("test_unseen")])
    >>> 0 < curve.area() < 1
    True
    """
    pieces = [judged(X, as_label_list(y), seen, unseen) for X, y in chunks]
    return curve_of(pieces, set(seen.labels.tolist()))


def curve_of(pieces: Sequence[Judged], trained: set[Label]) -> SeenUnseenCurve:
    """Return the curve of samples that were recognised piece by piece."""
    numbers: dict[Label, int] = {}
    classes, is_seen = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=bool)]
    for piece in pieces:
        own = np.array([numbers.setdefault(label, len(numbers)) for label in piece.labels], dtype=np.int64)
        classes.append(own[piece.numbers])
        is_seen.append(np.array([label in trained for label in piece.labels], dtype=bool)[piece.numbers])
    gaps, right = (np.concatenate([np.empty(0), *each]) for each in zip(*[piece[:2] for piece in pieces], strict=True))
    return SeenUnseenCurve.of(gaps, right, np.concatenate(classes), np.concatenate(is_seen))


def curve_of_model(
    model: Predictor, X: Any, y: Any, class_vectors: Any = None, space: str | None = None
) -> SeenUnseenCurve:
    """Return the curve of a model on samples of seen and of unseen classes."""
    seen = model.recogniser(candidates="seen", space=space)
    unseen = model.recogniser(candidates="unseen", class_vectors=class_vectors, space=space)
    samples, _ = model.reader.unweighted().samples(X, y, columns=model.state.columns)
    return curve_of(samples.map(_judged_part, seen, unseen, what="recognising"), set(seen.labels.tolist()))


def _judged_part(part: Part, seen: Recogniser, unseen: Recogniser) -> Judged:
    return judged(part.whole().X, part.labels, seen, unseen)


class Drawing(NamedTuple):
    """Parameters of :meth:`ZeroShotClassifier.calibrate`, and the least number of classes of a fold.

    ``repeated``: whether folds are drawn again, up to _MOST_DRAWS times, until they hold out _ENOUGH classes in all;
    those of methods that read samples, whose fits take long, are drawn once.
    """

    n_splits: int | None
    held_out: float
    random_state: Any
    at_least: int = 1
    repeated: bool = False


def calibrated(model: ZeroShotClassifier, X: Any, y: Any, drawing: Drawing, *, adaptation: bool) -> FittedModel:
    """Return the state with calibrated biases; parameters are those of :meth:`ZeroShotClassifier.calibrate`."""
    fitted = model.state
    with told(f"{type(model).__name__}.calibrate", X) as line:
        samples = calibration_samples(model, X, y)
        trials = model._adaptation_trials() if adaptation else None
        curves: dict[str, list[SeenUnseenCurve]] = {space: [] for space in model.SPACES}
        trial_temperatures = {space: TemperatureTrials() for space in model.SPACES}
        for twin, unseen_rows, seen_rows in fold_models(model, samples, drawing):
            if trials is not None:
                trials(twin, samples, unseen_rows)
            tested, trained = samples.only(np.union1d(unseen_rows, seen_rows)), set(twin.classes_.tolist())
            for space, of_folds in curves.items():
                seen, unseen = (twin.recogniser(candidates=kind, space=space) for kind in ("seen", "unseen"))
                of_folds.append(curve_of(looked_at(tested, judged, seen, unseen), trained))
                trial_temperatures[space].add(tested, seen, unseen, spread_of(twin, space))
        found = {space: best_bias(of_folds) for space, of_folds in curves.items()}
        constants = fitted.adaptation_constants if trials is None else trials.chosen()
        biases = fitted.calibration | {(space, model.own_metric): bias for space, bias in found.items()}
        temperatures = {
            (space, model.own_metric, group): value
            for space, trial in trial_temperatures.items()
            for group, value in trial.chosen(found[space]).items()
        }
        line.text = f"bias {found[model.own_space]:.4g} in the {model.own_space} space"
    return fitted.recalibrated(biases, adaptation_constants=constants, temperatures=fitted.temperatures | temperatures)


def calibration_samples(model: ZeroShotClassifier, X: Any, y: Any) -> Samples:
    """Return samples that are read more than once; refuse a model that knows no classes but its training classes."""
    if model.state.given_table is None:
        raise ValueError("a model without class_vectors has no unseen classes to be calibrated for")
    reader = model.reader
    samples, _ = reader.samples(X, y, columns=model.state.columns)
    samples.require_rereadable(reader.name)
    if reader.needs == "samples":
        samples.array(reader.name)  # refused where samples stay on workers
    return samples


def _drawn(
    model: ZeroShotClassifier, labels: list[Label], drawing: Drawing
) -> Iterator[tuple[list[list[Label]], npt.NDArray[np.bool_]]]:
    """Draw the classes that take the part of unseen ones in each fold, and samples of all classes to test with."""
    held_out = drawing.held_out
    if not 0 < as_number(held_out, "held_out", "a share between 0 and 1") < 1:
        raise ValueError(f"held_out must be between 0 and 1, but is {held_out}")
    trained, present = set(model.classes_.tolist()), sorted_labels(dict.fromkeys(labels))
    strangers = [label for label in dict.fromkeys(labels) if label not in trained]
    if strangers:
        raise ValueError(f"y holds {some(strangers)}, on which the model was not trained")
    rng = as_random_state(drawing.random_state)
    n_folds = _n_splits(model, drawing.n_splits, len(present), drawing.at_least)
    is_fast = model.needs == "statistics"
    n_draws = min(-(-_ENOUGH // len(present)), _MOST_DRAWS) if drawing.repeated and is_fast else 1
    for _ in range(n_draws):
        splits = ClassKFold(n_folds, random_state=rng).split_classes(len(present))
        folds = [[present[i] for i in fold] for fold in splits]
        testing = held_out_rows(labels, held_out, rng)
        if not testing.any():
            raise ValueError("every class in y has one sample only: calibrate needs others to test on")
        tested = {label for label, is_tested in zip(labels, testing, strict=True) if is_tested}
        if any(tested <= set(fold) for fold in folds):
            raise ValueError(
                f"too few classes in y have two samples or more ({some(sorted_labels(tested))}): each fold tests some "
                "as seen classes"
            )
        yield folds, testing


def _n_splits(model: ZeroShotClassifier, n_splits: int | None, n_present: int, at_least: int) -> int:
    """Return the number of folds; whichever is held out, two classes at least must be left to train on."""
    if at_least > 1 and n_present < 2 * at_least:
        raise ValueError(f"y holds {n_present} classes, but two folds of {at_least} classes at least are needed")
    if n_splits is None:
        n_unseen = model.class_table_.n_classes - len(model.classes_)
        share = model.class_table_.n_classes / n_unseen if n_unseen else 4
        n_splits = int(np.clip(round(share), 3 if n_present == 3 else 2, max(2, min(10, n_present // at_least))))
    n_splits = as_count(n_splits, "n_splits", minimum=2)
    if at_least > 1 and n_splits > n_present // at_least:
        raise ValueError(
            f"y holds {n_present} classes, too few for {n_splits} folds of {at_least} classes at least: lower n_splits"
        )
    if n_present - -(-n_present // n_splits) < 2:
        raise ValueError(
            f"y holds {n_present} classes, too few to hold some out in {n_splits} folds and train on two at least"
        )
    return n_splits


class FoldModel(NamedTuple):
    """A model of the classes that a fold does not hold out, and the numbers of the rows to test it with."""

    model: Any
    unseen_rows: IntArray  # all samples of the classes that it holds out
    seen_rows: IntArray  # those of the others that it was not trained on


def fold_models(model: ZeroShotClassifier, samples: Samples, drawing: Drawing) -> Iterator[FoldModel]:
    """Fit the model of each fold of each draw. Statistics of a draw are collected once; models fit to their sums."""
    for folds, testing in _drawn(model, samples.labels, drawing):
        yield from _models_of_folds(model, samples, folds, testing)


def _models_of_folds(
    model: ZeroShotClassifier, samples: Samples, folds: list[list[Label]], testing: npt.NDArray[np.bool_]
) -> Iterator[FoldModel]:
    fitted, needs = model.state, model.reader.needs
    fold_of = {label: number for number, fold in enumerate(folds) for label in fold}
    fold = np.array([fold_of[label] for label in samples.labels])
    collector = Collector(fitted.class_table, *fitted.feature_normalisation.scaling, progress=False)
    parts = statistics_of_folds(samples, collector, np.where(testing, -1, fold), len(folds))
    table = fitted.class_table.select(fold_of)
    for number in range(len(folds)):
        total = reduce(operator.add, (part for other, part in enumerate(parts) if other != number))
        twin = model._for_other_classes()
        others = np.flatnonzero((fold != number) & ~testing)
        rows = samples.only(others).coded(total.labels).labelled_rows() if needs == "samples" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            twin._fitted = learnt(twin, total, table, Columns(total.statistics.n_features), {}, rows)
        logger.debug("fold %d of %d: fitted without %d classes", number + 1, len(folds), len(folds[number]))
        yield FoldModel(twin, np.flatnonzero(fold == number), np.flatnonzero((fold != number) & testing))
