"""Prototypes: where a class lies among samples, from all that is known of it.

A model predicts a direction u for a class from the class vector. Where there are labelled samples z of the class, too,
the prototype is a combination of both; and where samples and class vectors come from one encoder, or from two that
were trained to agree, the class vector itself is one more witness.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledSums
from jcmspl.data.labels import Label
from jcmspl.data.normalisation import Normalisation
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.exceptions import AlignmentWarning
from jcmspl.support.scaling import unit_and_length, unit_length
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.bilinear import Bilinear

#: The share of the plain cosine in the score of classes without samples, where encoders are aligned, and how many
#: samples of a class the cosine, or the model's prediction, is worth. They are constants: the variance within classes
#: over that of class means around predictions, measured on training classes, ranks data sets in the wrong order.
NEW_SHARE, COSINE_COUNT = 0.7, 3.0
#: The share of the plain cosine in the score of all classes where training classes have one sample each: nothing tells
#: how samples of a class differ, and they are not whitened.
LONE_SHARE = 0.9
#: The share of samples in the prototype of a training class where encoders are not aligned.
SEEN_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labelled samples of some of the candidate classes: their sums (scaled, not yet normalised) and numbers.

    ``rows`` are the candidates that have samples, ``is_trained`` tells on which of them the model was trained.
    """

    rows: IntArray
    sums: Float64Array
    counts: Float64Array
    is_trained: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, table: ClassTable, samples: LabelledSums, known: ClassTable, trained: list[Label]) -> Evidence:
        """Return the samples of candidates in a model that knows some classes, and was trained on some of them.

        A number may name another class than it did before: only an equal vector tells that samples are of a candidate.
        """
        has_samples = [i for i, label in enumerate(table) if label in samples and label in known]
        labels = list(table)
        rows = [i for i in has_samples if np.array_equal(table.vectors[i], known[labels[i]])]
        where = samples.positions([labels[i] for i in rows])
        of_training = set(trained)
        is_trained = np.array([labels[i] in of_training for i in rows], dtype=bool)
        return cls(np.array(rows, dtype=np.int64), samples.sums[where], samples.counts[where], is_trained)

    def only(self, wanted: npt.NDArray[np.bool_]) -> Evidence:
        """Return a part of it."""
        return Evidence(self.rows[wanted], self.sums[wanted], self.counts[wanted], self.is_trained[wanted])


class Prototypes(NamedTuple):
    """A row for each class, and the factor with which the model's prediction is part of it."""

    vectors: Float64Array
    shares: Float64Array


def combined(
    predicted: Float64Array,
    evidence: Evidence,
    normalisation: Normalisation,
    *,
    seen_mean_share: float | Float64Array,
    prediction_count: float,
    sample_length: float | None,
) -> Prototypes:
    """Combine predicted prototypes u with the labelled samples z.

    Of a training class that is ``(1 - s) u + s unit(mean z)``, with s the ``seen_mean_share``; elsewhere
    ``kappa u + sum z``, with kappa the ``prediction_count``: infinity leaves samples out. With ``sample_length``, the
    length of a usual sample, directions are combined; None: points p are, ``(1 - s) p + s mean z`` and
    ``(kappa p + sum z) / (kappa + n)``.
    """
    shares = np.ones(len(predicted))
    seen = np.broadcast_to(np.asarray(seen_mean_share, dtype=np.float64), evidence.counts.shape)
    counted = np.where(evidence.is_trained, seen > 0, np.isfinite(prediction_count))
    part, seen = evidence.only(counted), seen[counted]
    if not len(part.rows):
        return Prototypes(predicted, shares)
    sums = normalisation.of_sums(part.sums, part.counts)
    kappa = prediction_count if np.isfinite(prediction_count) else 0.0
    if sample_length is None:
        total = kappa + part.counts
        share = np.where(part.is_trained, 1 - seen, kappa / total)
        factor = np.where(part.is_trained, seen / part.counts, 1 / total)
    else:
        largest = max(kappa, 1.0)  # so that a huge one does not overflow
        share = np.where(part.is_trained, 1 - seen, kappa / largest)
        factor = np.where(part.is_trained, seen / lengths_of(sums), 1 / (sample_length * largest))
    mixed = share[:, None] * predicted[part.rows] + factor[:, None] * sums
    if sample_length is not None:
        lengths = lengths_of(mixed)
        mixed, share = mixed / lengths[:, None], share / lengths
    vectors = predicted.copy()
    vectors[part.rows], shares[part.rows] = mixed, share
    return Prototypes(vectors, shares)


def require_alignable(features: Normalisation, classes: Normalisation, metric: Any = "cosine") -> None:
    """Refuse to compare samples with class vectors where they cannot be compared."""
    m, d = len(features.shift), len(classes.shift)
    if metric != "cosine":
        raise ValueError(
            f"cosine_share takes metric='cosine', but the metric is {metric!r}: leave cosine_share at 0, or change it"
        )
    if m != d:
        raise ValueError(
            f"cosine_share compares samples with class vectors themselves, but samples have {m} features and class "
            f"vectors {d} attributes: leave cosine_share at 0, or use samples and class vectors of one encoder"
        )
    if features.scaling.power:
        raise ValueError(
            "cosine_share compares samples with class vectors themselves, but the feature_normalisation takes roots of "
            "samples: leave cosine_share at 0, or 'power' (or 'auto_power') out of feature_normalisation"
        )


def with_class_vectors(
    scorer: LinearScorer,
    vectors: Float64Array,
    normalisation: Normalisation,
    shares: Float64Array,
    ratio: float,
    level: Float64Array | None = None,
) -> LinearScorer:
    """Return a scorer in whose scores the cosine of sample and class vector, times the ratio, has a share by class.

    Image and text vectors have much in common that tells no class from another. It adds the same to all scores unless
    shares differ: then classes with the larger share would always win. ``level``, the mean direction of class vectors,
    is what is subtracted there.
    """
    own = unit_length(vectors)
    if level is not None:
        own[own.any(axis=1)] -= level  # a class of which nothing is known stays neutral
    weights, offsets = normalisation.unfolded(own)
    of_cosine = shares * ratio
    return LinearScorer(
        (1 - shares)[:, None] * scorer.weights + of_cosine[:, None] * weights,
        (1 - shares) * scorer.offsets + of_cosine * offsets,
    )


def ratio_of_spreads(
    predicted: Float64Array, vectors: Float64Array, class_means: Float64Array, normalisation: Normalisation
) -> float:
    """Return the spread of a model's scores over classes, divided by that of the cosines of samples and class vectors.

    Measured on the mean samples of the training classes, given the prediction and the vector of each.
    """
    model = spread_over_classes(normalisation.of_sums(class_means, np.ones(len(class_means))) @ predicted.T)
    cosine = spread_over_classes(class_means @ unit_length(vectors).T)
    return model / cosine if model > 0 and cosine > 0 else 1.0


def lengths_of(rows: Float64Array) -> Float64Array:
    """Return the lengths of rows, to divide by: 1 for a row of zeros."""
    lengths = unit_and_length(rows)[1]
    return np.where(lengths > 0, lengths, 1.0)


def spread_over_classes(scores: Float64Array) -> float:
    """Return the standard deviation of scores, a row for each sample, around the mean of each row."""
    return float((scores - scores.mean(axis=1, keepdims=True)).std())


# Samples whose mean square length differs from 1 by more are not of length one.
_UNIT = 0.01


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
