"""Rejection: thresholds below which a sample is of no candidate, found on training classes as strangers.

Of measures that need the scores of the candidates alone (the best score, its lead over the second, its share in the
softmax, its height above the mean score, with or without a division by their spread) the best score tells strangers
best, with nearly all methods and data: bench/open_set.py. Samples and classes are centred, so that a class of which
nothing is known would score near zero; and unlike the others it does not change when a candidate is added that scores
lower. The scores of the training classes tell more (:mod:`jcmspl.model.threshold`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array
from jcmspl.data.samples import Samples
from jcmspl.model.calibration import Drawing, calibration_samples, fold_models
from jcmspl.model.fitted import FittedModel
from jcmspl.model.labelling import looked_at
from jcmspl.model.prediction import auto_temperature
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.threshold import Evidence, Rivals, Threshold
from jcmspl.support.arguments import Float64Array, as_number
from jcmspl.support.names import GROUPS
from jcmspl.support.progress import told
from jcmspl.support.shown import quoted

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier


def with_none(labels: LabelArray, reject_label: Label) -> LabelArray:
    """Return the labels of candidates, and behind them what a sample is called that is of none of them."""
    if reject_label is not None and as_label_list([reject_label], "reject_label")[0] in set(labels.tolist()):
        raise ValueError(f"reject_label is {quoted(reject_label)}, which is a candidate: choose another one")
    return label_array([*labels.tolist(), reject_label])


#: How many candidates there must be for each of them to be left out once.
LEAST_CANDIDATES = 2
# The evidence of known samples, and of strangers.
_Pair = tuple[Evidence, Evidence]


class TwoLooks(NamedTuple):
    """The best scores of samples with their class among the candidates, and without it, as of strangers."""

    known: Float64Array
    strangers: Float64Array

    @classmethod
    def joined(cls, found: Sequence[TwoLooks]) -> TwoLooks:
        """Return the scores of all blocks."""
        return cls(*(np.concatenate(each) for each in zip(cls(np.empty(0), np.empty(0)), *found, strict=True)))


def two_looks(X: Any, y: Any, recogniser: Recogniser) -> TwoLooks:
    """Return the best scores of samples, all of which are of candidates."""
    number = {label: i for i, label in enumerate(recogniser.labels.tolist())}
    own = np.array([number[label] for label in as_label_list(y)], dtype=np.int64)
    best, scores = recogniser.best(X, LEAST_CANDIDATES)
    without = np.where(best[:, 0] == own, scores[:, 1], scores[:, 0])
    return TwoLooks(scores[:, 0].astype(np.float64), without.astype(np.float64))


def _best_scores(X: npt.NDArray[Any], y: Sequence[Label], recogniser: Recogniser) -> Float64Array:
    return np.asarray(recogniser.top_k(X, 1)[1][:, 0], dtype=np.float64)


def _rivals(X: npt.NDArray[Any], y: Sequence[Label], rivals: Rivals) -> Float64Array:
    return rivals(X)


def with_thresholds(
    model: ZeroShotClassifier, X: Any, y: Any, drawing: Drawing, *, max_false_rejection: float
) -> FittedModel:
    """Return the state with a threshold for each space and each group of candidates.

    Parameters are those of :meth:`ZeroShotClassifier.calibrate_rejection`.
    """
    if not 0 <= as_number(max_false_rejection, "max_false_rejection") < 1:
        raise ValueError(f"max_false_rejection must be a share from 0 to less than 1, but is {max_false_rejection}")
    with told(f"{type(model).__name__}.calibrate_rejection", X) as line:
        samples = calibration_samples(model, X, y)
        found: dict[tuple[str, Any, str], list[_Pair]] = {}
        drawing = drawing._replace(at_least=LEAST_CANDIDATES)
        temperatures = {space: auto_temperature(model, space) for space in model.SPACES}
        for twin, unseen_rows, seen_rows in fold_models(model, samples, drawing):
            unseen, seen = samples.only(unseen_rows), samples.only(seen_rows)
            for space in model.SPACES:
                bias = model.bias_in(space)
                among = {group: twin.recogniser(candidates=group, seen_penalty=bias, space=space) for group in GROUPS}
                rivals = Rivals(among["seen"], temperatures[space])
                for group, pair in _pairs_of_fold(among, rivals, unseen, seen).items():
                    found.setdefault((space, model.own_metric, group), []).append(pair)
        chosen = {key: Threshold.of(pairs, max_false_rejection, temperatures[key[0]]) for key, pairs in found.items()}
        line.text = f"among unseen classes {chosen[model.own_space, model.own_metric, 'unseen']}"
    return replace(model.state, rejection=model.state.rejection | chosen)


def _pairs_of_fold(
    among: dict[str, Recogniser], rivals: Rivals, of_unseen: Samples, of_seen: Samples
) -> dict[str, _Pair]:
    """Return the evidence of known samples and strangers of a fold, for each group of candidates.

    Strangers are always of classes that the model of the fold was not trained on. Among its training classes all of
    their samples are strangers; elsewhere their own class is left out.
    """
    unseen, everywhere = (TwoLooks.joined(looked_at(of_unseen, two_looks, among[group])) for group in ("unseen", "all"))
    trained_of_all, trained, others, seen_rival, unseen_rival = (
        np.concatenate([np.empty(0), *looked_at(samples, function, argument)])
        for samples, function, argument in (
            (of_seen, _best_scores, among["all"]),
            (of_seen, _best_scores, among["seen"]),
            (of_unseen, _best_scores, among["seen"]),
            (of_seen, _rivals, rivals),
            (of_unseen, _rivals, rivals),
        )
    )
    known_of_all = np.concatenate([everywhere.known, trained_of_all]), np.concatenate([unseen_rival, seen_rival])
    return {
        "seen": (Evidence(trained, seen_rival), Evidence(others, unseen_rival)),
        "unseen": (Evidence(unseen.known, unseen_rival), Evidence(unseen.strangers, unseen_rival)),
        "all": (Evidence(*known_of_all), Evidence(everywhere.strangers, unseen_rival)),
    }
