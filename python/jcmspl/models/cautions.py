"""What a user should know of training data that can be learnt from, but not well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.training import TrainingData
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user


def warn_of_lost_digits(raw: Statistics, training: TrainingData) -> None:
    """Warn of features that are so far from zero that their differences are lost in rounding errors.

    The Gram matrix of centred samples is what is left of that of the raw ones: 1e-9 of it has half of the digits.
    """
    before = raw.gram.diagonal() / training.features.scale**2
    features = training.features
    whitened = features.whitening is not None
    centred = replace(features, whitening=None).of_statistics(raw) if whitened else training.statistics
    after = centred.gram.diagonal()
    if not after.any():
        message = (
            "after normalisation all samples are the same, or their differences are too small beside their mean to be "
            "told from rounding errors: if they do differ, subtract a constant from X first"
        )
        warn_user(message, RuntimeWarning)
        return
    poor = np.flatnonzero((after > 0) & (after < 1e-9 * before))
    if len(poor):
        message = (
            f"{len(poor)} of the {len(before)} features (the first is number {poor[0]}) differ from their mean by less "
            "than 1 part in 30,000, so centring loses most of their digits: subtract a constant from them first"
        )
        warn_user(message, RuntimeWarning)


def warn_of_equal_vectors(table: ClassTable, normalisation: Normalisation) -> None:
    """Warn of classes that cannot be told apart because their vectors are the same once they are normalised."""
    vectors = normalisation.of_rows(table.vectors)
    rounded = np.round(vectors / (np.abs(vectors).max(initial=0) or 1), 9) + 0.0  # + 0.0: no negative zeros
    order = np.lexsort(rounded.T[::-1])
    same = np.flatnonzero(np.all(rounded[order[1:]] == rounded[order[:-1]], axis=1))
    if len(same):
        one, two = (list(table)[order[same[0] + i]] for i in range(2))
        warn_user(
            f"the classes {quoted(one)} and {quoted(two)} have the same class vector after {normalisation.name!r} and "
            "cannot be told apart: check the vectors, or try another class_normalisation ('center', 'zscore', 'none')",
            RuntimeWarning,
        )
