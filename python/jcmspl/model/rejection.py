"""Choosing when to name nothing: thresholds found on training classes that play unseen ones and strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, as_label_list
from jcmspl.data.samples import Samples
from jcmspl.model.calibration import drawn_folds, fold_models, require_class_vectors, samples_of
from jcmspl.model.fitted import FittedModel
from jcmspl.model.labelled_samples import looked_at
from jcmspl.model.open_set import Threshold
from jcmspl.model.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array, IntArray, as_number
from jcmspl.support.log import told
from jcmspl.support.names import GROUPS

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

#: How many candidates there must be for each of them to be left out once.
LEAST_CANDIDATES = 2
# The best scores of known samples, and of strangers.
_Pair = tuple[Float64Array, Float64Array]


class TwoLooks(NamedTuple):
    """The best scores of samples with their class among the candidates, and without it."""

    known: Float64Array
    strangers: Float64Array

    @classmethod
    def joined(cls, found: Sequence[TwoLooks]) -> TwoLooks:
        """Return the scores of all blocks."""
        nothing = cls(np.empty(0), np.empty(0))
        return cls(*(np.concatenate(each) for each in zip(nothing, *found, strict=True)))


@dataclass(frozen=True, eq=False)
class TwoLooksAt:
    """Looks at samples of candidates twice, as known ones and as strangers; a function of samples and labels."""

    recogniser: Recogniser

    def __call__(self, X: Any, y: Any) -> TwoLooks:
        """Return the best scores of samples, all of which are of candidates."""
        number = {label: i for i, label in enumerate(self.recogniser.labels.tolist())}
        own = np.array([number[label] for label in as_label_list(y)], dtype=np.int64)
        best, scores = self.recogniser.best(X, LEAST_CANDIDATES)
        without = np.where(best[:, 0] == own, scores[:, 1], scores[:, 0])
        return TwoLooks(scores[:, 0].astype(np.float64), without.astype(np.float64))


@dataclass(frozen=True, eq=False)
class OneLookAt:
    """Looks at samples of any classes once."""

    recogniser: Recogniser

    def __call__(self, X: npt.NDArray[Any], y: Sequence[Label]) -> Float64Array:
        """Return the best scores of samples."""
        return np.asarray(self.recogniser.top_k(X, 1)[1][:, 0], dtype=np.float64)


def with_thresholds(
    model: ZeroShotClassifier,
    X: Any,
    y: Any,
    *,
    max_false_rejection: float,
    n_splits: int | None,
    held_out: float,
    random_state: Any,
) -> FittedModel:
    """Return the state with thresholds; parameters are those of :meth:`ZeroShotClassifier.calibrate_rejection`."""
    fitted = model._fitted
    require_class_vectors(fitted)
    with told(f"{type(model).__name__}.calibrate_rejection", X) as line:
        samples = samples_of(model, X, y)
        folds: dict[str, Any] = {"n_splits": n_splits, "held_out": held_out, "random_state": random_state}
        found = chosen_thresholds(model, samples, max_false_rejection=max_false_rejection, **folds)
        own = {(space, model.own_metric, group): threshold for (space, group), threshold in found.items()}
        line.text = f"among unseen classes {found[model.own_space, 'unseen']}"
    return replace(fitted, rejection={**fitted.rejection, **own})


def chosen_thresholds(
    model: ZeroShotClassifier,
    samples: Samples,
    *,
    max_false_rejection: float,
    n_splits: int | None,
    held_out: float,
    random_state: Any,
) -> dict[tuple[str, str], Threshold]:
    """Return a threshold for each space of a fitted model and each group of candidates.

    Parameters are those of :meth:`ZeroShotClassifier.calibrate_rejection`.
    """
    if not 0 <= as_number(max_false_rejection, "max_false_rejection") < 1:
        raise ValueError(f"max_false_rejection must be a share from 0 to less than 1, but is {max_false_rejection}")
    folds, testing = drawn_folds(
        model, samples, n_splits=n_splits, held_out=held_out, random_state=random_state, at_least=LEAST_CANDIDATES
    )
    found: dict[tuple[str, str], list[_Pair]] = {}
    for twin, unseen_rows, seen_rows in fold_models(model, samples, folds, testing):
        for space in model.SPACES:
            bias = model.bias_in(space)
            among = {group: twin.recogniser(candidates=group, seen_penalty=bias, space=space) for group in GROUPS}
            for group, pair in _pairs_of_fold(among, samples, unseen_rows, seen_rows).items():
                found.setdefault((space, group), []).append(pair)
    return {key: Threshold.of(pairs, max_false_rejection) for key, pairs in found.items()}


def _pairs_of_fold(
    among: dict[str, Recogniser],
    samples: Samples,
    unseen_rows: IntArray,
    seen_rows: IntArray,
) -> dict[str, _Pair]:
    """Return the best scores of known samples and strangers of a fold, for each group of candidates.

    Strangers are always of classes that the model of the fold was not trained on. Among its training classes these are
    strangers as they are; elsewhere their own class is left out.
    """
    unseen, everywhere = (
        TwoLooks.joined(looked_at(samples.only(unseen_rows), TwoLooksAt(among[group]))) for group in ("unseen", "all")
    )
    trained_of_all, trained, others = (
        np.concatenate([np.empty(0), *looked_at(samples.only(rows), OneLookAt(among[group]))])
        for group, rows in (("all", seen_rows), ("seen", seen_rows), ("seen", unseen_rows))
    )
    return {
        "seen": (trained, others),
        "unseen": (unseen.known, unseen.strangers),
        "all": (np.concatenate([everywhere.known, trained_of_all]), everywhere.strangers),
    }
