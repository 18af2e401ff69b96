"""How much each source of evidence for prototypes counts, chosen on held-out classes once a setting is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from jcmspl.model.parameters import AUTO
from jcmspl.model.recogniser import normalised
from jcmspl.model_selection.folds import FoldedData
from jcmspl.model_selection.grid import Key
from jcmspl.model_selection.search import Search, is_clearly_better
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.scaling import unit_length

#: Shares of the plain cosine of samples and class vectors that are tried.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Numbers of samples that a prediction may count for, and numbers of labelled samples of a class that are tried.
PREDICTION_WEIGHTS = (0.5, 1.0, 2.0, 4.0)
SHOTS = (1, 5)
# Samples of a class that are enough to see the difference, where it has more.
_MOST_SAMPLES = 100


def chosen_share(search: Search, choice: tuple[Key, int], data: FoldedData) -> float | str:
    """Return the share of the plain cosine that recognises held-out classes clearly better than "auto", or that.

    The cosine is there where samples and class vectors have as many dimensions, in the visual space, without roots.
    Where encoders are found to be aligned only leaving it out is an alternative: other shares would hold for classes
    with samples as well, of which folds of classes tell nothing.
    """
    parameters = search.parameters(choice)
    alignment = data.alignment(parameters["feature_normalisation"])
    if alignment is None or parameters["space"] != "visual" or search.metric != "cosine":
        return AUTO
    tried = (AUTO, 0.0) if alignment.is_aligned else SHARES
    scores = search.scores_with(choice, [{"cosine_share": share} for share in tried])
    best = int(np.argmax(np.round(scores.mean(axis=1), 10)))
    return tried[best] if is_clearly_better(scores[best], scores[0], data.n_splits) else AUTO


def chosen_prediction_weight(search: Search, choice: tuple[Key, int], data: FoldedData, own: float, seed: int) -> float:
    """Return the prediction_count with which held-out classes are recognised best from some samples of each.

    Another one than the given is chosen where it is clearly better.
    """
    if search.parameters(choice)["space"] != "visual" or search.metric != "cosine":
        return own
    tried = sorted({own, *PREDICTION_WEIGHTS})
    rows_of = _rows_of_classes(data, seed)
    if min(len(rows) for rows in rows_of) <= max(SHOTS):
        return own
    scores = np.array(
        [
            _few_shot_accuracies(model, vectors, length, data, [rows_of[i] for i in data.held_out[fold]], tried)
            for fold, model, vectors, length in search.fitted_folds(choice)
        ]
    ).T
    best = int(np.argmax(np.round(scores.mean(axis=1), 10)))
    return tried[best] if is_clearly_better(scores[best], scores[tried.index(own)], data.n_splits) else own


def _rows_of_classes(data: FoldedData, seed: int) -> list[IntArray]:
    """Return some different samples of each class, in an order that depends on what they are and not on where.

    So neither the order of the samples nor that some of them come twice makes a difference.
    """
    # positions in a random direction, but for rounding
    positions = np.round(data.positions(np.random.default_rng(seed).standard_normal(data.n_features)), 10)
    rows = []
    for number in range(len(data.classes)):
        own = np.flatnonzero(data.codes == number)
        _, first = np.unique(positions[own], return_index=True)
        rows.append(own[np.random.default_rng((seed, number)).permutation(first)[:_MOST_SAMPLES]])
    return rows


def _few_shot_accuracies(
    model: Any,
    candidates: Float64Array,
    sample_length: float,
    data: FoldedData,
    rows: list[IntArray],
    weights: list[float],
) -> Float64Array:
    """Return the mean accuracy over numbers of shots, for each prediction_count."""
    vectors = model.class_normalisation_.of_rows(candidates)
    predicted = unit_length((vectors @ model.semantic_projection_.T) @ model.visual_projection_)
    samples = [normalised(model.feature_normalisation_, own) for own in data.samples(rows)]
    found = np.zeros((len(SHOTS), len(weights)))
    for i, shots in enumerate(SHOTS):
        sums = np.array([Z[:shots].sum(axis=0) for Z in samples]) / sample_length
        for j, weight in enumerate(weights):
            prototypes = unit_length(weight * predicted + sums)
            chosen = [(Z[shots:] @ prototypes.T).argmax(axis=1) for Z in samples]
            found[i, j] = np.mean([np.mean(own == number) for number, own in enumerate(chosen)])
    return np.asarray(found.mean(axis=0))
