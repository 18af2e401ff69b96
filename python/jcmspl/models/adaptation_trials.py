"""Which constants of an adaptation suit training classes that play unseen ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, label_array, numbered
from jcmspl.models.directions import Directions, rows_at_a_time
from jcmspl.support.arguments import IntArray

_PULLS = (0.03, 0.1, 0.3, 1.0)
_TEMPERATURES = (0.01, 0.02, 0.05, 0.1)
_BLOCK = 8192  # samples that are read at a time


class AdaptationTrials:
    """Adapts models to samples of classes that they were not trained on, with each of some settings.

    Parameters
    ----------
    pull, temperature : float
        What is used unless another setting is better for sure.
    """

    def __init__(self, pull: float, temperature: float) -> None:
        self._settings = list(dict.fromkeys([(pull, temperature), *product(_PULLS, _TEMPERATURES)]))
        self._accuracies: list[list[float]] = []

    def __call__(self, model: Any, X: npt.NDArray[Any], labels: list[Label], rows: IntArray) -> None:
        """Try all settings on a model, and on the samples in some rows, all of them of unseen classes."""
        table = model.class_table_.select(model.unseen_classes_.tolist())
        true = numbered((labels[row] for row in rows), table)
        n_features, none = X.shape[1], np.zeros(table.n_classes)
        blocks = [rows[first : first + _BLOCK] for first in range(0, len(rows), _BLOCK)]
        counts = np.bincount(true, minlength=table.n_classes)
        with Directions(n_features, rows_at_a_time(n_features, table.n_classes)) as directions:
            model._read_unlabelled((X[block] for block in blocks), directions)
            accuracies = []
            for setting in self._settings:
                scorer = model._adapted_to(directions, table, none, *setting).scorer(table)
                recogniser = scorer.recogniser(model.feature_normalisation_, label_array(table), none)
                right = np.concatenate([recogniser.top_k(X[block], 1)[0][:, 0] for block in blocks]) == true
                shares = np.bincount(true, right, minlength=table.n_classes)[counts > 0] / counts[counts > 0]
                accuracies.append(float(shares.mean()))
        self._accuracies.append(accuracies)

    def chosen(self) -> tuple[float, float]:
        """Return the best setting, if it is better than that given by more than a standard error over the models."""
        accuracies = np.array(self._accuracies)
        best = int(accuracies.mean(axis=0).argmax())
        gains = accuracies[:, best] - accuracies[:, 0]
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        return self._settings[best if gains.mean() > error else 0]
