"""The zero-shot protocol: standard, generalized and open-set recognition of a data set by a fitted model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.labels import Label, some
from jcmspl.evaluation import findings, uncertainty
from jcmspl.evaluation.accuracy import Tally
from jcmspl.evaluation.examples import examples
from jcmspl.evaluation.trained_on import trained_on, warn_or_refuse, with_parts, with_test_parts
from jcmspl.evaluation.trust import Trust, trust
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.model.adapting import require_adaptable
from jcmspl.model.calibration import SeenUnseenCurve, generalized_curve
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.known_classes import Call
from jcmspl.model.prediction import default_bias, rivals_for
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.rejection import LEAST_CANDIDATES, TwoLooks, two_looks
from jcmspl.model.threshold import Evidence, Rivals, Threshold, area
from jcmspl.support.arguments import as_count
from jcmspl.support.progress import Progress
from jcmspl.support.shown import quoted, shown
from jcmspl.support.warn import warn_user

#: The default k of hit@k.
HITS = (1, 2, 5)
# Points of the curve in a report: a plot cannot show more.
_CURVE_POINTS = 200

_Chunks = Iterator[tuple[Any, Any]]


def zero_shot(
    model: Any,
    dataset: Any,
    *,
    spaces: Sequence[str] | None,
    hits: Sequence[int],
    adapt: bool,
    open_set: bool,
    n_examples: int,
    allow_trained: bool,
    progress: bool,
) -> Report:
    """Evaluate a fitted model; :func:`jcmspl.evaluate` documents the parameters."""
    most_examples = as_count(n_examples, "n_examples", 0) if getattr(dataset, "ids", None) is not None else 0
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    if hasattr(model, "adapted_"):
        model = copy(model).reset_adaptation()
    dataset = with_test_parts(model, dataset)
    dataset = _with_known_classes(model, dataset)
    trained: list[Label] = model.classes_.tolist()
    unseen: list[Label] = list(dataset.unseen)
    dataset = dataset.without("test_seen", set(dataset.classes) - set(trained))
    _check(model, dataset)
    kind = "unseen" if unseen else "seen"
    part, candidates, table = f"test_{kind}", unseen or trained, dataset.classes if unseen else None
    n_seen, n_unseen = len(dataset.rows("test_seen")), len(dataset.rows("test_unseen"))
    found_again = trained_on(model, dataset)
    warn_or_refuse(found_again, {"test_seen": n_seen, "test_unseen": n_unseen}, allow=allow_trained)
    if not unseen and (adapt or open_set):
        raise ValueError(
            "adapt and open_set (--adapt, --open-set) need samples of unseen classes, but the data have none: leave "
            "them out"
        )
    if spaces is None:
        spaces = [model.own_space, *(space for space in model.SPACES if space != model.own_space)]
    runs = [(space, False) for space in spaces] + [("visual", True)] * adapt
    if adapt:
        _require_adaptable(model, spaces)
    started, done = time.perf_counter(), 0
    results: list[findings.SpaceResult] = []
    tallies: list[tuple[Tally, Tally | None]] = []
    if open_set and len(unseen) < LEAST_CANDIDATES:
        raise ValueError("open_set needs two unseen classes in the test data, but there is one: leave open_set out")
    n_tested, n_all = len(dataset.rows(part)), n_seen + n_unseen if n_seen and n_unseen else 0
    total = (len(runs) + 1) * (n_tested + n_all)
    for space in spaces if open_set else ():
        total += n_unseen + (n_unseen + n_seen) * _tells_kinds(model, space, n_seen)
    named: list[Label] = []  # predictions for samples of unseen classes in the first space, for the examples
    with Progress("evaluating", total, "samples", enabled=progress) as line:

        def chunks(part: str) -> _Chunks:
            nonlocal done
            for X, y in dataset.chunks(part):
                yield X, y
                done += len(X)
                line.update(done)

        for space, transductive in runs:
            recogniser: Callable[..., Recogniser]
            if transductive:
                twin = adapted_twin(model, dataset, unseen, "test_unseen")
                recogniser = partial(twin.recogniser, class_vectors=dataset.classes)
            else:
                recogniser = partial(model.recogniser, class_vectors=table, space=space)
            standard, among_tested = _standard(
                recogniser(candidates=candidates),
                len(candidates),
                hits,
                chunks(part),
                None if results or not most_examples else named,
            )
            generalized, among_all = None, None
            if n_all:
                bias = model.bias_in(space)
                if transductive:
                    every = [*trained, *unseen]
                    twin = adapted_twin(model, dataset, every, "test_seen", "test_unseen")
                    recogniser = partial(twin.recogniser, class_vectors=dataset.classes)
                    bias = default_bias(twin, Call(dataset.classes, every))
                generalized, among_all = _generalized(recogniser, trained, unseen, bias, chunks)
            strangers = None
            if open_set and not transductive:
                strangers = _open_set(model, space, recogniser, unseen, chunks, n_seen)
            results.append(findings.SpaceResult(space, standard, generalized, transductive, strangers))
            tallies.append((among_tested, among_all))
        trusted = []
        if isinstance(model, ZeroShotClassifier):
            first = model if spaces[0] == model.own_space else copy(model).set_params(space=spaces[0])
            trusted.append(trust(first, kind, Call(table, candidates), chunks(part)))
            if n_all:
                both = chain(chunks("test_unseen"), chunks("test_seen"))
                trusted.append(trust(first, "all", Call(table, [*trained, *unseen]), both))
    own, own_among_all = tallies[0]
    found = uncertainty.intervals(tallies, candidates)
    return Report(
        dataset=_about_dataset(model, dataset, trained, unseen),
        model=_about_model(model),
        results=[replace(result, intervals=one) for result, one in zip(results, found, strict=True)],
        classes=_class_rows(own, own_among_all, set(unseen), trusted),
        confusions=[
            findings.Confusion(str(true), str(named), samples, samples / own.counts[true])
            for true, named, samples in own.worst_confusions()
        ],
        confusion_matrix=findings.ConfusionMatrix(
            [str(label) for label in candidates], own.matrix(candidates).tolist()
        ),
        objective=findings.Objective(
            [float(one) for one in getattr(model, "objective_", [])], getattr(model, "converged_", True)
        ),
        timings={**model.timings_, "evaluation": time.perf_counter() - started},
        versions=findings.versions(),
        bootstrap=uncertainty.SETTINGS,
        examples=examples(model, dataset, part, Call(table, candidates), spaces[0], named, most_examples)
        if most_examples
        else [],
        trained_on=found_again,
        trust=[one.found for one in trusted],
    )


def _is_plain(model: Any) -> bool:
    """Tell whether a model is a plain classifier: one that was trained without class vectors."""
    return isinstance(model, ZeroShotClassifier) and model.state.given_table is None


def _with_known_classes(model: Any, dataset: Any) -> Any:
    """Return the data set; of a plain classifier, without class vectors, all test samples of its classes are seen ones.

    Samples of other classes, which it cannot know, are left out with a warning.
    """
    rows = dataset.rows("test_unseen")
    if not _is_plain(model) or not len(rows):
        return dataset
    trained = set(model.classes_.tolist())
    is_known = np.array([label in trained for label in dataset.y[rows].tolist()])
    if strangers := [label for label in dataset.unseen if label not in trained]:
        warn_user(
            f"{(~is_known).sum():,} samples of {len(strangers):,} classes that the model does not know are left out of "
            f"the test: {some(strangers, 5)}. It was trained without class_vectors, as a plain classifier",
            UserWarning,
        )
    seen = np.union1d(dataset.rows("test_seen"), rows[is_known])
    return with_parts(dataset, {"test_seen": seen, "test_unseen": np.empty(0, dtype=np.int64)})


def _check(model: Any, dataset: Any) -> None:
    """Raise ValueError for data that cannot test the model."""
    if not dataset.unseen and not len(dataset.rows("test_seen")):
        raise ValueError(
            f"the data set {shown(dataset.name)} has no samples to test with: the model was trained on all of them, or "
            "does not know their classes. Test with other samples, or hold some out of the fit (test_seen, unseen or "
            "split; --hold-out SHARE, --unseen SHARE or --split FILE)"
        )
    trained = set(model.classes_.tolist())
    if both := [label for label in dataset.unseen if label in trained]:
        raise ValueError(
            f"the model was trained on {quoted(both[0])}, which is an unseen class of {shown(dataset.name)}: "
            "it would be tested on what it was trained on"
        )


def _require_adaptable(model: Any, spaces: Sequence[str]) -> None:
    """Raise ValueError if the model cannot be adapted, or the visual space is not tested."""
    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave adapt=True (--adapt) out")
    if "visual" not in spaces:
        raise ValueError(
            "a model is adapted to samples in the visual space: leave adapt=True (--adapt) out, or add that space"
        )
    require_adaptable(copy(model).set_params(space="visual"))


def adapted_twin(model: Any, dataset: Any, candidates: Any, *parts: str) -> Any:
    """Return a copy of a model in the visual space, adapted to the samples of some parts without their labels."""
    samples = dataset.unlabelled(*parts)
    twin = copy(model).set_params(space="visual")
    return twin.adapt(samples, class_vectors=dataset.classes, candidates=candidates, seen_penalty=twin.seen_penalty_)


def _standard(
    recogniser: Recogniser,
    n_candidates: int,
    hits: Sequence[int],
    chunks: _Chunks,
    named: list[Label] | None,
) -> tuple[findings.Standard, Tally]:
    ks = sorted({k for k in hits if 1 <= k <= n_candidates} | {1})
    tally = Tally(ks[-1])
    for X, y in chunks:
        best = tally.recognise(recogniser, X, y)
        if named is not None:
            named += [row[0] for row in best]
    rates = {k: findings.HitRate(tally.per_class(k), tally.per_sample(k)) for k in ks}
    return findings.Standard(tally.per_class(), tally.per_sample(), rates), tally


def _tells_kinds(model: Any, space: str, n_seen: int) -> bool:
    """Return whether seen, unseen and neither can be told apart: by the two thresholds, on samples of all kinds."""
    groups = ("unseen", "all")
    return n_seen > 0 and all((space, model.own_metric, group) in model.rejection_ for group in groups)


def _open_set(
    model: Any,
    space: str,
    recogniser: Callable[..., Recogniser],
    unseen: list[Label],
    chunks: Callable[[str], _Chunks],
    n_seen: int,
) -> findings.OpenSet:
    among_unseen, among_all = (model.rejection_.get((space, model.own_metric, group)) for group in ("unseen", "all"))
    rivals = None if among_unseen is None else rivals_for(model, among_unseen, space)
    known, strangers = _confidences(recogniser(candidates=unseen), among_unseen, rivals, chunks)
    if among_unseen is None:
        return findings.OpenSet(area(known, strangers))
    lost, rejected = (float(np.mean(scores < among_unseen.value)) for scores in (known, strangers))
    kinds = None
    if among_all is not None and _tells_kinds(model, space, n_seen):
        trained = model.classes_.tolist()
        everywhere = recogniser(candidates=[*trained, *unseen], seen_penalty=model.bias_in(space))
        kinds = _kinds(everywhere, among_all, rivals_for(model, among_all, space), set(trained), chunks)
    return findings.OpenSet(area(known, strangers), among_unseen.value, lost, rejected, kinds)


def _confidences(
    recogniser: Recogniser, chosen: Threshold | None, rivals: Rivals | None, chunks: Callable[[str], _Chunks]
) -> TwoLooks:
    """Return the numbers that are compared with the threshold, or the best scores without one."""
    found = []
    for X, y in chunks("test_unseen"):
        looks = two_looks(X, y, recogniser)
        if chosen is not None and rivals is not None:
            rival = rivals(X)
            looks = TwoLooks(*(chosen.confidence(Evidence(best, rival)) for best in looks))
        found.append(looks)
    return TwoLooks.joined(found)


def _kinds(
    recogniser: Recogniser, chosen: Threshold, rivals: Rivals, trained: set[Label], chunks: Callable[[str], _Chunks]
) -> dict[str, list[float]]:
    """Return the shares of samples that are named a seen class, an unseen class, or neither, by their true kind."""
    is_seen = np.array([label in trained for label in recogniser.labels.tolist()])
    counts = {kind: np.zeros(3) for kind in ("seen", "unseen", "stranger")}
    for part, kind in (("test_seen", "seen"), ("test_unseen", "unseen")):
        for X, y in chunks(part):
            rival, (best, found) = rivals(X), recogniser.best(X, LEAST_CANDIDATES)
            scores = found.astype(np.float64)
            looks = [(kind, np.zeros(len(best), dtype=np.intp))]
            if kind == "unseen":
                looks.append(("stranger", (recogniser.labels[best[:, 0]] == np.asarray(y)).astype(np.intp)))
            for name, column in looks:
                rows = np.arange(len(best))
                rejected = chosen.confidence(Evidence(scores[rows, column], rival)) < chosen.value
                outcome = np.where(rejected, 2, np.where(is_seen[best[rows, column]], 0, 1))
                counts[name] += np.bincount(outcome, minlength=3)
    return {kind: (count / max(count.sum(), 1)).tolist() for kind, count in counts.items()}


def _generalized(
    recogniser: Callable[..., Recogniser],
    trained: list[Label],
    unseen: list[Label],
    bias: float,
    chunks: Callable[[str], _Chunks],
) -> tuple[findings.Generalized, Tally]:
    among_all, tally = recogniser(candidates=[*trained, *unseen], seen_penalty=bias), Tally(1)

    def counted() -> _Chunks:
        for part in ("test_seen", "test_unseen"):
            for X, y in chunks(part):
                tally.recognise(among_all, X, y)
                yield X, y

    curve = generalized_curve(recogniser(candidates=trained), recogniser(candidates=unseen), counted())
    best = curve.best_bias()
    shares, known = tally.shares(), set(trained)
    own_seen, own_unseen = (
        np.mean([share for label, share in shares.items() if (label in known) == kind]) for kind in (True, False)
    )
    found = findings.Generalized(
        **vars(findings.Accuracies.of(own_seen, own_unseen)),
        seen_bias=bias,
        uncalibrated=findings.Accuracies.of(*curve.accuracies(0.0)),
        best_on_test_data=findings.BestOnTestData(
            **vars(findings.Accuracies.of(*curve.accuracies(best))), seen_bias=best
        ),
        ausuc=curve.area(),
        curve=_points(curve),
    )
    return found, tally


def _points(curve: SeenUnseenCurve) -> list[list[float]]:
    """Return points (accuracy on unseen, accuracy on seen classes) along the curve."""
    biases = curve.biases()
    chosen = np.unique(np.linspace(0, len(biases) - 1, _CURVE_POINTS).round().astype(int))
    points: list[list[float]] = np.column_stack(curve.accuracies(biases[chosen])[::-1]).tolist()
    return points


def _class_rows(
    standard: Tally, generalized: Tally | None, unseen: set[Label], trusted: Sequence[Trust]
) -> list[findings.ClassRow]:
    shares, everywhere = standard.shares(), generalized.shares() if generalized else {}
    mistakes = {**(generalized.commonest_mistakes() if generalized else {}), **standard.commonest_mistakes()}
    sets = {label: one for found in reversed(trusted) for label, one in found.of_classes.items()}
    rows = [
        findings.ClassRow(
            str(label),
            "unseen" if label in unseen else "seen",
            samples,
            shares.get(label),
            everywhere.get(label),
            findings.Mistake(str(mistakes[label][0]), mistakes[label][1] / samples) if label in mistakes else None,
            *sets.get(label, ()),
        )
        for label, samples in (generalized or standard).counts.items()
    ]
    return sorted(
        rows, key=lambda row: (row.kind != "unseen", -(row.standard or 0), -(row.generalized or 0), row.label)
    )


def _about_dataset(model: Any, dataset: Any, trained: list[Label], unseen: list[Label]) -> findings.DatasetSummary:
    names, labels = set(trained), list(dataset.classes)
    training = sum(labels[number] in names for number in dataset.class_numbers[dataset.rows("trainval")])
    if not training:  # the training samples are not in this data set
        training = round(model.state.n_training_samples)
    return findings.DatasetSummary(
        name=dataset.name,
        source=dataset.source,
        n_features=dataset.n_features,
        n_attributes=0 if _is_plain(model) else dataset.classes.n_attributes,
        n_seen_classes=len(trained),
        n_unseen_classes=len(unseen),
        samples={"trainval": training, **{part: len(dataset.rows(part)) for part in ("test_seen", "test_unseen")}},
        chance=1 / len(unseen or trained),
    )


def _about_model(model: Any) -> findings.ModelSummary:
    alignment = getattr(model, "alignment_", None)
    parameters = findings.parameters_of(model)
    return findings.ModelSummary(
        name=type(model).__name__,
        parameters=parameters,
        n_concepts=len(model.visual_projection_) if "n_concepts" in parameters else None,
        n_iter=getattr(model, "n_iter_", None),
        alignment=None if alignment is None else str(alignment),
        cosine_share=None if alignment is None else model.cosine_share_,
    )
