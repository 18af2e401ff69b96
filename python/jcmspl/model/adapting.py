"""Adapting a model: reading unlabelled samples, moving prototypes to them, and checking the result.

The result is an :class:`~jcmspl.model.adaptation.Adaptation`, a part of the fitted state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.samples import Samples
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.adaptation_check import neighbour_agreement
from jcmspl.model.adaptation_rounds import MOST_ROUNDS, Settings, moved_to_samples
from jcmspl.model.class_shares import known_shares
from jcmspl.model.directions import Directions, stored_directions
from jcmspl.model.fitted import FittedModel
from jcmspl.model.parameters import check_parameters
from jcmspl.model.prediction import biased_candidates
from jcmspl.model.scorers import LinearScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.log import told
from jcmspl.support.progress import Progress
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.bilinear import Bilinear


def adapted(
    model: Bilinear,
    X: Any,
    *,
    class_vectors: Any,
    candidates: Any,
    seen_penalty: float | None,
    class_shares: Any,
    check: bool,
) -> FittedModel:
    """Return the state with an adaptation; parameters are those of :meth:`Bilinear.adapt`."""
    require_adaptable(model)
    start = replace(model._fitted, adaptation=None)  # an adaptation starts from the model, not from the last one
    model = model._settled(start)
    table, bias = biased_candidates(model, class_vectors, candidates, seen_penalty, model.own_space)
    settings = Settings(*constants_of(model), known_shares(class_shares, table))
    with (
        told(f"{type(model).__name__}.adapt", X) as line,
        directions_of(
            model.reader.unlabelled(X, start.columns),
            start.feature_normalisation,
            table.n_classes,
            progress=bool(model.progress),
        ) as directions,
        Progress("adapting", MOST_ROUNDS, "rounds", enabled=bool(model.progress)) as progress,
    ):
        found = adaptation_to(
            directions,
            table,
            scorer_without_adaptation(model, table),
            model._labelled(table),
            settings,
            bias,
            check=check,
            on_round=progress.update,
        )
        line.text = f"{found.n_samples} samples, {table.n_classes} classes, {found.rounds} rounds"
    for text in found.warnings:
        warn_user(text, RuntimeWarning)
    return replace(start, adaptation=found)


def constants_of(model: Bilinear) -> tuple[float, float]:
    """Return the pull and the temperature: as calibrated, or as given."""
    given = float(model.adaptation_pull), float(model.adaptation_temperature)
    return model._fitted.adaptation_constants or given


def require_adaptable(model: Bilinear) -> None:
    """Refuse a model that does not compare by cosine in the visual space."""
    check_parameters(model, ("adaptation_pull", "adaptation_temperature"))  # they may have been set since the fit
    for name, needed in (("space", "visual"), ("metric", "cosine")):
        value = getattr(model, name)
        if callable(value) or value != needed:
            shown = "a function" if callable(value) else repr(value)
            raise ValueError(
                f"only models that compare by cosine in the visual space can be adapted to samples, but {name} is "
                f"{shown}: use set_params(space='visual', metric='cosine') (--set space=visual --set metric=cosine)"
            )


def scorer_without_adaptation(model: Bilinear, table: ClassTable) -> LinearScorer:
    """Return the linear layer of candidates in the visual space."""
    scorer = model._visual_scorer(table)
    assert isinstance(scorer, LinearScorer)  # by cosine
    return scorer


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

    Parameters
    ----------
    directions : Directions
    table : ClassTable
        The candidates.
    layer : LinearScorer
        Their scores before.
    labelled : ndarray of shape (n_candidates,)
        The number of labelled samples of each.
    settings : Settings
    bias : ndarray of shape (n_candidates,)
        Is added to scores while prototypes move.
    check : bool
        Whether to check that neighbouring samples agree no less than before.
    on_round : function of the number of rounds
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
