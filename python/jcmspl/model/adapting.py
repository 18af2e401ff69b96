"""Adapting a model: reading unlabelled samples, moving prototypes to them, checking the result, choosing constants.

The result is an :class:`~jcmspl.model.adaptation.Adaptation`, a part of the fitted state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import label_array, numbered, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.samples import Samples
from jcmspl.model.adaptation import Adaptation, neighbour_agreement
from jcmspl.model.adaptation_rounds import MOST_ROUNDS, Directions, Settings, moved_to_samples, stored_directions
from jcmspl.model.fitted import FittedModel
from jcmspl.model.known_classes import Call
from jcmspl.model.labelling import named_samples
from jcmspl.model.method import check_parameters
from jcmspl.model.prediction import biased_candidates
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.calls import settled
from jcmspl.support.progress import Progress, told
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.visual_prototypes import VisualPrototypes


def adapted(model: VisualPrototypes, X: Any, call: Call, *, class_shares: Any, check: bool) -> FittedModel:
    """Return the state with an adaptation; parameters are those of :meth:`VisualPrototypes.adapt`."""
    require_adaptable(model)
    start = replace(model._fitted, adaptation=None)  # an adaptation starts from the model, not from the last one
    model = settled(model, _fitted=start)
    table, bias = biased_candidates(model, call, model.own_space)
    settings = Settings(*constants_of(model), known_shares(class_shares, table))
    layer, labelled, show = model._visual_scorer(table), model._labelled(table), bool(model.progress)
    assert isinstance(layer, LinearScorer)  # by cosine
    samples = model.reader.unlabelled(X, start.columns)
    with (
        told(f"{type(model).__name__}.adapt", X) as line,
        directions_of(samples, start.feature_normalisation, table.n_classes, progress=show) as directions,
        Progress("adapting", MOST_ROUNDS, "rounds", enabled=show) as progress,
    ):
        tell = progress.update
        found = adaptation_to(directions, table, layer, labelled, settings, bias, check=check, on_round=tell)
        line.text = f"{found.n_samples} samples, {table.n_classes} classes, {found.rounds} rounds"
    for text in found.warnings:
        warn_user(text, RuntimeWarning)
    return replace(start, adaptation=found)


def constants_of(model: VisualPrototypes) -> tuple[float, float]:
    """Return the pull and the temperature: as calibrated, or as given."""
    given = float(model.adaptation_pull), float(model.adaptation_temperature)
    return model._fitted.adaptation_constants or given


def require_adaptable(model: VisualPrototypes) -> None:
    """Refuse a model that does not compare by cosine in the visual space."""
    check_parameters(model, ("adaptation_pull", "adaptation_temperature"))  # they may have been set since the fit
    by = "head" if hasattr(model, "head") else "metric"
    for name, value, needed in (("space", model.own_space, "visual"), (by, model.own_metric, "cosine")):
        if callable(value) or value != needed:
            shown = "a function" if callable(value) else repr(value)
            raise ValueError(
                f"only models that compare by cosine in the visual space can be adapted to samples, but {name} is "
                f"{shown}: use set_params({name}={needed!r}) (--set {name}={needed})"
            )


def adaptation_to(
    directions: Directions,
    table: ClassTable,
    layer: LinearScorer,
    labelled: Float64Array,
    settings: Settings,
    bias: Float64Array,
    *,
    check: bool,
    on_round: Any = lambda done: None,
) -> Adaptation:
    """Return the adaptation of candidates to the directions of samples.

    ``layer`` scores the candidates before, ``labelled`` is the number of labelled samples of each, and the bias is
    added to scores while prototypes move. ``check``: whether neighbouring samples must agree no less than before.
    """
    moved = moved_to_samples(
        directions, layer.weights, layer.offsets, settings, bias=bias, labelled=labelled, on_round=on_round
    )
    agreement = None
    if check:
        before = LinearScorer(layer.weights, layer.offsets + bias)
        after = LinearScorer(moved.weights, moved.offsets)
        agreement = neighbour_agreement(directions, before, after, moved.class_size)
    return Adaptation.of(table, moved, labelled, directions.n_samples, agreement)


def directions_of(samples: Samples, normalisation: Normalisation, n_candidates: int, *, progress: bool) -> Directions:
    """Read samples, once, and keep their directions where they are."""
    kept = samples.keep(stored_directions, normalisation, n_candidates, progress=progress)
    directions = Directions(kept)
    if not directions.n_read:
        raise ValueError("there are no samples in X to adapt to")
    return directions


def known_shares(given: Any, table: ClassTable) -> Float64Array | None:
    """Return the shares of the candidates, which add up to one, or None if they are not known.

    They are given as "even", a mapping of label -> number or an array: shares, percentages or numbers of samples.
    """
    if given is None:
        return None
    n_candidates = table.n_classes
    if isinstance(given, str):
        if given != "even":
            raise ValueError(f"class_shares must be 'even', a dict or an array of numbers, but is {quoted(given)}")
        return np.full(n_candidates, 1 / n_candidates)
    values = _in_order(given, table) if isinstance(given, Mapping) else given
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("class_shares must be 'even', a dict of label -> number, or an array of numbers") from None
    if numbers.shape != (n_candidates,):
        raise ValueError(
            f"class_shares has the shape {numbers.shape}, but there are {n_candidates} candidates: give one number for "
            "each, in their order, or a dict of label -> number"
        )
    wrong = np.flatnonzero(~((numbers > 0) & np.isfinite(numbers)))
    if len(wrong):
        label = list(table)[wrong[0]]
        raise ValueError(
            f"class_shares must be finite numbers above 0, but that of {quoted(label)} is {numbers[wrong[0]]}: leave "
            "classes that do not occur out of the candidates"
        )
    scaled = numbers / numbers.max()
    return np.asarray(scaled / scaled.sum())


def _in_order(given: Mapping[Any, Any], table: ClassTable) -> list[Any]:
    strangers = [label for label in given if label not in table]
    if strangers:
        raise ValueError(f"class_shares names {some(strangers)}, which is not among the candidates")
    missing = [label for label in table if label not in given]
    if missing:
        raise ValueError(f"class_shares has no number for {some(missing)}: give one for each candidate")
    return [given[label] for label in table]


_PULLS = (0.03, 0.1, 0.3, 1.0)
_TEMPERATURES = (0.01, 0.02, 0.05, 0.1)


class AdaptationTrials:
    """Adapts models to samples of classes that they were not trained on, with each of some settings.

    The given pull and temperature win unless another setting is better for sure.
    """

    def __init__(self, pull: float, temperature: float) -> None:
        self._settings = list(dict.fromkeys([(pull, temperature), *product(_PULLS, _TEMPERATURES)]))
        self._accuracies: list[list[float]] = []

    def __call__(self, model: Any, samples: Samples, rows: IntArray) -> None:
        """Try all settings on a model, and on the samples in some rows, all of them of unseen classes."""
        fitted = model._fitted
        table = fitted.class_table.select(fitted.unseen_classes.tolist())
        layer, labelled = model._visual_scorer(table), model._labelled(table)
        own = samples.only(rows)
        true = numbered(own.labels, table)
        none, counts = np.zeros(table.n_classes), np.bincount(true, minlength=table.n_classes)
        with directions_of(own, fitted.feature_normalisation, table.n_classes, progress=False) as directions:
            accuracies = []
            for setting in self._settings:
                found = adaptation_to(directions, table, layer, labelled, Settings(*setting), none, check=False)
                scorer = found.scorer(table)
                assert scorer is not None  # an adaptation that was not checked is trusted
                recogniser = scorer.recogniser(fitted.feature_normalisation, label_array(table), none)
                right = named_samples(own, recogniser) == true
                shares = np.bincount(true, right, minlength=table.n_classes)[counts > 0] / counts[counts > 0]
                accuracies.append(float(shares.mean()))
        self._accuracies.append(accuracies)

    def chosen(self) -> tuple[float, float]:
        """Return the best setting, if it is better than that given by more than a standard error over the models."""
        accuracies = np.array(self._accuracies)
        best = int(accuracies.mean(axis=0).argmax())
        gains = accuracies[:, best] - accuracies[:, 0]
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        return self._settings[best if gains.mean() > error else 0]
