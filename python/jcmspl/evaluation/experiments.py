"""The experiments of the paper, on any data set.

Standard and generalized recognition with the paper's settings, our defaults and tuned parameters; ablations,
sensitivity to each weight, convergence. Published figures are shown beside them for the paper's data sets.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.scoring import SPACES
from jcmspl.datasets.dataset import Dataset
from jcmspl.evaluation import experiment_report as results
from jcmspl.evaluation import published
from jcmspl.evaluation.accuracy import Tally
from jcmspl.evaluation.compare import fit_or_stop, tunable_methods
from jcmspl.evaluation.evaluate import evaluate
from jcmspl.evaluation.findings import versions
from jcmspl.evaluation.published import Literature
from jcmspl.evaluation.trained_on import with_seen_and_unseen
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.io.json_text import plain
from jcmspl.methods.jcmspl import JCMSPL, WEIGHTS
from jcmspl.model_selection.jcmspl_cv import JCMSPLCV
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.progress import Progress
from jcmspl.support.warn import warn_user

ABLATIONS = ("FPL", "IPL", "JCMSPL0", "JCMSPL1", "JCMSPL")
# The objective has settled when no further iteration lowers it by more than this share.
_SETTLED = 1e-3
# The data set whose weights are used if the paper does not have the data set.
_WEIGHTS_OF = "CUB"
# Replaces an infinite weight if codes are not pinned: larger weights change little and converge slowly.
_LARGE = 1e3


def reproduce(
    dataset: Dataset, *, random_state: int = 0, progress: bool = True, max_iter: int = 35, **search: Any
) -> results.Experiments:
    """Run the experiments of the paper on a data set.

    Figures of other papers are shown beside the results if the folder of the environment variable JCMSPL_DATA has a
    file published/published.csv.

    Parameters
    ----------
    dataset : Dataset
        Without test samples of seen classes, a fifth of the training samples is held out for generalized recognition,
        as in the paper.
    random_state : int, default 0
        Seed of folds, starts and held-out samples.
    progress : bool, default True
    max_iter : int, default 35
        As in the paper.
    **search
        Options of :class:`jcmspl.JCMSPLCV`.

    Returns
    -------
    Experiments
    """
    dataset = with_seen_and_unseen(dataset, random_state)
    search = {"random_state": random_state, "progress": False, "max_iter": max_iter, **search}
    paper = published.data_set_like(dataset.name, len(dataset.seen), len(dataset.unseen), dataset.classes.n_attributes)
    literature = Literature.of(dataset.name, paper)
    X, y = dataset.part("trainval")
    steps = len(ABLATIONS) + len(WEIGHTS) + 3
    with Progress("reproducing", steps, "steps", enabled=progress) as line, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper stops after so many iterations, too
        line.announce()
        tuned = fit_or_stop(JCMSPLCV(**search), X, y, dataset)
        best = tuned.best_estimator_
        line.update(1, "tuned")
        default = JCMSPL(max_iter=max_iter).fit(X, y, class_vectors=dataset.classes)
        settings = _papers_form(paper, dataset, max_iter, random_state) | {"default": default, results.TUNED: best}
        reports = {}
        for name, model in settings.items():
            with contextlib.suppress(ValueError):  # too few classes or samples to calibrate with
                model.calibrate(X, y)
            reports[name] = evaluate(model, dataset, spaces=list(SPACES), n_examples=0, progress=False)
        line.update(2, "recognition")
        ablations = []
        for number, method in enumerate(ABLATIONS):
            ablations.append(_ablation(method, tuned, dataset, X, y, search))
            line.update(3 + number, f"ablation {method}")
        sensitivity = {}
        for number, weight in enumerate(WEIGHTS):
            sensitivity[weight] = _sensitivity(weight, best, dataset)
            line.update(3 + len(ABLATIONS) + number, f"sensitivity to {weight}")
        convergence = [_convergence(name, model, dataset, max_iter, random_state) for name, model in settings.items()]
        line.update(steps, "convergence")
    return results.Experiments(
        dataset=results.ExperimentData(
            name=dataset.name,
            source=dataset.source,
            paper=paper,
            n_seen=len(dataset.seen),
            n_unseen=len(dataset.unseen),
            n_attributes=dataset.classes.n_attributes,
            n_features=dataset.n_features,
            samples={part: len(dataset.rows(part)) for part in ("trainval", "test_seen", "test_unseen")},
        ),
        tuned=results.Tuned(_chosen(tuned), tuned.best_score_, tuned.best_score_stderr_),
        standard=[row for name, model in settings.items() for row in _standard(name, model, reports[name])],
        generalized=[row for name, report in reports.items() for row in _generalized(name, report)],
        ablations=ablations,
        sensitivity=sensitivity,
        convergence=convergence,
        versions=versions(),
        literature=literature,
    )


def _papers_form(paper: str | None, dataset: Dataset, max_iter: int, seed: int) -> dict[str, JCMSPL]:
    """Return the model with the paper's settings by its name here; {} if its fit, without normalisation, diverges."""
    name = "paper's form" if paper else f"paper's form, {_WEIGHTS_OF}'s weights"
    model = JCMSPL.paper(paper or _WEIGHTS_OF, max_iter=max_iter, random_state=seed, progress=False)
    try:
        return {name: model.fit(*dataset.part("trainval"), class_vectors=dataset.classes)}
    except DivergenceError as error:
        warn_user(f"the fit of the paper's form diverged and is left out: {error}", RuntimeWarning)
        return {}


def _standard(setting: str, model: JCMSPL, report: Report) -> Iterator[results.StandardRow]:
    weights = {weight: float(getattr(model, weight)) for weight in WEIGHTS}
    for result in report.results:
        found = result.standard
        hit5 = found.hits[5].per_sample if 5 in found.hits else None
        yield results.StandardRow(
            setting, result.space, **weights, per_class=found.per_class, per_sample=found.per_sample, hit5=hit5
        )


def _generalized(setting: str, report: Report) -> Iterator[results.GeneralizedRow]:
    for result in report.results:
        found = result.generalized
        if found is None:
            continue
        for kind, bias, at in (("", 0.0, found.uncalibrated), (", calibrated", found.seen_bias, found)):
            figures = (at.acc_seen, at.acc_unseen, at.harmonic_mean, found.ausuc)
            yield results.GeneralizedRow(setting + kind, result.space, bias, *figures)


def _ablation(
    method: str, tuned: JCMSPLCV, dataset: Dataset, X: Any, y: Any, search: dict[str, Any]
) -> results.AblationRow:
    options = {key: value for key, value in search.items() if key != "max_iter"} if method == "FPL" else search
    model = tuned if method == "JCMSPL" else fit_or_stop(tunable_methods()[method](**options), X, y, dataset)
    best = model.best_estimator_
    per_class = _accuracy(best, best.own_space, dataset)
    return results.AblationRow(method, best.own_space, model.best_score_, per_class, _chosen(model))


def _sensitivity(weight: str, best: JCMSPL, dataset: Dataset) -> results.Sensitivity:
    """Vary a weight over the paper's range; all fits use the statistics of the tuned model."""
    # other weights may be infinite only while class_match is
    stand_ins = _stand_ins(best, but=weight) if weight == "class_match" else {}
    low, high = published.RANGES[weight]
    values = [10.0**power for power in range(low, high + 1)]
    found: list[dict[str, float | None]] = []
    for value in values:
        model = JCMSPL(**{**best.get_params(), **stand_ins, weight: value, "progress": False})
        try:
            model.fit_from_statistics(best.statistics_, best.classes_, class_vectors=dataset.classes)
            found.append({space: _accuracy(model, space, dataset) for space in SPACES})
        except DivergenceError:
            found.append(dict.fromkeys(SPACES))
    accuracies = {space: [shares[space] for shares in found] for space in SPACES}
    return results.Sensitivity(values, accuracies, float(getattr(best, weight)), stand_ins)


def _convergence(setting: str, model: JCMSPL, dataset: Dataset, max_iter: int, seed: int) -> results.ConvergenceRun:
    """Run the descent from a random start, as in the paper."""
    stand_ins = _stand_ins(model)  # with pinned codes there is no descent
    descent = {"init": "random", "random_state": seed, "max_iter": max_iter, "tol": 0.0, "ensemble_factors": None}
    run = JCMSPL(**{**model.get_params(), **stand_ins, **descent}).fit_from_statistics(
        model.statistics_, model.classes_, class_vectors=dataset.classes
    )
    objective = run.objective_
    moving = np.flatnonzero(-np.diff(objective) > _SETTLED * np.abs(objective[1:]))
    settled = int(moving[-1]) + 2 if len(moving) else 1
    last = settled if settled < len(objective) else None
    return results.ConvergenceRun(setting, objective.tolist(), run.objective_terms_.tolist(), last, stand_ins)


def _stand_ins(model: JCMSPL, but: str = "") -> dict[str, float]:
    """Return finite values for the infinite weights of a model, except one."""
    return {name: _LARGE for name in WEIGHTS if name != but and np.isinf(getattr(model, name))}


def _chosen(search: Any) -> dict[str, Any]:
    return {name: plain(value) for name, value in search.best_params_.items()}


def _accuracy(model: Any, space: str, dataset: Dataset) -> float:
    recogniser = model.recogniser(class_vectors=dataset.classes, candidates=list(dataset.unseen), space=space)
    tally = Tally(1)
    for X, y in dataset.chunks("test_unseen"):
        tally.recognise(recogniser, X, y)
    return tally.per_class()
