"""Evaluation: one call, one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.labels import Label
from jcmspl.evaluation import bootstrap, findings
from jcmspl.evaluation.base_to_new import base_to_new
from jcmspl.evaluation.base_to_new_report import BaseToNew
from jcmspl.evaluation.examples import MOST, examples
from jcmspl.evaluation.metrics import Tally, harmonic_mean
from jcmspl.evaluation.report import Report
from jcmspl.evaluation.trained_on import trained_on, warn_or_refuse, with_test_parts
from jcmspl.evaluation.versions import versions
from jcmspl.io.json_text import plain
from jcmspl.model.adapting import require_adaptable
from jcmspl.model.calibration import SeenUnseenCurve, generalized_curve
from jcmspl.model.open_set import Threshold, area
from jcmspl.model.prediction import default_bias
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.rejection import LEAST_CANDIDATES, TwoLooks, TwoLooksAt
from jcmspl.support.arguments import as_count, one_of
from jcmspl.support.names import PROTOCOLS
from jcmspl.support.progress import Progress
from jcmspl.support.shown import quoted, shown

# Points of the curve that a report keeps: more cannot be told apart in a plot.
_CURVE_POINTS = 200
_HITS = (1, 2, 5)

_Chunks = Iterator[tuple[Any, Any]]


@overload
def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: Literal["zero-shot"] = ...,
    spaces: Sequence[str] | None = ...,
    hits: Sequence[int] = ...,
    adapt: bool = ...,
    open_set: bool = ...,
    n_examples: int = ...,
    allow_trained: bool = ...,
    progress: bool = ...,
) -> Report: ...


@overload
def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: Literal["base-to-new"],
    shots: Any = ...,
    base: str | Iterable[Label] | None = ...,
    n_draws: int = ...,
    random_state: int = ...,
    progress: bool = ...,
) -> BaseToNew: ...


def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: str = PROTOCOLS[0],
    spaces: Sequence[str] | None = None,
    hits: Sequence[int] = _HITS,
    adapt: bool = False,
    open_set: bool = False,
    n_examples: int = MOST,
    allow_trained: bool = True,
    shots: Any = None,
    base: str | Iterable[Label] | None = None,
    n_draws: int = 1,
    random_state: int = 0,
    progress: bool = True,
) -> Report | BaseToNew:
    """Evaluate a fitted model on the test parts of a data set, or a model that is fitted here by another protocol.

    Samples are read a chunk at a time, and scores are never all in memory.

    Parameters
    ----------
    model : estimator
        Fitted to the training part (trainval) of the data set; of a search the best model. With
        ``protocol="base-to-new"`` a copy of it is fitted, be it fitted or not; None is ``JCMSPL()``.
    dataset : Dataset
        With a part "test_unseen" and, for generalized recognition, "test_seen". Where nothing says what to test with,
        it is what the model was not trained on: all samples of other classes and, of its own, those that were held out
        of the fit.
    protocol : {"zero-shot", "base-to-new"}, default "zero-shot"
        "base-to-new": half of the classes, the base ones, have a few labelled samples, to which the model is fitted.
        Test samples of base classes are recognised among base classes, those of new classes among new ones, and both
        among all classes. The options below from shots on are for it, those before them for "zero-shot".
    spaces : sequence of {"semantic", "visual", "concept"}, optional
        Where to recognise; by default wherever the model can, its own space first.
    hits : sequence of int, default (1, 2, 5)
        The k of hit@k; those above the number of candidates are left out.
    adapt : bool, default False
        Whether to test the model in the visual space once more, adapted to the test samples without their labels:
        to those of unseen classes among these, and to all of them among all classes. It is called transductive in the
        report, and is not to be compared with methods that see one test sample at a time. The model that was given
        does not change; an adaptation of its own is left out of the evaluation.
    open_set : bool, default False
        Whether to tell, too, how well samples of unseen classes are told from strangers by their best score: each test
        sample is looked at with all unseen classes as candidates, and with its own left out. If the model has chosen a
        threshold (``calibrate_rejection``), what that does to both.
    n_examples : int, default 24
        How many samples of unseen classes the report shows at most, half of them wrong ones, with what spoke for the
        name that they got: drawn by chance, the classes in turn, with the pictures that ``dataset.ids`` names. Without
        ids there are none.
    allow_trained : bool, default True
        A model knows by hashes which samples it was trained on, and a TrainedOnWarning tells how many of them are among
        the test samples. False: where these are most of the samples of seen, or of unseen classes, ValueError is
        raised.
    shots : int, "all" or a sequence of these, default "all"
        How many training samples of each base class the model is fitted to: one fit for each number. More samples
        include fewer, and a class that has not so many gives all.
    base : {"first", "random", "own"} or list of labels, optional
        The base classes: the first half of those with samples, in the order of the class vectors; a random half; or the
        data set's own seen classes, which is the default where it has unseen ones. Samples to test with are those of
        "test_seen" and "test_unseen", or a fifth of each class where there are none.
    n_draws : int, default 1
        How many times samples, and with base="random" halves, are drawn.
    random_state : int, default 0
        The seed of the first draw; those that follow it are the seeds of the others.
    progress : bool, default True
        Whether to show progress, on stderr if it is a terminal.

    Returns
    -------
    Report
        Standard recognition (unseen samples among unseen classes) and generalized recognition (seen and unseen samples
        among all classes; those of seen classes that the model was not trained on are left out), each per class and per
        sample, with 95 % intervals of a bootstrap over classes; a table of classes, the commonest confusions, the
        seen-unseen curve, settings, timings and versions. As text, Markdown, JSON or an HTML page.
    BaseToNew
        With ``protocol="base-to-new"``: per-class accuracies on base and on new classes, their harmonic mean, and
        generalized ones, for each number of shots and, where samples and class vectors have one length, for the plain
        cosine without training. In the same forms.

    Examples
    --------
    >>> from jcmspl import JCMSPL, evaluate
    >>> from jcmspl.datasets import load_digits
    >>> digits = load_digits()
    >>> X, y = digits.part("trainval")
    >>> model = JCMSPL().fit(X, y, class_vectors=digits.classes)
    >>> report = evaluate(model, digits, spaces=["visual"])
    >>> report.accuracy > 1 / 3, report.harmonic_mean > 0
    (True, True)
    >>> report.save("report.html")  # doctest: +SKIP
    >>> found = evaluate(JCMSPL(), digits, protocol="base-to-new", shots=[2, 8], base="first")
    >>> [row.shots for row in found.rows], found.row(8).base > found.row(2).base
    ([2, 8], True)
    """
    if one_of(protocol, "protocol", PROTOCOLS) == PROTOCOLS[1]:
        others = {"spaces": spaces, "adapt": adapt, "open_set": open_set, "hits": hits != _HITS}
        _refuse({**others, "n_examples": n_examples != MOST, "allow_trained": not allow_trained}, protocol)
        draws: dict[str, Any] = {"n_draws": n_draws, "random_state": random_state}
        return base_to_new(model, dataset, shots=shots, base=base, progress=progress, **draws)
    others = {"shots": shots is not None, "base": base is not None, "n_draws": n_draws != 1}
    _refuse({**others, "random_state": random_state != 0}, protocol)
    most_examples = as_count(n_examples, "n_examples", 0) if getattr(dataset, "ids", None) is not None else 0
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    if hasattr(model, "adapted_"):
        model = copy(model).reset_adaptation()
    dataset = with_test_parts(model, dataset)
    trained: list[Label] = model.classes_.tolist()
    unseen: list[Label] = list(dataset.unseen)
    _check(model, dataset)
    dataset = dataset.without("test_seen", set(dataset.seen) - set(trained))
    n_seen, n_unseen = len(dataset.rows("test_seen")), len(dataset.rows("test_unseen"))
    found_again = trained_on(model, dataset)
    warn_or_refuse(found_again, {"test_seen": n_seen, "test_unseen": n_unseen}, allow=allow_trained)
    if spaces is None:
        spaces = [model.own_space, *(space for space in model.SPACES if space != model.own_space)]
    runs = [(space, False) for space in spaces] + [("visual", True)] * adapt
    if adapt:
        _require_adaptable(model, spaces)
    started, done = time.perf_counter(), 0
    results: list[findings.SpaceResult] = []
    tallies: list[tuple[Tally, Tally | None]] = []
    if open_set and len(unseen) < LEAST_CANDIDATES:
        raise ValueError("the test data has one unseen class alone, which cannot be left out: leave open_set out")
    total = len(runs) * (n_unseen * (2 if n_seen else 1) + n_seen) + open_set * len(spaces) * n_unseen
    named: list[Label] = []  # what samples of unseen classes were taken for in the first space, if it will be shown
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
                recogniser, _ = _adapted(model, dataset, unseen, "test_unseen")
            else:
                recogniser = partial(model.recogniser, class_vectors=dataset.classes, space=space)
            standard, among_unseen = _standard(
                recogniser(candidates=unseen),
                len(unseen),
                hits,
                chunks,
                None if results or not most_examples else named,
            )
            generalized, among_all = None, None
            if n_seen:
                bias = model.bias_in(space)
                if transductive:
                    recogniser, bias = _adapted(model, dataset, [*trained, *unseen], "test_seen", "test_unseen")
                generalized, among_all = _generalized(recogniser, trained, unseen, bias, chunks)
            strangers = None
            if open_set and not transductive:
                chosen = getattr(model, "rejection_", {}).get((space, getattr(model, "metric", None), "unseen"))
                strangers = _open_set(recogniser(candidates=unseen), chosen, chunks)
            results.append(findings.SpaceResult(space, standard, generalized, transductive, strangers))
            tallies.append((among_unseen, among_all))
    own, own_among_all = tallies[0]
    found = bootstrap.intervals(tallies, unseen)
    return Report(
        dataset=_about_dataset(model, dataset, trained, unseen),
        model=_about_model(model),
        results=[replace(result, intervals=one) for result, one in zip(results, found, strict=True)],
        classes=_class_rows(own, own_among_all, set(unseen)),
        confusions=[
            findings.Confusion(str(true), str(named), samples, samples / own.counts[true])
            for true, named, samples in own.worst_confusions()
        ],
        confusion_matrix=findings.ConfusionMatrix([str(label) for label in unseen], own.matrix(unseen).tolist()),
        objective=findings.Objective(
            [float(one) for one in getattr(model, "objective_", [])], getattr(model, "converged_", True)
        ),
        timings={**model.timings_, "evaluation": time.perf_counter() - started},
        versions=versions(),
        bootstrap=bootstrap.SETTINGS,
        examples=examples(model, dataset, unseen, spaces[0], named, most_examples) if most_examples else [],
        trained_on=found_again,
    )


def _refuse(options: dict[str, Any], protocol: str) -> None:
    """Refuse options of the other protocol."""
    if given := [name for name, is_given in options.items() if is_given]:
        raise ValueError(
            f"{', '.join(given)}: protocol={protocol!r} does not have this option. Leave it out, or choose "
            f"protocol={PROTOCOLS[protocol == PROTOCOLS[0]]!r}"
        )


def _check(model: Any, dataset: Any) -> None:
    """Refuse data that the model cannot be tested on."""
    if not dataset.unseen:
        raise ValueError(
            f"the data set {shown(dataset.name)} has no samples of unseen classes to test with: the model was trained "
            "on all of its classes"
        )
    trained = set(model.classes_.tolist())
    if both := [label for label in dataset.unseen if label in trained]:
        raise ValueError(
            f"the model was trained on {quoted(both[0])}, which is an unseen class of {shown(dataset.name)}: "
            "it would be tested on what it was trained on"
        )
    if dataset.n_features != model.n_features_in_:
        raise ValueError(
            f"the samples of {shown(dataset.name)} have {dataset.n_features} features, but the model expects "
            f"{model.n_features_in_}"
        )


def _require_adaptable(model: Any, spaces: Sequence[str]) -> None:
    """Refuse to adapt a model that cannot be, or where nobody would see it."""
    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave adapt=True (--adapt) out")
    if "visual" not in spaces:
        raise ValueError(
            "a model is adapted to samples in the visual space: leave adapt=True (--adapt) out, or add that space"
        )
    require_adaptable(copy(model).set_params(space="visual"))


def _adapted(model: Any, dataset: Any, candidates: list[Label], *parts: str) -> tuple[Callable[..., Recogniser], float]:
    """Adapt a copy of the model to the samples of some parts; return what makes recognisers, and its bias."""
    twin = copy(model).set_params(space="visual")
    samples = dataset.unlabelled(*parts)
    twin.adapt(samples, class_vectors=dataset.classes, candidates=candidates, seen_penalty=twin.seen_penalty_)
    bias = default_bias(twin, dataset.classes, candidates)
    return partial(twin.recogniser, class_vectors=dataset.classes), bias


def _standard(
    recogniser: Recogniser,
    n_candidates: int,
    hits: Sequence[int],
    chunks: Callable[[str], _Chunks],
    named: list[Label] | None,
) -> tuple[findings.Standard, Tally]:
    ks = sorted({k for k in hits if 1 <= k <= n_candidates} | {1})
    tally = Tally(ks[-1])
    for X, y in chunks("test_unseen"):
        best = tally.recognise(recogniser, X, y)
        if named is not None:
            named += [row[0] for row in best]
    rates = {k: findings.HitRate(tally.per_class(k), tally.per_sample(k)) for k in ks}
    return findings.Standard(tally.per_class(), tally.per_sample(), rates), tally


def _open_set(recogniser: Recogniser, chosen: Threshold | None, chunks: Callable[[str], _Chunks]) -> findings.OpenSet:
    look = TwoLooksAt(recogniser)
    known, strangers = TwoLooks.joined([look(X, y) for X, y in chunks("test_unseen")])
    if chosen is None:
        return findings.OpenSet(area(known, strangers))
    shares = (float(np.mean(scores < chosen.value)) for scores in (known, strangers))
    return findings.OpenSet(area(known, strangers), chosen.value, *shares)


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
        *_with_harmonic_mean(own_seen, own_unseen),
        seen_bias=bias,
        uncalibrated=findings.Accuracies(*_with_harmonic_mean(*curve.accuracies(0.0))),
        best_on_test_data=findings.BestOnTestData(*_with_harmonic_mean(*curve.accuracies(best)), seen_bias=best),
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
    points: list[list[float]] = np.column_stack(curve.accuracies(biases[chosen])[::-1]).tolist()
    return points


def _class_rows(standard: Tally, generalized: Tally | None, unseen: set[Label]) -> list[findings.ClassRow]:
    shares, everywhere = standard.shares(), generalized.shares() if generalized else {}
    rows = [
        findings.ClassRow(
            str(label), "unseen" if label in unseen else "seen", samples, shares.get(label), everywhere.get(label)
        )
        for label, samples in (generalized or standard).counts.items()
    ]
    return sorted(
        rows, key=lambda row: (row.kind != "unseen", -(row.standard or 0), -(row.generalized or 0), row.label)
    )


def _about_dataset(model: Any, dataset: Any, trained: list[Label], unseen: list[Label]) -> findings.DatasetSummary:
    names, labels = set(trained), list(dataset.classes)
    training = sum(labels[number] in names for number in dataset.class_numbers[dataset.rows("trainval")])
    if not training:  # they are elsewhere
        training = round(model.state.n_training_samples)
    return findings.DatasetSummary(
        name=dataset.name,
        source=dataset.source,
        n_features=dataset.n_features,
        n_attributes=dataset.classes.n_attributes,
        n_seen_classes=len(trained),
        n_unseen_classes=len(unseen),
        samples={"trainval": training, **{part: len(dataset.rows(part)) for part in ("test_seen", "test_unseen")}},
        chance=1 / len(unseen),
    )


def _about_model(model: Any) -> findings.ModelSummary:
    alignment = getattr(model, "alignment_", None)
    parameters = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    return findings.ModelSummary(
        name=type(model).__name__,
        parameters={
            name: value if value is None or isinstance(value, (str, int, float)) else repr(value)
            for name, value in parameters.items()
        },
        n_concepts=len(model.visual_projection_) if "n_concepts" in parameters else None,
        n_iter=getattr(model, "n_iter_", None),
        alignment=None if alignment is None else str(alignment),
        cosine_share=None if alignment is None else model.cosine_share_,
    )
