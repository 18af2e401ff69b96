"""Which constants of an adaptation suit training classes that play unseen ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from jcmspl.data.labels import label_array, numbered
from jcmspl.data.samples import Samples
from jcmspl.model.adaptation_rounds import Settings
from jcmspl.model.adapting import adaptation_to, directions_of, scorer_without_adaptation
from jcmspl.model.labelled_samples import named_samples
from jcmspl.support.arguments import IntArray

_PULLS = (0.03, 0.1, 0.3, 1.0)
_TEMPERATURES = (0.01, 0.02, 0.05, 0.1)


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

    def __call__(self, model: Any, samples: Samples, rows: IntArray) -> None:
        """Try all settings on a model, and on the samples in some rows, all of them of unseen classes."""
        fitted = model._fitted
        table = fitted.class_table.select(fitted.unseen_classes.tolist())
        layer, labelled = scorer_without_adaptation(model, table), model._labelled(table)
        own = samples.only(rows)
        true = numbered(own.labels, table)
        none, counts = np.zeros(table.n_classes), np.bincount(true, minlength=table.n_classes)
        with directions_of(own, fitted.feature_normalisation, table.n_classes, progress=False) as directions:
            accuracies = []
            for setting in self._settings:
                found = adaptation_to(directions, table, layer, labelled, Settings(*setting), none, check=False)
                scorer = found.scorer(table)
                assert scorer is not None  # an adaptation that was not checked is trusted
                recogniser = scorer.recogniser(fitted.feature_normalisation, label_array(table), none)
                right = named_samples(own, recogniser) == true
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
