"""Synthesised classifiers: those of any class are combinations of those of phantom classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import pinv
from scipy.spatial.distance import cdist, pdist
from scipy.special import softmax

from jcmspl.data.normalisation import parse_feature_normalisation, parse_normalisation
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.named_arrays import NamedArrays, Shape
from jcmspl.model.parameters import NOT_NEGATIVE, WEIGHT, checked_by
from jcmspl.model.scorers import LinearScorer
from jcmspl.support.arguments import Float64Array


@dataclass(kw_only=True, eq=False, repr=False)
class Synthesised(ZeroShotClassifier):
    """A method that learns linear classifiers of the seen classes, and synthesises those of others.

    The phantom classes are where the seen ones are. With S the similarities of seen classes to them and W the
    classifiers of seen classes, the base classifiers are ``V = pinv(S) W``, and that of a class with similarities s is
    ``s V``.

    Parameters
    ----------
    penalty : float
        The paper's λ: ``penalty / 2 |W|^2`` is added to the loss.
    tau : float
        How sharply classes differ: with 0 all candidates are the same, and a large one makes a class its nearest seen
        one. It may be changed after a fit.
    """

    penalty: float = field(default=2.0**-16, kw_only=False, metadata=WEIGHT)
    tau: float = field(default=0.5, metadata=NOT_NEGATIVE)
    feature_normalisation: str = field(default="sample_l2", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2", metadata=checked_by(parse_normalisation))

    LINEAR: ClassVar[bool] = True
    COMPARISON: ClassVar[tuple[str, ...]] = ("tau",)
    ARRAYS: ClassVar[dict[str, Shape]] = {"classifiers": ("c", "m"), "phantoms": ("c", "d"), "unit": ()}

    def _scorer(self, class_vectors: Float64Array, space: str) -> LinearScorer:
        phantoms, unit = self.arrays_["phantoms"], float(self.arrays_["unit"])
        base = pinv(similarities(phantoms, phantoms, self.tau)) @ self.arrays_["classifiers"]
        weights = similarities(class_vectors / unit, phantoms, self.tau) @ base
        return LinearScorer(weights, np.zeros(len(weights)))


def learnt(classifiers: Float64Array, class_vectors: Float64Array) -> NamedArrays:
    """Return what the classifiers and vectors of seen classes are kept as: the unit is a usual distance of vectors."""
    distances = pdist(class_vectors)
    unit = float(np.median(distances[distances > 0])) if distances.any() else 1.0
    return {"classifiers": np.ascontiguousarray(classifiers), "phantoms": class_vectors / unit, "unit": np.array(unit)}


def similarities(vectors: Float64Array, phantoms: Float64Array, tau: float) -> Float64Array:
    """Return how much each phantom class is part of each class; the parts of a class add up to 1."""
    return np.asarray(softmax(-tau * cdist(vectors, phantoms, "sqeuclidean"), axis=1))
