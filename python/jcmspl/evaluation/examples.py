"""Test samples for a report: right and wrong predictions, with explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.data.labels import Label
from jcmspl.data.reading import in_memory, read_rows
from jcmspl.evaluation.findings import Candidate, Example, Reason
from jcmspl.model.known_classes import Call
from jcmspl.report.pages import picture_named
from jcmspl.support.arguments import IntArray

#: The default number of samples in a report; half of them are wrong ones, if there are enough.
MOST = 24
_SEED = 0
_MOST_REASONS, _MOST_NEAREST = 4, 3


def examples(
    model: Any, dataset: Any, part: str, call: Call, space: str, named: Sequence[Label], most: int
) -> list[Example]:
    """Draw samples of a test part, predicted as ``named``, the classes in turn; wrong ones come first."""
    rows, ids = dataset.rows(part), dataset.ids
    true = dataset.y[rows].tolist()
    right = np.array([a == b for a, b in zip(true, named, strict=True)])
    rng = np.random.default_rng(_SEED)
    chosen = [
        at
        for positions in (np.flatnonzero(~right), np.flatnonzero(right))
        for at in _in_turn(rng.permutation(positions), true, most // 2)
    ]
    folders = _folders(dataset.source)
    is_named = (model.class_table_ if call.class_vectors is None else call.class_vectors).is_named
    X = _samples(dataset, rows[chosen])
    why = (_reasons if is_named else _nearest)(model, X, call, space, [true[at] for at in chosen])
    return [
        Example(
            row=int(rows[at]),
            id=str(ids[int(rows[at])]),
            true=str(true[at]),
            predicted=str(named[at]),
            picture=picture_named(str(ids[int(rows[at])]), folders),
            **about,
        )
        for at, about in zip(chosen, why, strict=True)
    ]


def _in_turn(positions: IntArray, labels: Sequence[Label], most: int) -> list[int]:
    """Order positions: the first of each class, then the second of each, and so on."""
    turns: Counter[Label] = Counter()
    turn = {}
    for at in positions.tolist():
        turn[at] = turns[labels[at]]
        turns[labels[at]] += 1
    return sorted(turn, key=turn.__getitem__)[:most]


def _folders(source: str) -> list[Path]:
    """Return the folders where pictures may be: that of the data set, and the current one."""
    try:
        place = Path(source)
        own = [place] if place.is_dir() else [place.parent] if place.is_file() else []
    except (OSError, ValueError):  # not a path
        own = []
    return [*own, Path()]


def _samples(dataset: Any, rows: IntArray) -> Any:
    order = np.argsort(rows)  # rows are read in ascending order
    X: Any = read_rows(dataset.X, rows[order])
    return np.asarray(in_memory(X))[np.argsort(order)]


def _nearest(model: Any, X: Any, call: Call, space: str, true: Sequence[Label]) -> list[dict[str, Any]]:
    """Return the best candidates of each sample: the single numbers of an embedding mean nothing to a reader."""
    if not true:
        return []
    recogniser = model.recogniser(**call._asdict(), space=space)
    best, scores = recogniser.best(X, min(_MOST_NEAREST, len(call.candidates)))
    labels = recogniser.labels[best].tolist()
    return [
        {"nearest": [Candidate(str(label), score) for label, score in zip(*row, strict=True)]}
        for row in zip(labels, scores.tolist(), strict=True)
    ]


def _reasons(model: Any, X: Any, call: Call, space: str, true: Sequence[Label]) -> list[dict[str, Any]]:
    """Explain each prediction, against the true class or, if that was predicted, against the runner-up."""
    nothing: list[dict[str, Any]] = [{} for _ in true]
    if not hasattr(model, "explain") or not true:
        return nothing
    if "space" in model.get_params(deep=False):
        model = copy(model).set_params(space=space)
    options, found = call._asdict(), []
    try:
        for sample, label in zip(X[:, None], true, strict=True):
            one = model.explain(sample, **options)[0]
            if one.label != label:
                one = model.explain(sample, label=one.label, against=label, **options)[0]
            found.append(
                {
                    "against": None if one.against is None else str(one.against),
                    "spoke_for": [Reason(*pair) for pair in one.top(_MOST_REASONS)],
                    "spoke_against": [Reason(*pair) for pair in one.bottom(_MOST_REASONS - 1)],
                }
            )
    except ValueError:  # with these settings the model cannot explain its scores
        return nothing
    return found
