"""The classes that a fitted model knows: those it gets to know or forgets, and those that are candidates of a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics, LabelledSums
from jcmspl.data.labels import Label, as_label_list, some, sorted_labels
from jcmspl.data.sample_digest import sum_if_known
from jcmspl.data.training import warn_of_zero_vectors
from jcmspl.datasets.class_files import load_classes
from jcmspl.model.fitted import FittedModel
from jcmspl.support.names import GROUPS as GROUPS
from jcmspl.support.shown import quoted

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

NO_VECTORS = "the model was trained without class_vectors, so it cannot know what other classes look like"


def extended(
    model: ZeroShotClassifier, class_vectors: Any, X: Any, y: Any, *, may_replace: bool = False
) -> FittedModel:
    """Return the state with further classes or samples; parameters are those of ``add_classes``."""
    fitted = model.state
    if X is None and (y is not None or class_vectors is None):
        missing = "y came without X" if y is not None else "nothing was given"
        raise ValueError(f"{missing}: pass class_vectors, or samples X and their labels y, or all of them")
    if fitted.given_table is None:
        raise ValueError(NO_VECTORS)
    if class_vectors is not None:
        fitted = with_vectors(fitted, class_vectors, may_replace=may_replace)
    if X is not None:
        scaling = fitted.feature_normalisation.scaling
        collector = Collector(fitted.class_table, *scaling, progress=bool(model.progress))
        new, _ = model.reader.without_balance().read(X, y, None, collector, fitted.columns)
        fitted = with_samples(fitted, new)
    return fitted


def with_vectors(fitted: FittedModel, class_vectors: Any, *, may_replace: bool = False) -> FittedModel:
    """Return a state that knows further classes by their vectors; may_replace: known ones may get new vectors."""
    if isinstance(class_vectors, (np.ndarray, list, tuple)):
        raise TypeError("class_vectors must name its classes: pass a dict, a DataFrame or a ClassTable")
    table = load_classes(class_vectors)
    classes = set(fitted.classes.tolist())
    trained = [label for label in table if label in classes]
    if trained:
        raise ValueError(f"the model was trained on {some(trained)}: their vectors cannot be changed")
    known = [label for label in table if label in fitted.class_table]
    if known and not may_replace:
        raise ValueError(f"the model knows {some(known)} already: pass replace=True to give them new vectors")
    warn_of_zero_vectors(table)
    merged = fitted.class_table.updated(table)
    adaptation = None if known else fitted.adaptation  # adapted to vectors that have changed
    return replace(fitted, class_table=merged, given_table=merged, adaptation=adaptation)


def with_samples(fitted: FittedModel, new: LabelledStatistics) -> FittedModel:
    """Return a state with further samples of classes that it knows and was not trained on."""
    classes = set(fitted.classes.tolist())
    trained = [label for label in new.labels if label in classes]
    if trained:
        raise ValueError(
            f"y holds {some(trained)}, which the model was trained on: use partial_fit to learn from more samples"
        )
    if fitted.collected is None:
        collected, samples = None, fitted.samples + LabelledSums.of(new)
    else:
        collected = fitted.collected + new
        samples = LabelledSums.of(collected)
    digest = sum_if_known(fitted.digest, new.digest)
    return replace(fitted, collected=collected, samples=samples, digest=digest, adaptation=None)


def without(fitted: FittedModel, labels: Any) -> FittedModel:
    """Return a state that has forgotten classes it was not trained on, and their samples."""
    if isinstance(labels, str):
        raise TypeError(f"labels must be a list of labels, but is the text {quoted(labels)}: pass [{labels!r}]")
    wanted = dict.fromkeys(as_label_list(sorted_labels(labels) if isinstance(labels, Set) else labels, "labels"))
    unknown = [label for label in wanted if label not in fitted.class_table]
    if unknown:
        known = fitted.class_table.others(fitted.classes.tolist())
        raise ValueError(
            f"the model does not know {some(unknown)}: those that can be removed are {some(known, 5) or 'none'}"
        )
    classes = set(fitted.classes.tolist())
    trained = [label for label in wanted if label in classes]
    if trained:
        raise ValueError(
            f"the model was trained on {some(trained)} and cannot forget that: leave them out of the candidates of "
            "a call, or fit it without them"
        )
    if not wanted:
        return fitted
    collected = fitted.collected
    if collected is not None and any(label in wanted for label in collected.labels):
        collected = None  # samples cannot be taken out of sums
    return replace(
        fitted,
        class_table=fitted.class_table.select(fitted.class_table.others(wanted)),
        given_table=None if fitted.given_table is None else fitted.given_table.without(wanted),
        collected=collected,
        samples=fitted.samples.without(wanted),
    )


class Call(NamedTuple):
    """The arguments of a call that tell among which classes to choose: ``class_vectors`` and ``candidates``.

    ``seen_penalty`` is subtracted from the scores of training classes; None: that of the model.
    """

    class_vectors: Any = None
    candidates: Any = None
    seen_penalty: float | None = None


def candidates_of(fitted: FittedModel, call: Call) -> tuple[ClassTable, npt.NDArray[np.bool_]]:
    """Return the candidate classes of a call, and which of them were seen in training.

    Vectors given at the call count where the model knows the class already; of a class it was trained on they may
    differ only where the given classes alone are candidates.
    """
    if call.class_vectors is not None and fitted.given_table is None:
        raise ValueError(NO_VECTORS)
    known, trained = fitted.class_table, fitted.classes.tolist()
    given = None if call.class_vectors is None else load_classes(call.class_vectors).aligned_with(known)
    if given is not None and call.candidates is not None:
        changed = [label for label in trained if label in given and not np.allclose(given[label], known[label])]
        if changed:
            raise ValueError(
                f"class_vectors has another vector for {some(changed)} than the model was trained with. If it is "
                "another class, give it another name (the names of an array, or of a DataFrame without an index, are "
                "row numbers)"
            )
    pool = known if given is None else known.updated(given)
    wanted = _wanted(pool, trained, given, call.candidates)
    if not wanted:
        raise ValueError(
            "there are no candidate classes: give class_vectors of classes that were not in the training data, "
            "or candidates='seen'"
        )
    table = pool.select(wanted, "candidates")
    # a number may name another class than it did in training: only an equal vector tells
    trained_set = set(trained)
    is_seen = [label in trained_set and np.array_equal(table[label], known[label]) for label in wanted]
    return table, np.array(is_seen)


def unseen_in(labels: Iterable[Label], known: ClassTable, seen: Iterable[Label]) -> list[Label]:
    """Return the classes among the labels that were not seen in training, as candidates for each other."""
    trained = set(seen)
    unseen = {label for label in labels if label not in trained}
    known.positions(unseen, "y")
    if len(unseen) == 1:
        raise ValueError(
            f"y holds the single unseen class {some([*unseen])}, which would be its only candidate: name the candidates"
        )
    return [label for label in known if label in unseen]


def _wanted(pool: ClassTable, trained: list[Label], given: ClassTable | None, candidates: Any) -> list[Label]:
    if candidates is None:
        return list(given) if given is not None else [*trained, *pool.others(trained)]
    if isinstance(candidates, str):
        if candidates not in GROUPS:
            raise ValueError(
                f"candidates must be one of {', '.join(map(repr, GROUPS))}, or a list of labels, but is "
                f"{quoted(candidates)}"
            )
        if candidates == "seen":
            return trained
        unseen = pool.others(trained)
        return unseen if candidates == "unseen" else [*trained, *unseen]
    if isinstance(candidates, Set):
        candidates = sorted_labels(candidates)
    labels = as_label_list(candidates, "candidates")
    twice = sorted_labels(label for label, count in Counter(labels).items() if count > 1)
    if twice:
        raise ValueError(f"candidates names some classes twice: {some(twice)}")
    return pool.own_labels(labels) if all(label in pool for label in labels) else labels
