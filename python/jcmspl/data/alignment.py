"""Aligned encoders: whether samples and class vectors can be compared as they are, by their plain cosine.

Image and text vectors of CLIP and its kin are trained to agree; so are sentences and class names of one text encoder.
The class sums tell: with aligned encoders the mean sample of most classes is nearest to the vector of its own class,
otherwise one class in all of them is so by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length

# Classes that are compared with each other at most: the product of all pairs of 20,000 would take longer than a fit.
_MOST_CLASSES = 1000
# Aligned sets have shares above 0.8, others one in the number of classes. Below this share the cosine is of little use.
_LEAST_SHARE = 0.2
# The largest probability of so many hits by chance. With a handful of classes a strict limit would refuse aligned ones,
# and a wrong yes costs little there: a model that is trained on so few classes knows next to nothing of others.
_CHANCE = 1 / 16
# Samples that are class vectors themselves, but for rounding.
_THE_SAME = 0.999


@dataclass(frozen=True)
class Alignment:
    """How well mean samples of the training classes agree with the class vectors.

    Attributes
    ----------
    share : float
        The share of training classes whose mean sample is nearest, by plain cosine, to the vector of its own class.
    n_classes : int
        The number of classes that were compared: all, or 1,000 of more.
    mean_cosine : float
        The mean cosine of a class mean and the vector of its own class.
    """

    share: float
    n_classes: int
    mean_cosine: float

    @classmethod
    def of(cls, class_means: Float64Array, class_vectors: Float64Array) -> Alignment | None:
        """Compare mean samples with class vectors, a row for each class; None if they differ in length."""
        if class_means.shape[1] != class_vectors.shape[1]:
            return None
        c = len(class_means)
        chosen = np.arange(c) if c <= _MOST_CLASSES else np.linspace(0, c - 1, _MOST_CLASSES).astype(np.int64)
        cosines = unit_length(class_means[chosen]) @ unit_length(class_vectors[chosen]).T
        own = cosines.diagonal().copy()
        np.fill_diagonal(cosines, -np.inf)
        # a class whose vector another class has too is no evidence, whatever rounding makes of the tie
        hits = own > cosines.max(axis=1) + 1e-9
        return cls(float(hits.mean()), len(chosen), float(own.mean()))

    @property
    def is_aligned(self) -> bool:
        """Whether samples and class vectors can be compared as they are."""
        hits = round(self.share * self.n_classes)
        if hits == self.n_classes:
            return True
        by_chance = float(binom.sf(hits - 1, self.n_classes, 1 / self.n_classes))
        return self.share >= _LEAST_SHARE and by_chance <= _CHANCE

    @property
    def is_identity(self) -> bool:
        """Whether the samples seem to be the class vectors themselves."""
        return self.mean_cosine > _THE_SAME

    def __str__(self) -> str:
        verdict = "aligned" if self.is_aligned else "not aligned"
        return (
            f"class vectors and samples are {verdict}: {100 * self.share:.0f} % of class means are nearest to their "
            "own vector"
        )
