"""What a recogniser says of samples that dask has as well as of those in memory: functions that travel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import LabelArray
from jcmspl.data.reading import lazily, lazily_both, samples_dtype
from jcmspl.model.labelling import Namer
from jcmspl.model.probabilities import softmax
from jcmspl.model.recogniser import LinearRecogniser, Recogniser
from jcmspl.support.arguments import FloatArray


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
    """Return labels and scores of the k best candidates, as arrays of dask for such samples."""
    dtypes = np.int64, scores_dtype(recogniser, X)
    indices, scores = lazily_both(partial(recogniser.top_k, k=k), X, dtypes, k)
    return lazily(partial(_labels_at, recogniser.labels), indices, recogniser.labels.dtype, k), scores


def _labels_at(labels: LabelArray, indices: npt.NDArray[Any]) -> LabelArray:
    return np.asarray(labels[indices])
