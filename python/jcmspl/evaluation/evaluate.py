"""Evaluation: one call, one report."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.search import SPACES
from jcmspl.data.labels import Label
from jcmspl.evaluation.metrics import Tally, harmonic_mean
from jcmspl.evaluation.report import Report
from jcmspl.models.calibration import SeenUnseenCurve, best_bias, generalized_curve
from jcmspl.support.progress import Progress

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
        Fitted to the training part (trainval) of the data set.
    dataset : Dataset
        With a part "test_unseen" and, for generalized recognition, "test_seen".
    spaces : sequence of {"semantic", "visual", "concept"}, optional
        Where to recognise; by default in all three, the model's own first.
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
    check_is_fitted(model)
    dataset = dataset.with_labels_of(model.class_table_)
    unseen = _checked_unseen(model, dataset)
    trained: list[Label] = model.classes_.tolist()
    known = set(trained)
    dataset = dataset.without("test_seen", [label for label in dataset.seen if label not in known])
    generalized = len(dataset.rows("test_seen")) > 0
    wanted = _wanted_spaces(model, spaces)
    started = time.perf_counter()
    results = []
    total = len(wanted) * (
        len(dataset.rows("test_unseen")) * (2 if generalized else 1) + len(dataset.rows("test_seen"))
    )
    with Progress("evaluating", total, "samples", enabled=progress) as line:
        count = _Counter(line)
        for space in wanted:
            results.append(_standard(model, dataset, unseen, space, hits, count))
            if generalized:
                results[-1] |= _generalized(model, dataset, trained, unseen, space, count)
    own = results[0]
    classes = _class_rows(own, dataset)
    return Report(
        {
            "dataset": _about_dataset(dataset, trained, unseen),
            "model": _about_model(model),
            "results": [_without_tallies(result) for result in results],
            "classes": classes,
            "confusions": _confusions(own["standard_tally"]),
            "confusion_matrix": {
                "labels": [str(label) for label in unseen],
                "counts": own["standard_tally"].matrix(unseen).tolist(),
            },
            "objective": {
                "values": [float(value) for value in getattr(model, "objective_", [])],
                "converged": bool(getattr(model, "converged_", True)),
            },
            "timings": {**model.timings_, "evaluation": time.perf_counter() - started},
            "versions": versions(),
        }
    )


def versions() -> dict[str, str]:
    """Return the versions of what was at work."""
    import jcmspl

    return {
        "jcmspl": jcmspl.__version__,
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
    available = getattr(model, "spaces_", SPACES)
    return [model.space, *(space for space in available if space != model.space)]


def _recogniser(model: Any, dataset: Any, labels: list[Label], space: str, seen_bias: float | None = None) -> Any:
    return model.recogniser(class_vectors=dataset.classes, candidates=labels, space=space, seen_bias=seen_bias)


def _standard(
    model: Any, dataset: Any, unseen: list[Label], space: str, hits: Sequence[int], count: _Counter
) -> dict[str, Any]:
    recogniser = _recogniser(model, dataset, unseen, space)
    ks = sorted({k for k in hits if 1 <= k <= len(unseen)} | {1})
    tally = Tally(ks[-1])
    for X, y in count(dataset.chunks("test_unseen")):
        tally.update(y, recogniser.labels[recogniser.top_k(X, ks[-1])[0]].tolist())
    return {
        "space": space,
        "standard": {
            "per_class": tally.per_class(),
            "per_sample": tally.per_sample(),
            "hits": {str(k): {"per_class": tally.per_class(k), "per_sample": tally.per_sample(k)} for k in ks},
        },
        "standard_tally": tally,
    }


def _generalized(
    model: Any, dataset: Any, trained: list[Label], unseen: list[Label], space: str, count: _Counter
) -> dict[str, Any]:
    own_bias = model._bias_in(space)
    recogniser = _recogniser(model, dataset, [*trained, *unseen], space)
    tally = Tally(1)
    kinds = (_recogniser(model, dataset, trained, space), _recogniser(model, dataset, unseen, space))

    def chunks() -> Iterable[tuple[Any, Any]]:
        for part in ("test_seen", "test_unseen"):
            for X, y in count(dataset.chunks(part)):
                tally.update(y, recogniser.labels[recogniser.top_k(X, 1)[0]].tolist())
                yield X, y

    curve = generalized_curve(*kinds, chunks())
    bias = best_bias([curve])
    at = {name: [float(value) for value in curve.accuracies(b)] for name, b in (("plain", 0.0), ("best", bias))}
    shares, trained_set = tally.shares(), set(trained)
    acc_seen, acc_unseen = (
        float(np.mean([share for label, share in shares.items() if (label in trained_set) == kind]))
        for kind in (True, False)
    )
    return {
        "generalized": {
            "acc_seen": acc_seen,
            "acc_unseen": acc_unseen,
            "harmonic_mean": harmonic_mean(acc_seen, acc_unseen),
            "seen_bias": own_bias,
            "uncalibrated": {
                "acc_seen": at["plain"][0],
                "acc_unseen": at["plain"][1],
                "harmonic_mean": harmonic_mean(*at["plain"]),
            },
            "best_on_test_data": {
                "seen_bias": bias,
                "acc_seen": at["best"][0],
                "acc_unseen": at["best"][1],
                "harmonic_mean": harmonic_mean(*at["best"]),
            },
            "ausuc": curve.area(),
            "curve": _points(curve),
        },
        "generalized_tally": tally,
    }


def _points(curve: SeenUnseenCurve) -> list[list[float]]:
    """Return points (accuracy on unseen, accuracy on seen) along the curve."""
    biases = curve.biases()
    chosen = np.unique(np.linspace(0, len(biases) - 1, _CURVE_POINTS).round().astype(int))
    seen, unseen = curve.accuracies(biases[chosen])
    return [[float(u), float(s)] for u, s in zip(unseen, seen, strict=True)]


def _class_rows(result: dict[str, Any], dataset: Any) -> list[dict[str, Any]]:
    standard: Tally = result["standard_tally"]
    generalized: Tally | None = result.get("generalized_tally")
    unseen = set(dataset.unseen)
    counts = generalized.counts if generalized else standard.counts
    shares = standard.shares()
    everywhere = generalized.shares() if generalized else {}
    rows: list[dict[str, Any]] = [
        {
            "label": str(label),
            "kind": "unseen" if label in unseen else "seen",
            "samples": counts[label],
            "standard": shares.get(label),
            "generalized": everywhere.get(label),
        }
        for label in counts
    ]
    return sorted(
        rows,
        key=lambda row: (row["kind"] != "unseen", -(row["standard"] or 0), -(row["generalized"] or 0), row["label"]),
    )


def _confusions(tally: Tally) -> list[dict[str, Any]]:
    counts = tally.counts
    return [
        {"true": str(true), "predicted": str(named), "samples": count, "share": count / counts[true]}
        for true, named, count in tally.worst_confusions()
    ]


def _about_dataset(dataset: Any, trained: list[Label], unseen: list[Label]) -> dict[str, Any]:
    names = set(trained)
    labels = list(dataset.classes)
    training = sum(labels[number] in names for number in dataset.class_numbers[dataset.rows("trainval")])
    return {
        "name": dataset.name,
        "source": dataset.source,
        "n_features": int(dataset.X.shape[1]),
        "n_attributes": dataset.classes.n_attributes,
        "n_seen_classes": len(trained),
        "n_unseen_classes": len(unseen),
        "samples": {"trainval": training, **{part: len(dataset.rows(part)) for part in ("test_seen", "test_unseen")}},
        "chance": 1 / len(unseen),
    }


def _about_model(model: Any) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if value is None or isinstance(value, (str, int, float, bool)):
            return value
        return value.item() if isinstance(value, np.generic) else repr(value)

    return {
        "name": type(model).__name__,
        "parameters": {name: plain(value) for name, value in model.get_params(deep=False).items()},
        "n_concepts": len(model.visual_projection_),
        "n_iter": int(getattr(model, "n_iter_", 1)),
    }


def _without_tallies(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if not name.endswith("_tally")}
