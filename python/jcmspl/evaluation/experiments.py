"""The experiments of the paper, on any data set.

Standard and generalized recognition at the paper's weights and at tuned ones, the ablations, the sensitivity to each
weight and the convergence, each beside the published figures where the data set is one of the paper's.
"""

from __future__ import annotations

import contextlib
import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.search import SPACES
from jcmspl.datasets import Dataset
from jcmspl.evaluation import published
from jcmspl.evaluation.compare import METHODS, fit_or_stop, plain
from jcmspl.evaluation.evaluate import evaluate, versions
from jcmspl.evaluation.metrics import Tally
from jcmspl.io.atomic import write_atomically
from jcmspl.io.json_text import dumps
from jcmspl.model_selection.jcmspl_cv import JCMSPLCV
from jcmspl.models.jcmspl import JCMSPL, WEIGHTS
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.progress import Progress

ABLATIONS = ("FPL", "IPL", "JCMSPL0", "JCMSPL1", "JCMSPL")
# The objective has settled when no further iteration lowers it by more than this part of it.
_SETTLED = 1e-3


@dataclass
class Experiments:
    """The results of :func:`reproduce`, in types that JSON has.

    Attributes
    ----------
    dataset : dict
        Name, source, numbers; "paper" is the data set of the paper that it is, or None.
    standard : list of dict
        Accuracy on unseen classes: setting, weights, space, per_class, per_sample, hit5.
    generalized : list of dict
        setting, space, seen_bias, acc_seen, acc_unseen, harmonic_mean, ausuc.
    ablations : list of dict
        method, parameters, space, per_class.
    sensitivity : dict
        For each weight: values, and accuracies by space; None where a fit diverged.
    convergence : list of dict
        setting, objective, terms, settled (the last iteration that lowers the objective by more than 0.1 %; None if
        that is the last one of all).
    """

    dataset: dict[str, Any]
    tuned: dict[str, Any] = field(default_factory=dict)
    standard: list[dict[str, Any]] = field(default_factory=list)
    generalized: list[dict[str, Any]] = field(default_factory=list)
    ablations: list[dict[str, Any]] = field(default_factory=list)
    sensitivity: dict[str, dict[str, Any]] = field(default_factory=dict)
    convergence: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=versions)

    def to_json(self) -> str:
        """Return all results as JSON."""
        return dumps(asdict(self), indent=1) + "\n"

    def to_html(self) -> str:
        """Return one HTML page with all results."""
        from jcmspl.evaluation.experiments_page import page

        return page(self)

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the tables that are written as CSV, by name."""
        sensitivity = [
            {"weight": name, "value": value, **{space: shares[i] for space, shares in curve["accuracies"].items()}}
            for name, curve in self.sensitivity.items()
            for i, value in enumerate(curve["values"])
        ]
        convergence = [
            {"setting": run["setting"], "iteration": i + 1, "objective": value}
            for run in self.convergence
            for i, value in enumerate(run["objective"])
        ]
        return {
            "standard": self.standard,
            "generalized": self.generalized,
            "ablations": self.ablations,
            "sensitivity": sensitivity,
            "convergence": convergence,
        }

    def save(self, folder: str | Path, *, plots: bool = True, overwrite: bool = False) -> list[Path]:
        """Write report.html, results.json, a CSV of each table and, with matplotlib, plots as PNG and SVG.

        Returns
        -------
        list of the paths that were written
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{folder} is a file: give the name of a folder")
        if folder.is_dir() and any(folder.iterdir()) and not overwrite:
            raise FileExistsError(f"{folder} exists already and is not empty: choose another name or allow overwriting")
        files = {"report.html": self.to_html().encode(), "results.json": self.to_json().encode()}
        files |= {f"{name}.csv": _csv(rows) for name, rows in self.tables().items() if rows}
        if plots:
            from jcmspl.evaluation.experiments_plots import drawn

            files |= drawn(self)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(folder / name, content, overwrite=overwrite)
        return [folder / name for name in files]


def reproduce(
    dataset: Dataset, *, random_state: int = 0, progress: bool = True, max_iter: int = 35, **search: Any
) -> Experiments:
    """Run the experiments of the paper on a data set.

    Parameters
    ----------
    dataset : Dataset
        Without test samples of seen classes, a fifth of the training samples is held out for the generalized setting,
        as in the paper.
    random_state : int, default 0
        Seed of folds, starts and of what is held out.
    progress : bool, default True
    max_iter : int, default 35
        As in the paper.
    **search
        Options of :class:`jcmspl.JCMSPLCV`.

    Returns
    -------
    Experiments
    """
    if not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(0.2, random_state)
    search = {"random_state": random_state, "progress": False, "max_iter": max_iter, **search}
    paper = published.data_set_like(dataset.name, len(dataset.seen), len(dataset.unseen), dataset.classes.n_attributes)
    out = Experiments(_about(dataset, paper))
    X, y = dataset.part("trainval")
    steps = len(ABLATIONS) + len(WEIGHTS) + 3
    with Progress("reproducing", steps, "steps", enabled=progress) as line, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many iterations are what is asked for
        line.announce()
        tuned = fit_or_stop(JCMSPLCV(**search), X, y, dataset)
        best = tuned.best_estimator_
        out.tuned = {
            "parameters": {name: plain(value) for name, value in tuned.best_params_.items()},
            "cv_score": tuned.best_score_,
            "cv_error": tuned.best_score_std_,
        }
        line.update(1, "tuned")
        settings = {"tuned": best, "default": JCMSPL(max_iter=max_iter).fit(X, y, class_vectors=dataset.classes)}
        if paper is not None:
            weights: dict[str, Any] = dict(published.SETTINGS[paper])
            at_paper = JCMSPL(**weights, max_iter=max_iter, init="random", random_state=random_state)
            settings["paper's weights"] = at_paper.fit(X, y, class_vectors=dataset.classes)
        for name, model in settings.items():
            with contextlib.suppress(ValueError):  # too few classes or samples to calibrate with
                model.calibrate(X, y)
            _standard_and_generalized(out, name, model, dataset)
        line.update(2, "recognition")
        _ablations(out, tuned, dataset, X, y, search, line)
        _sensitivity(out, best, dataset, X, y, line)
        _convergence(out, settings, dataset, X, y, max_iter, random_state)
        line.update(steps, "convergence")
    return out


def _about(dataset: Dataset, paper: str | None) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "source": dataset.source,
        "paper": paper,
        "n_seen": len(dataset.seen),
        "n_unseen": len(dataset.unseen),
        "n_attributes": dataset.classes.n_attributes,
        "n_features": dataset.n_features,
        "samples": {part: len(dataset.rows(part)) for part in ("trainval", "test_seen", "test_unseen")},
    }


def _standard_and_generalized(out: Experiments, name: str, model: JCMSPL, dataset: Dataset) -> None:
    weights = {weight: float(getattr(model, weight)) for weight in WEIGHTS}
    for result in evaluate(model, dataset, spaces=list(SPACES), progress=False).data["results"]:
        standard, generalized = result["standard"], result["generalized"]
        common = {"setting": name, "space": result["space"]}
        hit5 = standard["hits"].get("5", {}).get("per_sample")
        figures = {"per_class": standard["per_class"], "per_sample": standard["per_sample"], "hit5": hit5}
        out.standard.append({**common, **weights, **figures})
        keys = ("seen_bias", "acc_seen", "acc_unseen", "harmonic_mean", "ausuc")
        for kind, found in (("", generalized["uncalibrated"]), (", calibrated", generalized)):
            row = {key: found.get(key) for key in keys}
            row["seen_bias"] = found.get("seen_bias", 0.0)
            row["ausuc"] = generalized["ausuc"]
            out.generalized.append({"setting": name + kind, "space": result["space"], **row})


def _ablations(
    out: Experiments, tuned: JCMSPLCV, dataset: Dataset, X: Any, y: Any, search: dict[str, Any], line: Progress
) -> None:
    for number, method in enumerate(ABLATIONS):
        options = {key: value for key, value in search.items() if key != "max_iter"} if method == "FPL" else search
        model = tuned if method == "JCMSPL" else fit_or_stop(METHODS[method](**options), X, y, dataset)
        found = _accuracy(model.best_estimator_, model.best_estimator_.space, dataset)
        parameters = {name: plain(value) for name, value in model.best_params_.items()}
        row = {
            "method": method,
            "space": model.best_estimator_.space,
            "cv_score": model.best_score_,
            "per_class": found,
        }
        out.ablations.append({**row, "parameters": parameters})
        line.update(3 + number, f"ablation {method}")


def _sensitivity(out: Experiments, best: JCMSPL, dataset: Dataset, X: Any, y: Any, line: Progress) -> None:
    """Vary each weight over the paper's range; all fits share the statistics of the tuned model."""
    statistics = best.statistics_
    for number, weight in enumerate(WEIGHTS):
        low, high = published.RANGES[weight]
        values = [10.0**power for power in range(low, high + 1)]
        accuracies: dict[str, list[float | None]] = {space: [] for space in SPACES}
        for value in values:
            model = JCMSPL(**{**best.get_params(), weight: value, "progress": False})
            try:
                model.fit_from_statistics(statistics, best.classes_, class_vectors=dataset.classes)
            except DivergenceError:
                for shares in accuracies.values():
                    shares.append(None)
                continue
            for space, shares in accuracies.items():
                shares.append(_accuracy(model, space, dataset))
        out.sensitivity[weight] = {
            "values": values,
            "accuracies": accuracies,
            "chosen": float(getattr(best, weight)),
        }
        line.update(3 + len(ABLATIONS) + number, f"sensitivity to {weight}")


def _convergence(
    out: Experiments, settings: dict[str, JCMSPL], dataset: Dataset, X: Any, y: Any, max_iter: int, seed: int
) -> None:
    """Follow the descent from a random start, as in the paper."""
    for name, model in settings.items():
        parameters = {**model.get_params(), "init": "random", "random_state": seed, "max_iter": max_iter, "tol": 0.0}
        run = JCMSPL(**parameters).fit_from_statistics(model.statistics_, model.classes_, class_vectors=dataset.classes)
        objective = run.objective_
        moving = np.flatnonzero(-np.diff(objective) > _SETTLED * np.abs(objective[1:]))
        settled = int(moving[-1]) + 2 if len(moving) else 1
        out.convergence.append(
            {
                "setting": name,
                "objective": objective.tolist(),
                "terms": run.objective_terms_.tolist(),
                "settled": settled if settled < len(objective) else None,
            }
        )


def _accuracy(model: Any, space: str, dataset: Dataset) -> float:
    recogniser = model.recogniser(class_vectors=dataset.classes, candidates=list(dataset.unseen), space=space)
    tally = Tally(1)
    for X, y in dataset.chunks("test_unseen"):
        tally.update(y, recogniser.labels[recogniser.top_k(X, 1)[0]].tolist())
    return tally.per_class()


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    flat = [{name: value for name, value in row.items() if not isinstance(value, dict)} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().encode()
