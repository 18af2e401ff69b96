"""Comparison: every method tuned alike, on the same data, with the noise beside the figures."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl.datasets import Dataset, make_split
from jcmspl.evaluation.comparison import Comparison, GeneralizedFigures, Row, Seconds
from jcmspl.evaluation.evaluate import evaluate
from jcmspl.io.json_text import plain
from jcmspl.model import registry
from jcmspl.model_selection.base import BaseClassSearch
from jcmspl.model_selection.jcmspl_cv import search_for, seeded
from jcmspl.support.names import METHOD_GROUPS
from jcmspl.support.progress import Progress
from jcmspl.support.warn import warn_user

# What a method may say of data that it cannot be fitted to, while the others are still worth comparing.
_REFUSALS = (ValueError, np.linalg.LinAlgError, MemoryError)


def tunable_methods() -> dict[str, Callable[..., BaseClassSearch]]:
    """Return what makes a search for the parameters of each method of the registry, and of its named variants."""
    return {name: partial(search_for, *parts) for name, parts in _with_variants().items()}


def _with_variants() -> dict[str, tuple[type[Any], dict[str, Any]]]:
    """Return the class and the fixed parameters of each method and of each variant, by name."""
    return {
        name: (method, fixed)
        for own, method in registry.methods().items()
        for name, fixed in {own: {}, **method.VARIANTS}.items()
    }


@dataclass(frozen=True)
class _Entry:
    """A method that is compared: what makes its search, or the model itself, and about how long a fit of it takes."""

    make: Callable[..., Any]
    cost: int = 1


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
    """Tune every method on the training classes of a data set, and test all on the same unseen classes.

    The cheap methods come first (:func:`jcmspl.model.registry.cost`). Ctrl-C ends the comparison with those that are
    done; if there are none, KeyboardInterrupt is raised. A method that refuses the data is in the table with its words.

    Parameters
    ----------
    dataset : Dataset
        Without test samples of seen classes, a fifth of the training samples is held out for them.
    methods : str, sequence of str, or mapping of str to functions, optional
        Names of methods of the registry or of their variants; "linear": those whose scores are one linear layer;
        "classical": all (default). Or functions of your own that take the search options and return a search.
    repeats : int, default 3
        On how many random splits of all classes to repeat it. 0: none, which saves most of the time, but tells nothing
        of how much the figures depend on which classes are unseen. It takes ten or more to tell small differences.
    random_state : int, default 0
        Seed of folds and splits, and of methods that draw something.
    tune : bool, default True
        False: methods keep their default parameters.
    timed : bool, default False
        Whether to measure how long a fit with the chosen parameters takes, and recognition.
    progress : bool, default True
    **search
        Options of the search: cv, extend, halving, ...

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from jcmspl.datasets import make_zsl
    >>> from jcmspl.evaluation.compare import compare
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> comparison = compare(data, ["RPL", "ESZSL"], repeats=0, tune=False, progress=False)
    >>> sorted(row.method for row in comparison.rows)
    ['ESZSL', 'RPL']
    """
    if search and not tune:
        raise ValueError(f"nothing is searched for with tune=False: leave {', '.join(search)} out")
    chosen = _chosen(methods, tune)
    if not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(0.2, random_state)
    splits = [dataset, *(_random_split(dataset, random_state + number) for number in range(repeats))]
    options = {"random_state": random_state, "progress": False, **search}
    found: dict[str, list[Row]] = {name: [] for name in chosen}
    failures: dict[str, str] = {}
    not_run: list[str] = []
    total = len(splits) * sum(entry.cost for entry in chosen.values())
    with Progress("comparing", total, "steps", enabled=progress) as line:
        done = 0
        try:
            for name, entry in chosen.items():
                try:
                    for number, data in enumerate(splits):
                        line.update(done + number * entry.cost, name)
                        found[name].append(_row(name, entry.make(**options), data, timed and not number))
                except _REFUSALS as error:
                    failures[name] = str(error) or type(error).__name__
                done += len(splits) * entry.cost
        except KeyboardInterrupt:
            not_run = [name for name in chosen if name not in failures and len(found[name]) < len(splits)]
            if not any(found.values()):
                raise
            warn_user(f"interrupted: without {', '.join(not_run)}", RuntimeWarning)
    rows = [replace(first, repeats=[row.unseen for row in rest]) for first, *rest in filter(None, found.values())]
    if not rows:
        raise ValueError("; ".join(f"{name} failed: {reason}" for name, reason in failures.items()))
    rows.sort(key=lambda row: -row.unseen)
    return Comparison(
        dataset.name, len(dataset.unseen), len(dataset.seen), repeats, tune, rows, failures, not_run=not_run
    )


def _chosen(methods: str | Sequence[str] | Mapping[str, Any] | None, tune: bool) -> dict[str, _Entry]:
    """Return the methods to compare by name, the cheapest first."""
    if isinstance(methods, Mapping):
        return {name: _Entry(make) for name, make in methods.items()}
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
    groups = {"classical": list(known), "linear": [name for name in known if known[name][0].LINEAR]}
    entries = {}
    for name in (one for given in names for one in groups.get(given, [given])):
        method, fixed = known[name]
        make = partial(search_for if tune else _with_defaults, method, fixed)
        entries[name] = _Entry(make, max(1, round(registry.cost(method, fixed, tuned=tune))))
    return dict(sorted(entries.items(), key=lambda item: item[1].cost))


def _with_defaults(method: type[Any], fixed: dict[str, Any], *, random_state: int, progress: bool) -> Any:
    return method(**seeded(method, fixed, random_state), progress=progress)


def _row(name: str, model: Any, dataset: Dataset, timed: bool) -> Row:
    """Tune a method, if it is a search, and test it."""
    X, y = dataset.part("trainval")
    fit_or_stop(model, X, y, dataset)
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
    return Row(
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
    )


def _seconds(model: Any, X: Any, y: Any, dataset: Dataset) -> Seconds:
    """Measure a fit with the parameters of a model, and how long it takes to name the samples of unseen classes."""
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
    """Fit a model; Ctrl-C, after which one that tunes itself would go on with what it has, stops a comparison."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, class_vectors=dataset.classes)
    if getattr(model, "interrupted_", False):
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
