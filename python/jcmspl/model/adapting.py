"""Adapting a model: reading unlabelled samples, moving prototypes to them, and checking the result.

The result is an :class:`~jcmspl.model.adaptation.Adaptation`, a part of the fitted state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.on_dask import is_dask
from jcmspl.data.parts import Part
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.adaptation_check import neighbour_agreement
from jcmspl.model.adaptation_rounds import MOST_ROUNDS, Settings, moved_to_samples
from jcmspl.model.class_shares import known_shares
from jcmspl.model.directions import Directions, rows_at_a_time
from jcmspl.model.directions_on_dask import DirectionsOnDask
from jcmspl.model.fitted import Columns, FittedModel
from jcmspl.model.parameters import check_parameters
from jcmspl.model.prediction import biased_candidates
from jcmspl.model.reading import SampleReader
from jcmspl.model.scorers import LinearScorer, normalised
from jcmspl.support.arguments import Float64Array, require_finite
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
    normalisation, columns = start.feature_normalisation, start.columns
    with (
        told(f"{type(model).__name__}.adapt", X) as line,
        directions_of(model.reader, X, columns, normalisation, table.n_classes) as directions,
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
    directions: Directions | DirectionsOnDask,
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


def directions_of(
    reader: SampleReader, X: Any, columns: Columns, normalisation: Normalisation, n_candidates: int
) -> Directions | DirectionsOnDask:
    """Read samples, once, and keep their directions: here, or where dask has the samples."""
    if is_dask(X):
        parts, _ = reader.parts_of(X, columns=columns)
        found = DirectionsOnDask(parts, normalisation, n_candidates, progress=reader.progress)
        if not found.n_samples:
            raise ValueError("there are no samples in X to adapt to, or all of them are zero")
        return found
    directions = Directions(columns.n_features, rows_at_a_time(columns.n_features, n_candidates))
    try:
        reader.unlabelled(X, columns).map(_add_part, directions, normalisation, progress=reader.progress)
    except BaseException:
        directions.close()
        raise
    return directions


def _add_part(part: Part, directions: Directions, normalisation: Normalisation) -> None:
    add_directions(directions, (block.X for block in part.blocks()), normalisation)


def add_directions(directions: Directions, chunks: Any, normalisation: Normalisation) -> None:
    """Add the directions of chunks of samples; refuse chunks without any samples."""
    rows, read = rows_at_a_time(len(normalisation.shift), 1), 0
    for chunk in chunks:
        for first in range(0, len(chunk), rows):
            block = chunk[first : first + rows]
            require_finite(block, "X", first_row=read)
            directions.add(normalised(normalisation, block))
            read += len(block)
    if not read:
        raise ValueError("there are no samples in X to adapt to")
