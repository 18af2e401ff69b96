"""Evaluation: one call, one report."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.search import SPACES
from jcmspl.data.labels import Label
from jcmspl.evaluation.metrics import Tally, harmonic_mean
from jcmspl.evaluation.report import Report
from jcmspl.evaluation.results import (
    BestOnTestData,
    ClassRow,
    Confusion,
    ConfusionMatrix,
    DatasetSummary,
    Generalized,
    HitRate,
    ModelSummary,
    Objective,
    SpaceResult,
    Standard,
    Uncalibrated,
)
from jcmspl.io.json_text import plain
from jcmspl.models.calibration import SeenUnseenCurve, generalized_curve
from jcmspl.support.progress import Progress
from jcmspl.support.version import __version__

# Points of the curve that a report keeps: more cannot be told apart in a plot.
_CURVE_POINTS = 200


def evaluate(
    model: Any,
    dataset: Any,
    *,
    spaces: Sequence[str] | None = None,
    hits: Sequence[int] = (1, 2, 5),
    progress: bool = True,
) -> Report:
    """Evaluate a fitted model on the test parts of a data set.

    Samples are read a chunk at a time, and scores are never all in memory.

    Parameters
    ----------
    model : estimator
        Fitted to the training part (trainval) of the data set; of a search the best model.
    dataset : Dataset
        With a part "test_unseen" and, for generalized recognition, "test_seen".
    spaces : sequence of {"semantic", "visual", "concept"}, optional
        Where to recognise; by default wherever the model can, its own space first.
    hits : sequence of int, default (1, 2, 5)
        The k of hit@k; those above the number of candidates are left out.
    progress : bool, default True
        Whether to show progress, on stderr if it is a terminal.

    Returns
    -------
    Report
        Standard recognition (unseen samples among unseen classes) and generalized recognition (seen and unseen samples
        among all classes; those of seen classes that the model was not trained on are left out), each per class and per
        sample; a table of classes, the commonest confusions, the seen-unseen curve, settings, timings and versions. As
        text, Markdown, JSON or an HTML page.
    """
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    dataset = dataset.with_labels_of(model.class_table_)
    unseen = _checked_unseen(model, dataset)
    trained: list[Label] = model.classes_.tolist()
    known = set(trained)
    dataset = dataset.without("test_seen", [label for label in dataset.seen if label not in known])
    n_seen, n_unseen = len(dataset.rows("test_seen")), len(dataset.rows("test_unseen"))
    wanted = _wanted_spaces(model, spaces)
    started = time.perf_counter()
    results: list[SpaceResult] = []
    tallies: list[tuple[Tally, Tally | None]] = []
    total = len(wanted) * (n_unseen * (2 if n_seen else 1) + n_seen)
    with Progress("evaluating", total, "samples", enabled=progress) as line:
        count = _Counter(line)
        for space in wanted:
            standard, among_unseen = _standard(model, dataset, unseen, space, hits, count)
            result, among_all = SpaceResult(space, standard), None
            if n_seen:
                generalized, among_all = _generalized(model, dataset, trained, unseen, space, count)
                result = replace(result, generalized=generalized)
            results.append(result)
            tallies.append((among_unseen, among_all))
    own, own_among_all = tallies[0]
    return Report(
        dataset=_about_dataset(dataset, trained, unseen),
        model=_about_model(model),
        results=results,
        classes=_class_rows(own, own_among_all, set(unseen)),
        confusions=_confusions(own),
        confusion_matrix=ConfusionMatrix([str(label) for label in unseen], own.matrix(unseen).tolist()),
        objective=Objective(
            [float(value) for value in getattr(model, "objective_", [])], bool(getattr(model, "converged_", True))
        ),
        timings={**model.timings_, "evaluation": time.perf_counter() - started},
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions of what was at work."""
    return {
        "jcmspl": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


class _Counter:
    """Passes chunks on and tells how many samples have gone by."""

    def __init__(self, line: Progress) -> None:
        self._line, self._done = line, 0

    def __call__(self, chunks: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
        for X, y in chunks:
            yield X, y
            self._done += len(X)
            self._line.update(self._done)


def _checked_unseen(model: Any, dataset: Any) -> list[Label]:
    unseen: list[Label] = list(dataset.unseen)
    if not unseen:
        raise ValueError(f"the data set {dataset.name} has no samples of unseen classes to test with")
    both = [label for label in unseen if label in set(model.classes_.tolist())]
    if both:
        raise ValueError(
            f"the model was trained on {both[0]!r}, which is an unseen class of {dataset.name}: "
            "it would be tested on what it was trained on"
        )
    if dataset.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the samples of {dataset.name} have {dataset.X.shape[1]} features, but the model expects "
            f"{model.n_features_in_}"
        )
    return unseen


def _wanted_spaces(model: Any, spaces: Sequence[str] | None) -> list[str]:
    if spaces is not None:
        return list(spaces)
    available = getattr(model, "SPACES", SPACES)
    own = getattr(model, "space", available[0])
    return [own, *(space for space in available if space != own)]


def _recogniser(model: Any, dataset: Any, labels: list[Label], space: str) -> Any:
    return model.recogniser(class_vectors=dataset.classes, candidates=labels, space=space, seen_bias=None)


def _standard(
    model: Any, dataset: Any, unseen: list[Label], space: str, hits: Sequence[int], count: _Counter
) -> tuple[Standard, Tally]:
    recogniser = _recogniser(model, dataset, unseen, space)
    ks = sorted({k for k in hits if 1 <= k <= len(unseen)} | {1})
    tally = Tally(ks[-1])
    for X, y in count(dataset.chunks("test_unseen")):
        tally.update(y, recogniser.labels[recogniser.top_k(X, ks[-1])[0]].tolist())
    rates = {k: HitRate(tally.per_class(k), tally.per_sample(k)) for k in ks}
    return Standard(tally.per_class(), tally.per_sample(), rates), tally


def _generalized(
    model: Any, dataset: Any, trained: list[Label], unseen: list[Label], space: str, count: _Counter
) -> tuple[Generalized, Tally]:
    recogniser = _recogniser(model, dataset, [*trained, *unseen], space)
    tally = Tally(1)
    kinds = (_recogniser(model, dataset, trained, space), _recogniser(model, dataset, unseen, space))

    def chunks() -> Iterable[tuple[Any, Any]]:
        for part in ("test_seen", "test_unseen"):
            for X, y in count(dataset.chunks(part)):
                tally.update(y, recogniser.labels[recogniser.top_k(X, 1)[0]].tolist())
                yield X, y

    curve = generalized_curve(*kinds, chunks())
    best = curve.best_bias()
    shares, known = tally.shares(), set(trained)
    own_seen, own_unseen = (
        float(np.mean([share for label, share in shares.items() if (label in known) == kind])) for kind in (True, False)
    )
    found = Generalized(
        *_with_harmonic_mean(own_seen, own_unseen),
        seen_bias=model._bias_in(space),
        uncalibrated=Uncalibrated(*_with_harmonic_mean(*curve.accuracies(0.0))),
        best_on_test_data=BestOnTestData(best, *_with_harmonic_mean(*curve.accuracies(best))),
        ausuc=curve.area(),
        curve=_points(curve),
    )
    return found, tally


def _with_harmonic_mean(acc_seen: Any, acc_unseen: Any) -> tuple[float, float, float]:
    return float(acc_seen), float(acc_unseen), harmonic_mean(float(acc_seen), float(acc_unseen))


def _points(curve: SeenUnseenCurve) -> list[list[float]]:
    """Return points (accuracy on unseen, accuracy on seen) along the curve."""
    biases = curve.biases()
    chosen = np.unique(np.linspace(0, len(biases) - 1, _CURVE_POINTS).round().astype(int))
    seen, unseen = curve.accuracies(biases[chosen])
    return [[float(u), float(s)] for u, s in zip(unseen, seen, strict=True)]


def _class_rows(standard: Tally, generalized: Tally | None, unseen: set[Label]) -> list[ClassRow]:
    counts = generalized.counts if generalized else standard.counts
    shares = standard.shares()
    everywhere = generalized.shares() if generalized else {}
    rows = [
        ClassRow(
            label=str(label),
            kind="unseen" if label in unseen else "seen",
            samples=samples,
            standard=shares.get(label),
            generalized=everywhere.get(label),
        )
        for label, samples in counts.items()
    ]
    return sorted(
        rows, key=lambda row: (row.kind != "unseen", -(row.standard or 0), -(row.generalized or 0), row.label)
    )


def _confusions(tally: Tally) -> list[Confusion]:
    counts = tally.counts
    return [
        Confusion(str(true), str(named), samples, samples / counts[true])
        for true, named, samples in tally.worst_confusions()
    ]


def _about_dataset(dataset: Any, trained: list[Label], unseen: list[Label]) -> DatasetSummary:
    names = set(trained)
    labels = list(dataset.classes)
    training = sum(labels[number] in names for number in dataset.class_numbers[dataset.rows("trainval")])
    return DatasetSummary(
        name=dataset.name,
        source=dataset.source,
        n_features=int(dataset.X.shape[1]),
        n_attributes=dataset.classes.n_attributes,
        n_seen_classes=len(trained),
        n_unseen_classes=len(unseen),
        samples={"trainval": training, **{part: len(dataset.rows(part)) for part in ("test_seen", "test_unseen")}},
        chance=1 / len(unseen),
    )


def _about_model(model: Any) -> ModelSummary:
    projection, n_iter = getattr(model, "visual_projection_", None), getattr(model, "n_iter_", None)
    return ModelSummary(
        name=type(model).__name__,
        parameters={name: _in_json(value) for name, value in model.get_params(deep=False).items()},
        n_concepts=None if projection is None else len(projection),
        n_iter=None if n_iter is None else int(n_iter),
    )


def _in_json(value: Any) -> Any:
    found = plain(value)
    return found if found is None or isinstance(found, (str, int, float, bool)) else repr(value)
