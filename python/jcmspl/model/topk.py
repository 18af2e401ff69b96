"""What a recogniser says of samples that dask has as well as of those in memory: functions that travel."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, LabelArray
from jcmspl.data.partitions import Part, lazily, samples_dtype
from jcmspl.model.labelling import Namer
from jcmspl.model.probabilities import softmax
from jcmspl.model.recogniser import LinearRecogniser, Recogniser
from jcmspl.support.arguments import Float64Array, FloatArray


def named_or_none(namer: Namer, labels: LabelArray, X: npt.NDArray[Any]) -> LabelArray:
    """Return the labels of samples; the last label is that of samples that are rejected."""
    found = namer(X)
    rejected = np.asarray(found.rejected)
    return np.asarray(labels[np.where(rejected, len(labels) - 1, found.indices[:, 0])])


def shares_of(recogniser: Recogniser, temperature: float, X: npt.NDArray[Any]) -> FloatArray:
    """Return the softmax of the scores of samples."""
    return softmax(recogniser.scores_less_lead(X), temperature)


def scores_dtype(recogniser: Recogniser, X: npt.NDArray[Any]) -> npt.DTypeLike:
    """Return the dtype of the scores of samples."""
    return samples_dtype(X) if isinstance(recogniser, LinearRecogniser) else np.float64


def lazy_topk(recogniser: Recogniser, X: Any, k: int) -> tuple[Any, Any]:
    """Return labels and scores as arrays of dask, which share the work."""
    both = lazily(partial(_indices_and_scores, recogniser, k), X, np.float64, 2 * k)
    labels, dtype = recogniser.labels, scores_dtype(recogniser, X)
    named = both[:, :k].map_blocks(partial(_labels_at, labels), dtype=labels.dtype, meta=labels[:0].reshape(0, 1))
    return named, both[:, k:].astype(dtype)


def _indices_and_scores(recogniser: Recogniser, k: int, X: npt.NDArray[Any]) -> Float64Array:
    return np.concatenate(recogniser.top_k(X, k), axis=1, dtype=np.float64)


def _labels_at(labels: LabelArray, indices: npt.NDArray[Any]) -> LabelArray:
    return np.asarray(labels[indices.astype(np.int64)])


def right_in(part: Part, recogniser: Recogniser) -> Counter[Label]:
    """Return what the samples of each label weigh that are recognised."""
    right: Counter[Label] = Counter()
    for block in part.blocks():
        weights = np.ones(len(block.X)) if block.weights is None else block.weights
        named = recogniser.predict(block.X).tolist()
        for label, other, weight in zip(block.labels, named, weights.tolist(), strict=True):
            right[label] += weight * (label == other)
    return right
