"""Test samples that the model was trained on: found, reported, or replaced by others."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.reading import in_chunks, plain_samples
from jcmspl.data.sample_digest import Overlap, SampleDigest
from jcmspl.datasets.dataset import TestSet
from jcmspl.evaluation.findings import TrainedOn
from jcmspl.support.arguments import ROWS, IntArray
from jcmspl.support.exceptions import TrainedOnWarning
from jcmspl.support.shown import shown
from jcmspl.support.warn import warn_user

_TESTED = ("test_seen", "test_unseen")


def with_test_parts(model: Any, dataset: Any) -> Any:
    """Return the data set with test parts of samples that the model was not trained on, unless it has its own.

    "test_unseen" is all samples of classes that the model was not trained on. "test_seen" is the samples that were held
    out of the same data by the fit; if the model has no record of them and the data set has no test parts at all, it is
    all samples of training classes whose hashes are not among those of the training samples.
    """
    dataset = dataset.with_labels_of(model.class_table_)
    if dataset.n_features != model.n_features_in_:
        raise ValueError(
            f"the samples of {shown(dataset.name)} have {dataset.n_features} features, but the model expects "
            f"{model.n_features_in_}"
        )
    has_parts = any(len(dataset.rows(part)) for part in _TESTED)
    if not dataset.unseen:
        # all samples of classes that the model was not trained on
        known = dataset.classes.positions(one for one in model.classes_.tolist() if one in dataset.classes)
        rows = np.sort(np.concatenate([dataset.rows("trainval"), dataset.rows("test_seen")]))
        dataset = with_parts(dataset, {"test_unseen": rows[~np.isin(dataset.class_numbers[rows], known)]})
    if len(dataset.rows("test_seen")):
        return dataset
    rows = dataset.rows("trainval")
    held_out = getattr(model, "held_out_", None)
    if held_out is not None and held_out.fits(rows, dataset.y[rows]):
        return dataset.held_out(held_out.share, held_out.random_state)
    digest: SampleDigest | None = getattr(model, "training_digest_", None)
    if has_parts or digest is None:
        return dataset
    found, decided = _looked_up(digest, dataset.X, rows)
    return with_parts(dataset, {"test_seen": rows[decided & ~found]})


def with_seen_and_unseen(dataset: Any, random_state: int) -> Any:
    """Return a data set with test samples of seen classes, drawn if it has none; refuse one without unseen classes."""
    if not dataset.unseen:
        raise ValueError(
            f"the data set {shown(dataset.name)} has no samples of unseen classes to test with: hold some classes out "
            "(unseen or split, --unseen SHARE or --split FILE)"
        )
    return dataset if len(dataset.rows("test_seen")) else dataset.held_out(0.2, random_state)


def trained_on(model: Any, dataset: Any) -> TrainedOn | None:
    """Count the test samples that the model was trained on; None if it does not remember its training samples."""
    digest: SampleDigest | None = getattr(model, "training_digest_", None)
    if digest is None:
        return None
    overlaps = {part: Overlap.of(*_looked_up(digest, dataset.X, dataset.rows(part))) for part in _TESTED}
    counts = {part: overlap.n_estimated for part, overlap in overlaps.items()}
    return TrainedOn(**counts, is_exact=all(overlap.is_exact for overlap in overlaps.values()))


def warn_or_refuse(found: TrainedOn | None, n_samples: dict[str, int], *, allow: bool) -> None:
    """Warn of test samples in the training data; raise ValueError if most of a part is, unless ``allow`` is set."""
    if found is None:
        return
    texts = found.sentences(n_samples)
    mostly = any(2 * getattr(found, part) > n_samples[part] for part in _TESTED)
    if mostly and not allow:
        raise ValueError(
            f"{'; '.join(texts)}: accuracy on them is not that on new samples. Test on samples that the model was not "
            "trained on (the default: leave --hold-out, --unseen and --split out), fit it again with the same "
            "--hold-out and --seed, or allow such samples (allow_trained=True, --allow-trained)"
        )
    for text in texts:
        warn_user(f"{text}: accuracy on them is not that on new samples", TrainedOnWarning)


def with_parts(dataset: Any, new: dict[str, IntArray]) -> Any:
    """Return the data set with the given rows moved to other parts."""
    taken = np.concatenate(list(new.values()))
    parts = {**{part: np.setdiff1d(rows, taken) for part, rows in dataset.parts.items()}, **new}
    fields = {one.name: getattr(dataset, one.name) for one in dataclasses.fields(dataset) if one.init}
    return TestSet(**{**fields, "parts": parts})


def _looked_up(digest: SampleDigest, X: Any, rows: IntArray) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Tell which rows are in a digest, and for which rows the digest can tell."""
    if not len(rows):
        return np.empty(0, dtype=bool), np.empty(0, dtype=bool)
    found = [plain_samples(chunk).looked_up(digest) for _, chunk in in_chunks(X, rows, ROWS)]
    in_it, decided = zip(*found, strict=True)
    return np.concatenate(in_it), np.concatenate(decided)
