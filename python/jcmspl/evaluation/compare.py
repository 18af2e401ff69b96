"""Comparison: every method tuned alike, on the same data, with the noise beside the figures."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.datasets import Dataset, make_split
from jcmspl.evaluation.evaluate import evaluate, versions
from jcmspl.evaluation.findings import Accuracies
from jcmspl.io.json_text import dumps, plain
from jcmspl.model_selection.base import BaseClassSearch
from jcmspl.model_selection.jcmspl_cv import search_for
from jcmspl.models import registry
from jcmspl.report.text import aligned, markdown_heading, markdown_table, markdown_text, percent
from jcmspl.support.progress import Progress
from jcmspl.support.shown import printable, shown


def tunable_methods() -> dict[str, Callable[..., BaseClassSearch]]:
    """Return what makes a search for the parameters of each method of the registry, and of its named variants."""
    return {
        name: partial(search_for, method, fixed)
        for own, method in registry.methods().items()
        for name, fixed in {own: {}, **method.VARIANTS}.items()
    }


@dataclass(frozen=True)
class GeneralizedFigures(Accuracies):
    """Recognition among all classes: accuracies with the bias of the model, and the area under the curve."""

    ausuc: float


@dataclass(frozen=True)
class Row:
    """What one method reached.

    Attributes
    ----------
    method : str
    parameters : dict
        As chosen on the training classes.
    cv_score, cv_error : float
        The accuracy on held-out training classes with these, and its standard error over folds.
    unseen : float
        Per-class accuracy on unseen classes.
    unseen_per_sample : float
    generalized : GeneralizedFigures or None
        Calibrated on training classes.
    repeats : list of float
        Per-class accuracy on the unseen classes of random splits of all classes, tuned anew for each.
    """

    method: str
    parameters: dict[str, Any]
    cv_score: float
    cv_error: float
    unseen: float
    unseen_per_sample: float
    generalized: GeneralizedFigures | None
    repeats: list[float]


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare`.

    Attributes
    ----------
    dataset : str
    n_unseen : int
        How many classes are unseen.
    rows : list of Row
        The best on unseen classes first.
    failures : dict
        Why methods that are not among them could not be fitted.
    """

    dataset: str
    n_unseen: int
    rows: list[Row]
    failures: dict[str, str]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table; the best of each column is marked with a star."""
        columns = {
            "method": [row.method for row in self.rows],
            "held-out classes": [_with_error(row.cv_score, row.cv_error) for row in self.rows],
            "unseen, per class": _marked([row.unseen for row in self.rows]),
            "per sample": _marked([row.unseen_per_sample for row in self.rows]),
        }
        if found := [row.generalized for row in self.rows if row.generalized]:
            columns |= {
                "seen, of all": [percent(one.acc_seen) for one in found],
                "unseen, of all": [percent(one.acc_unseen) for one in found],
                "harmonic mean": _marked([one.harmonic_mean for one in found]),
                "AUSUC": [f"{one.ausuc:.3f}" for one in found],
            }
        if self.rows[0].repeats:
            columns["random splits"] = [
                _with_error(float(np.mean(row.repeats)), float(np.std(row.repeats, ddof=len(row.repeats) > 1)))
                for row in self.rows
            ]
        return list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)]

    def notes(self) -> list[str]:
        """Return what must be known to read the table."""
        notes = [
            "Every method chose its parameters by cross-validation over the training classes (held-out classes: its "
            "accuracy there, ± standard error over folds). * marks the best of a column.",
        ]
        if self.rows[0].generalized:
            notes.append("Among all classes the bias on seen classes is calibrated on training classes.")
        if self.rows[0].repeats:
            notes.append(
                f"Random splits: unseen classes drawn {len(self.rows[0].repeats)} times from all classes, everything "
                "tuned anew; mean ± standard deviation. A lead smaller than that is noise."
            )
        notes += [f"{name} could not be fitted: {printable(reason)}" for name, reason in self.failures.items()]
        return notes

    def to_text(self) -> str:
        """Return the comparison as plain text."""
        title = f"{shown(self.dataset)}: {self.n_unseen} unseen classes, chance {percent(1 / self.n_unseen)}"
        return "\n".join([title, aligned(*self.table()), "", *self.notes()]) + "\n"

    def to_markdown(self) -> str:
        """Return the comparison as Markdown."""
        return (
            "\n".join(
                [
                    markdown_heading(self.dataset),
                    "",
                    *markdown_table(*self.table()),
                    "",
                    *map(markdown_text, self.notes()),
                ]
            )
            + "\n"
        )

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        data = {"dataset": self.dataset, "rows": self.rows, "failures": self.failures, "versions": versions()}
        return dumps(data, indent=1) + "\n"

    def __str__(self) -> str:
        return self.to_text()


def compare(
    dataset: Dataset,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    repeats: int = 3,
    random_state: int = 0,
    progress: bool = True,
    **search: Any,
) -> Comparison:
    """Tune every method on the training classes of a data set, and test all on the same unseen classes.

    Parameters
    ----------
    dataset : Dataset
        Without test samples of seen classes, a fifth of the training samples is held out for them.
    methods : sequence of str, or mapping of str to functions, optional
        Names of methods of the registry or of their variants (default: all), or functions of your own that take the
        search options and return a search.
    repeats : int, default 3
        On how many random splits of all classes to repeat it. 0: none, which saves most of the time, but tells nothing
        of how much the figures depend on which classes are unseen.
    random_state : int, default 0
        Seed of folds and splits.
    progress : bool, default True
    **search
        Options of the search: cv, extend, halving, ...

    Returns
    -------
    Comparison
    """
    chosen = _chosen(methods)
    if not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(0.2, random_state)
    splits = [_random_split(dataset, random_state + number) for number in range(repeats)]
    search = {"random_state": random_state, "progress": False, **search}
    rows, failures = [], {}
    with Progress("comparing", len(chosen) * (1 + repeats), "fits", enabled=progress) as line:
        for number, (name, make) in enumerate(chosen.items()):
            found: list[Row] = []
            try:
                for data in (dataset, *splits):
                    found.append(_row(name, make(**search), data))
                    line.update(number * (1 + repeats) + len(found), name)
            except (ValueError, np.linalg.LinAlgError) as error:
                failures[name] = str(error)  # the others are still worth comparing
                continue
            rows.append(replace(found[0], repeats=[row.unseen for row in found[1:]]))
    if not rows:
        raise ValueError("; ".join(f"{name} failed: {reason}" for name, reason in failures.items()))
    return Comparison(dataset.name, len(dataset.unseen), sorted(rows, key=lambda row: -row.unseen), failures)


def _chosen(methods: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        return dict(methods)
    known = tunable_methods()
    if methods is None:
        return known
    if not methods:
        raise ValueError(f"there are no methods to compare: choose from {', '.join(known)}")
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r}: choose from {', '.join(known)}")
    return {name: known[name] for name in methods}


def _row(name: str, model: Any, dataset: Dataset) -> Row:
    """Tune a method and test it."""
    X, y = dataset.part("trainval")
    fit_or_stop(model, X, y, dataset)
    if len(dataset.rows("test_seen")):
        with warnings.catch_warnings(), contextlib.suppress(ValueError):  # too few classes or samples: no calibration
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.calibrate(X, y)
    result = evaluate(model, dataset, spaces=[model.best_estimator_.own_space], progress=False).results[0]
    figures = None
    if found := result.generalized:
        figures = GeneralizedFigures(found.acc_seen, found.acc_unseen, found.harmonic_mean, found.ausuc)
    return Row(
        method=name,
        parameters={name: plain(value) for name, value in model.best_params_.items()},
        cv_score=model.best_score_,
        cv_error=model.best_score_stderr_,
        unseen=result.standard.per_class,
        unseen_per_sample=result.standard.per_sample,
        generalized=figures,
        repeats=[],
    )


def fit_or_stop(model: Any, X: Any, y: Any, dataset: Dataset) -> Any:
    """Fit a model that tunes itself; Ctrl-C, after which it would go on with what it has, stops a comparison."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, class_vectors=dataset.classes)
    if model.interrupted_:
        raise KeyboardInterrupt
    return model


def _random_split(dataset: Dataset, seed: int) -> Dataset:
    """Return the samples of all parts, with as many unseen classes as before but others."""
    used = np.sort(np.concatenate([dataset.rows(part) for part in ("trainval", "test_seen", "test_unseen")]))
    labels = [*dataset.seen, *dataset.unseen]
    unseen = [labels[i] for i in np.random.default_rng(seed).permutation(len(labels))[: len(dataset.unseen)]]
    y = dataset.y[used]
    parts = make_split(y, unseen=unseen, test_seen=0.2, val=0.0, random_state=seed)
    parts = {name: used[rows] for name, rows in parts.items()}
    return Dataset(f"{dataset.name}, split {seed}", dataset.X, dataset.y, dataset.classes, parts, dataset.source)


def _marked(shares: Sequence[float]) -> list[str]:
    return [percent(share) + (" *" if share == max(shares) else "  ") for share in shares]


def _with_error(share: float, error: float) -> str:
    return "" if np.isnan(share) else f"{percent(share)} ± {100 * error:.1f}"
