"""Warnings about training data from which a model can learn, but not well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.training import TrainingData
from jcmspl.support.exceptions import AlignmentWarning
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.bilinear import Bilinear

# Samples whose mean square length differs from 1 by more are not of length one.
_UNIT = 0.01


def warn_of_lost_digits(raw: Statistics, training: TrainingData) -> None:
    """Warn of features that are so far from zero that their differences are lost in rounding errors.

    The Gram matrix of centred samples is what is left of that of the raw ones: 1e-9 of it has half of the digits.
    """
    before, after = raw.squares / training.features.scale**2, training.features.squares_of(raw)
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


def warn_of_zero_vectors(table: ClassTable) -> None:
    """Warn of classes whose vectors say nothing."""
    empty = [label for label, vector in zip(table, table.vectors, strict=True) if not vector.any()]
    if empty:
        warn_user(
            f"the class vector of {some(empty)} is all zero, so nothing is known of that class: check where the vector "
            "comes from",
            RuntimeWarning,
        )


def warn_of_transposed(table: ClassTable, labels: Sequence[Label]) -> None:
    """Warn of an array that has as many columns as there are classes, and rows for more.

    The labels of an array are its row numbers, so that its transpose may fit as well. A square one cannot be told.
    """
    by_number = table.attributes is None and list(table) == list(range(table.n_classes))
    if by_number and table.n_classes > table.n_attributes == table.positions(labels).max() + 1:
        warn_user(
            f"class_vectors has {table.n_classes} rows and {table.n_attributes} columns, and y holds the classes up to "
            f"{table.n_attributes - 1}: if classes are its columns, pass class_vectors.T; if they are its rows, name "
            "the attributes, ClassTable(labels, vectors, attributes)",
            RuntimeWarning,
        )


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


def warn_of_alignment(model: Bilinear, alignment: Alignment, raw: Statistics) -> None:
    """Warn where the plain cosine of samples and class vectors is left out, or taken, by mistake."""
    share = model.cosine_share_
    if share and alignment.is_identity:
        warn_user(
            f"the mean samples of classes are their class vectors (mean cosine {alignment.mean_cosine:.4f}): if X "
            "holds vectors of texts, pass vectors of samples, such as pictures, instead",
            AlignmentWarning,
        )
    if isinstance(model.cosine_share, str):
        lengths = float(raw.squares.sum()) / raw.n_samples
        if share and not raw.unit_rows and abs(lengths - 1) > _UNIT:
            warn_user(
                f"{alignment}, but samples are not of length one (mean square {lengths:.3g}), and "
                f"feature_normalisation={model.feature_normalisation!r} leaves them so: start it with 'sample_l2+'",
                AlignmentWarning,
            )
        return
    own_default = next(field.default for field in fields(model) if field.name == "cosine_share")
    if (
        alignment.is_aligned
        and not model.cosine_share
        and model.cosine_share != own_default
        and model._compares_directions
    ):
        warn_user(
            f"{alignment}, but cosine_share=0 leaves their cosine out, which often recognises new classes better than "
            "a model: cosine_share='auto' combines both",
            AlignmentWarning,
        )
    if share and not alignment.is_aligned:
        warn_user(
            f"{alignment}, but cosine_share={model.cosine_share:g} compares them as they are: take both from one "
            "encoder or from two that were trained to agree, or leave cosine_share out",
            AlignmentWarning,
        )
