"""Learning to rank classes by a bilinear score, one sample at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.support.arguments import (
    Float64Array,
    IntArray,
    as_labels,
    as_matrix,
    as_number,
    as_sample_weights,
    as_weight,
    one_of,
)

#: What a step learns from, of all classes that violate the margin: one of them at random, the worst, or all by rank.
VIOLATORS = ("any", "worst", "all")


class BilinearRanking:
    """Maps ``W_k`` that learn to score the class of a sample highest: ``F(x, j) = max over k of s_j' W_k x``.

    A class j that is not the sample's own violates the margin if ``F(x, j) + margin > F(x, own)``. A step for a sample
    adds ``learning_rate (s_own - s_j) x'`` to the map; where there are several, each part to the map that gave the
    score. Products of many samples are taken at once, which changes nothing but the speed.

    Parameters
    ----------
    maps : ndarray of shape (n_maps, n_attributes, n_features)
        What to start with.
    class_vectors : array_like of shape (n_classes, n_attributes)
    violators : {"any", "worst", "all"}
        "any": j is one of the classes that violate the margin, each as likely as the others; that is the first in
        random order. "worst": the one of the highest score. "all": all r of them, with the weight
        ``(1 + 1/2 + ... + 1/r) / r`` each.
    margin, learning_rate : float
    seed : int
        Of what is random.
    average : bool
        Whether mean_maps is wanted.
    """

    def __init__(
        self,
        maps: npt.NDArray[np.float64],
        class_vectors: npt.ArrayLike,
        *,
        violators: str,
        margin: float,
        learning_rate: float,
        seed: int = 0,
        average: bool = False,
    ) -> None:
        vectors = as_matrix(class_vectors, "class_vectors")
        start = np.ascontiguousarray(maps, dtype=np.float64)
        if start.ndim != 3 or start.shape[1] != vectors.shape[1] or 0 in start.shape or not len(vectors):
            raise ValueError(
                f"maps must have the shape (n_maps, {vectors.shape[1]}, n_features) that the class vectors imply, but "
                f"have {start.shape}"
            )
        self.n_features, self.n_classes = start.shape[2], len(vectors)
        self._core = _core.Ranking(
            start,
            vectors,
            violators=getattr(_core.Violators, one_of(violators, "violators", VIOLATORS)),
            margin=as_number(margin, "margin"),
            rate=as_weight(learning_rate, "learning_rate"),
            seed=seed,
            average=bool(average),
        )

    def learn(
        self, X: npt.ArrayLike, labels: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> tuple[float, int]:
        """Take a step for each sample, in their order; what a sample weighs its step and its loss are multiplied by.

        Returns
        -------
        loss : float
            The sum over samples of the loss before each step: for "any" the sum of all violations of the margin, for
            "worst" the largest, for "all" the sum with its weight.
        n_updates : int
            The number of samples whose margin was violated.
        """
        samples = as_matrix(X, "X")
        if samples.shape[1] != self.n_features:
            raise ValueError(f"X has {samples.shape[1]} features, but the maps have {self.n_features}")
        weights = None if sample_weight is None else as_sample_weights(sample_weight, len(samples))
        return self._core.learn(samples, as_labels(labels, len(samples), self.n_classes), weights)

    @property
    def choices(self) -> IntArray:
        """For how many samples so far each map gave the score of their own class."""
        return np.array(self._core.choices, dtype=np.int64)

    def keep(self, maps: npt.NDArray[np.int64]) -> None:
        """Go on with some of the maps, given by their numbers, ascending."""
        self._core.keep(maps.tolist())

    @property
    def maps(self) -> Float64Array:
        """A copy of the maps after the last step."""
        return self._core.maps

    @property
    def mean_maps(self) -> Float64Array:
        """The mean over all steps so far of the maps after each, if it is wanted; else the maps."""
        return self._core.mean_maps
