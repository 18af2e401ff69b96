"""Comparison of methods: all tuned alike, on the same data, with estimates of the noise."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.splits import make_split
from jcmspl.evaluation.comparison_report import Comparison, GeneralizedFigures, Row, Seconds
from jcmspl.evaluation.evaluate import evaluate
from jcmspl.evaluation.trained_on import with_seen_and_unseen
from jcmspl.io.json_text import plain
from jcmspl.model import registry
from jcmspl.model_selection.class_search import BaseClassSearch
from jcmspl.model_selection.jcmspl_cv import search_for, seeded
from jcmspl.support.names import METHOD_GROUPS
from jcmspl.support.progress import Progress
from jcmspl.support.warn import warn_user

# Errors of a method that cannot be fitted to the data; the comparison goes on without it.
_REFUSALS = (ValueError, np.linalg.LinAlgError, MemoryError)


def tunable_methods() -> dict[str, Callable[..., BaseClassSearch]]:
    """Return a function for each method of the registry and each variant, which makes a search for its parameters."""
    return {name: partial(search_for, *parts) for name, parts in _with_variants().items()}


def _with_variants() -> dict[str, tuple[type[Any], dict[str, Any]]]:
    """Return the class and the fixed parameters of each method and variant, by name."""
    return {
        name: (method, fixed)
        for own, method in registry.methods().items()
        for name, fixed in {own: {}, **method.VARIANTS}.items()
    }


def compare(
    dataset: Dataset,
    methods: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    repeats: int = 3,
    random_state: int = 0,
    tune: bool = True,
    timed: bool = False,
    progress: bool = True,
    **search: Any,
) -> Comparison:
    """Tune methods on the training classes of a data set, and test them on the same unseen classes.

    Cheap methods run first (:func:`jcmspl.model.registry.cost`). Ctrl-C ends the comparison with the methods that are
    done; without any, KeyboardInterrupt is raised. The table has the error message of a method that cannot be fitted.

    Parameters
    ----------
    dataset : Dataset
        Without test samples of seen classes, a fifth of the training samples is held out.
    methods : str, sequence of str, or mapping of str to functions, optional
        Names of methods or of their variants; "classical" for all but networks (default), "linear" for those of them
        whose scores are linear in the sample, "networks". Or functions, by name, that take the search options and
        return a search.
    repeats : int, default 3
        The number of random splits of all classes on which the comparison is repeated. They show how much the figures
        depend on the choice of unseen classes; small differences take ten or more. 0 saves most of the time.
    random_state : int, default 0
        Seed of folds, splits and random methods.
    tune : bool, default True
        Whether to tune methods, or to use their default parameters.
    timed : bool, default False
        Whether to measure the seconds of one fit with the chosen parameters, and of prediction.
    progress : bool, default True
    **search
        Options of the search, such as cv, extend and halving.

    Returns
    -------
    Comparison
        ``leaderboard()`` is a pandas DataFrame, ``plot()`` draws the methods, ``best_model`` is a fitted model and
        ``save("comparison.html")`` writes a page.

    Examples
    --------
    >>> from jcmspl.datasets import make_zsl
    >>> from jcmspl.evaluation.compare import compare
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> comparison = compare(data, ["RPL", "ESZSL"], repeats=0, tune=False, progress=False)
    >>> sorted(row.method for row in comparison.rows)
    ['ESZSL', 'RPL']
    >>> type(comparison.best_model).__name__ == comparison.best_method
    True
    """
    if search and not tune:
        raise ValueError(f"tune=False makes no search: leave {', '.join(search)} out")
    chosen = _chosen(methods, tune)
    dataset = with_seen_and_unseen(dataset, random_state)
    splits = [dataset, *(_random_split(dataset, random_state + number) for number in range(repeats))]
    options = {"random_state": random_state, "progress": False, **search}
    found: dict[str, list[Row]] = {name: [] for name in chosen}
    best: tuple[float, Any] = (-1.0, None)
    failures: dict[str, str] = {}
    not_run: list[str] = []
    total = len(splits) * sum(cost for _, cost in chosen.values())
    with Progress("comparing", total, "steps", enabled=progress) as line:
        done = 0
        try:
            for name, (make, cost) in chosen.items():
                models = []
                try:
                    for number, data in enumerate(splits):
                        line.update(done + number * cost, name)
                        row, model = _row(name, make(**options), data, timed and not number)
                        found[name].append(row)
                        models.append(model)
                except _REFUSALS as error:
                    failures[name] = str(error) or type(error).__name__
                finally:
                    if models:
                        best = max(best, (_joined(found[name]).quality, models[0]), key=lambda one: one[0])
                done += len(splits) * cost
        except KeyboardInterrupt:
            not_run = [name for name in chosen if name not in failures and len(found[name]) < len(splits)]
            if not any(found.values()):
                raise
            warn_user(f"interrupted: without {', '.join(not_run)}", RuntimeWarning)
    rows = [_joined(rows) for rows in found.values() if rows]
    if not rows:
        raise ValueError("; ".join(f"{name} failed: {reason}" for name, reason in failures.items()))
    rows.sort(key=lambda row: -row.unseen)
    return Comparison(
        dataset.name, len(dataset.unseen), len(dataset.seen), repeats, tune, rows, failures, not_run, best[1]
    )


def _joined(rows: list[Row]) -> Row:
    """Return the row of the data set's own split with the accuracies on random splits."""
    first, *rest = rows
    return replace(first, repeats=[row.unseen for row in rest])


def _chosen(
    methods: str | Sequence[str] | Mapping[str, Any] | None, tune: bool
) -> dict[str, tuple[Callable[..., Any], int]]:
    """Return functions that make searches or models, and the relative costs of a fit, by name, the cheapest first."""
    if isinstance(methods, Mapping):
        return {name: (make, 1) for name, make in methods.items()}
    known = _with_variants()
    names = [METHOD_GROUPS[0]] if methods is None else [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError(f"there are no methods to compare: choose from {', '.join(known)}")
    if unknown := [name for name in names if name not in known and name not in METHOD_GROUPS]:
        if unknown[0] in registry.names():
            registry.get(unknown[0])  # raises ImportError: another package offers it, and it is broken
        raise ValueError(
            f"there is no method {unknown[0]!r}: choose from {', '.join(known)}, or a group, {', '.join(METHOD_GROUPS)}"
        )
    networks = [name for name in known if known[name][0].NETWORK]
    classical = [name for name in known if name not in networks]
    linear = [name for name in classical if known[name][0].LINEAR]
    groups = {"classical": classical, "linear": linear, "networks": networks}
    entries = {}
    for name in (one for given in names for one in groups.get(given, [given])):
        method, fixed = known[name]
        make = partial(search_for if tune else _with_defaults, method, fixed)
        entries[name] = make, max(1, round(registry.cost(method, fixed, tuned=tune)))
    return dict(sorted(entries.items(), key=lambda item: item[1][1]))


def _with_defaults(method: type[Any], fixed: dict[str, Any], *, random_state: int, progress: bool) -> Any:
    return method(**seeded(method, fixed, random_state), progress=progress)


def _row(name: str, model: Any, dataset: Dataset, timed: bool) -> tuple[Row, Any]:
    """Fit or tune a method, and test it; return its row and the fitted model."""
    X, y = dataset.part("trainval")
    started = time.perf_counter()
    fit_or_stop(model, X, y, dataset)
    learned = time.perf_counter()
    if len(dataset.rows("test_seen")):
        with warnings.catch_warnings(), contextlib.suppress(ValueError):  # too few classes or samples: no calibration
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.calibrate(X, y)
    best = getattr(model, "best_estimator_", model)
    result = evaluate(best, dataset, spaces=[best.own_space], n_examples=0, progress=False).results[0]
    figures = None
    if found := result.generalized:
        figures = GeneralizedFigures(found.acc_seen, found.acc_unseen, found.harmonic_mean, found.ausuc)
    tuned = best is not model
    row = Row(
        method=name,
        parameters={name: plain(value) for name, value in model.best_params_.items()} if tuned else {},
        cv_score=model.best_score_ if tuned else float("nan"),
        cv_error=model.best_score_stderr_ if tuned else float("nan"),
        unseen=result.standard.per_class,
        unseen_per_sample=result.standard.per_sample,
        generalized=figures,
        repeats=[],
        seconds=_seconds(best, X, y, dataset) if timed else None,
        interval=result.intervals.get("per_class"),
        learning_seconds=learned - started,
    )
    return row, best


def _seconds(model: Any, X: Any, y: Any, dataset: Dataset) -> Seconds:
    """Measure a fit with the parameters of a model, and the prediction of samples of unseen classes."""
    twin = clone(model).set_params(progress=False)
    samples, _ = dataset.part("test_unseen")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        twin.fit(X, y, class_vectors=dataset.classes)
        fitted = time.perf_counter()
        twin.predict(samples, candidates=dataset.unseen)
    return Seconds(fitted - started, time.perf_counter() - fitted)


def fit_or_stop(model: Any, X: Any, y: Any, dataset: Dataset) -> Any:
    """Fit a model; raise KeyboardInterrupt if Ctrl-C ended a search, which would keep its best model so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, class_vectors=dataset.classes)
    if getattr(model, "interrupted_", False):
        raise KeyboardInterrupt
    return model


def _random_split(dataset: Dataset, seed: int) -> Dataset:
    """Split the samples of all parts anew, with the same number of unseen classes."""
    used = np.sort(np.concatenate([dataset.rows(part) for part in ("trainval", "test_seen", "test_unseen")]))
    labels = [*dataset.seen, *dataset.unseen]
    unseen = [labels[i] for i in np.random.default_rng(seed).permutation(len(labels))[: len(dataset.unseen)]]
    y = dataset.y[used]
    parts = make_split(y, unseen=unseen, test_seen=0.2, val=0.0, random_state=seed)
    parts = {name: used[rows] for name, rows in parts.items()}
    return Dataset(f"{dataset.name}, split {seed}", dataset.X, dataset.y, dataset.classes, parts, dataset.source)
