"""Prediction: the candidates of a call, the bias on seen classes, the recogniser made of both, and its accuracy.

Functions take a model because methods decide how candidates are scored (``_scorer_of``) and whether the bias applies;
the model must not change meanwhile, which that of ``ZeroShotClassifier._fitted_twin`` does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, label_array, some
from jcmspl.data.parts import Part, counted
from jcmspl.data.training import warn_of_zero_vectors
from jcmspl.model.explanation import ClassMap
from jcmspl.model.known_classes import Call, candidates_of, unseen_in
from jcmspl.model.labelling import Namer
from jcmspl.model.method import check_parameters
from jcmspl.model.parameters import as_temperature
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.temperature import AUTO_TEMPERATURE
from jcmspl.model.threshold import Rejection, Rivals, Threshold
from jcmspl.support.arguments import Float64Array, as_number, one_of
from jcmspl.support.exceptions import UncalibratedWarning
from jcmspl.support.scaling import Scaling
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.predictor import Predictor


_COMPETITION = (
    "seen and unseen classes compete without a calibrated bias, and a model prefers those that it was trained on: "
    "calibrate it with training samples (calibrate(X, y); jcmspl fit --calibrate), or choose among unseen classes "
    "alone (candidates='unseen'; --candidates unseen); seen_penalty=0 in the call (--seen-penalty 0) says that it is "
    "meant so"
)


def biased_candidates(model: Predictor, call: Call, space: str) -> tuple[ClassTable, Float64Array]:
    """Return the candidate classes of a call, and the number that is added to the scores of each."""
    table, is_seen = candidates_of(model._fitted, call)
    seen_penalty = call.seen_penalty
    if call.class_vectors is not None:
        warn_of_zero_vectors(table)
    if not is_seen.any() or is_seen.all():
        as_number(0.0 if seen_penalty is None else seen_penalty, "seen_penalty")
        return table, np.zeros(table.n_classes)
    if seen_penalty is None:
        is_adapted, warned = model._makes_up_for_seen(table, space), model._fitted.warned
        seen_penalty = 0.0 if is_adapted else model.bias_in(space)
        if not (is_adapted or model._is_biased_in(space) or _COMPETITION in warned):
            warned.add(_COMPETITION)
            warn_user(_COMPETITION, UncalibratedWarning)
    return table, np.where(is_seen, -as_number(seen_penalty, "seen_penalty"), 0.0)


def default_bias(model: Predictor, call: Call) -> float:
    """Return the bias on seen classes of a call that gives none; it never warns, unlike :func:`biased_candidates`."""
    own = model.bias_in(model.own_space)
    if model._fitted.adaptation is None:
        return own
    table, _ = candidates_of(model._fitted, call)
    return 0.0 if model._makes_up_for_seen(table, model.own_space) else own


def recogniser_of(
    model: Predictor, table: ClassTable, bias: Float64Array, space: str, *, scaled_already: bool = False
) -> Recogniser:
    """Return the recogniser of raw samples, or of samples that have been scaled to length one already."""
    normalisation = model._fitted.feature_normalisation
    if scaled_already:
        normalisation = replace(normalisation, scaling=Scaling())
    check_parameters(model, model.COMPARISON)  # they may have been set since the fit
    return model._scorer_of(table, space).recogniser(normalisation, label_array(table), bias)


def recogniser_for(model: Predictor, call: Call, space: str | None = None) -> Recogniser:
    """Return the recogniser of a call of ``predict``."""
    space = one_of(model.own_space if space is None else space, "space", model.SPACES)
    return recogniser_of(model, *biased_candidates(model, call, space), space)


def recogniser_for_labels(model: Predictor, labels: Iterable[Label], call: Call) -> Recogniser:
    """Return the recogniser that ``score`` evaluates for these true labels."""
    fitted, present = model._fitted, dict.fromkeys(labels)
    is_open = call.class_vectors is None and call.candidates is None
    if is_open and not present.keys() & set(fitted.classes.tolist()):
        call = call._replace(candidates=unseen_in(present, fitted.class_table, fitted.classes.tolist()))
    recogniser = recogniser_for(model, call)
    possible = set(recogniser.labels.tolist())
    strangers = [label for label in present if label not in possible]
    if strangers and fitted.given_table is not None:
        raise ValueError(f"y holds {some(strangers)}, which is not among the candidates and could never be right")
    return recogniser


def namer_for(model: Predictor, k: int, *, proba: bool, reject: Any, **call: Any) -> Namer:
    """Return the namer that finds the k best candidates of samples, their shares, and the samples to reject."""
    recogniser = recogniser_for(model, Call(**call))
    temperature = temperature_of(model, None, Call(**call)) if proba else None
    rejection = None if reject is None else rejection_for(model, reject, Call(**call))
    return Namer(recogniser, k, temperature, rejection)


def class_map_of(model: Predictor) -> ClassMap | None:
    """Return the map of the vector of a new class to its scores in the space of the model, if the method has one."""
    return model._class_map(model.own_space)


def rejection_for(model: Predictor, reject: Any, call: Call) -> Rejection:
    """Return the rule by which a call rejects samples."""
    if not isinstance(reject, str):
        return Rejection(as_number(reject, "reject", "a number, 'auto' or None"))
    one_of(reject, "reject", ("auto",))
    group = group_of(model, call)
    chosen = model._fitted.rejection.get((model.own_space, model.own_metric, group))
    if chosen is None:
        where = f"{group} classes in the {model.own_space} space"
        raise ValueError(
            f"no threshold was chosen for candidates among {where}: choose one with training samples "
            "(calibrate_rejection(X, y), after calibrate; jcmspl fit --calibrate-rejection), or give a number"
        )
    rivals = rivals_for(model, chosen, model.own_space) if chosen.weight else None
    return Rejection(chosen.value, chosen.weight, chosen.floor, rivals)


def rivals_for(model: Predictor, threshold: Threshold, space: str) -> Rivals:
    """Return the rivals that a threshold for a space is compared with."""
    recogniser = model._cached(f"rivals in {space}", partial(_among_seen, model, space))
    return Rivals(recogniser, threshold.temperature)


def _among_seen(model: Predictor, space: str, *, scaled_already: bool = False) -> Recogniser:
    fitted = model._fitted
    seen = fitted.class_table.select(fitted.classes.tolist())
    return recogniser_of(model, seen, np.zeros(seen.n_classes), space, scaled_already=scaled_already)


def group_of(model: Predictor, call: Call) -> str:
    """Return the group of the candidates of a call: "seen", "unseen", or "all" if there are both."""

    def found() -> str:
        _, is_seen = candidates_of(model._fitted, call)
        return "seen" if is_seen.all() else "all" if is_seen.any() else "unseen"

    return model._cached("group", found, call)


def temperature_of(model: Predictor, temperature: float | None, call: Call) -> float:
    """Return the temperature of a call: as given, or the calibrated or usual one times the spread of scores."""
    chosen = as_temperature(model.temperature if temperature is None else temperature)
    if chosen is not None:
        return chosen
    share = AUTO_TEMPERATURE
    if model._fitted.temperatures:
        share = model._fitted.temperatures.get((model.own_space, model.own_metric, group_of(model, call)), share)
    return share * spread_of(model)


def spread_of(model: Predictor, space: str | None = None) -> float:
    """Return the spread of the scores of mean training samples among training classes, the unit of temperatures."""
    if space is None or space == model.own_space:
        return model._cached("spread", partial(_spread, model, model.own_space))
    return _spread(model, space)


def _spread(model: Predictor, space: str) -> float:
    scores = _among_seen(model, space, scaled_already=True).scores(model._fitted.class_means)
    return max(float(scores.std()), float(np.finfo(np.float32).tiny))


def auto_temperature(model: Predictor, space: str) -> float:
    """Return the temperature "auto" of a space before ``calibrate``."""
    return AUTO_TEMPERATURE * spread_of(model, space)


def accuracy_of(model: Predictor, X: Any, y: Any, sample_weight: Any, call: Call, average: str) -> float:
    """Return the accuracy of a model; parameters are those of ``score``."""
    one_of(average, "average", ("class", "sample"))
    samples, _ = model.reader.unweighted().samples(X, y, sample_weight, model._fitted.columns)
    totals = samples.label_counts()
    if not any(totals.values()):
        raise ValueError("there are no samples in X, or none that weighs anything: there is nothing to score")
    recogniser = recogniser_for_labels(model, totals, call)
    right: Counter[Label] = samples.reduce(_right_in, recogniser, what="recognising", progress=bool(model.progress))
    if average == "sample":
        return float(sum(right.values()) / sum(totals.values()))
    return float(np.mean([right[label] / weight for label, weight in totals.items() if weight]))


def _right_in(part: Part, recogniser: Recogniser) -> Counter[Label]:
    """Return the weight of the samples that are recognised, by label."""
    named = recogniser.predict(part.whole().X).tolist()
    return counted(part.only(np.flatnonzero([one == label for one, label in zip(named, part.labels, strict=True)])))
