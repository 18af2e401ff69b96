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

#: Which of the classes that violate the margin a step uses: one at random, the worst, or all, weighted by rank.
VIOLATORS = ("any", "worst", "all")


class BilinearRanking:
    """Maps ``W_k`` that learn to score the class of a sample highest: ``F(x, j) = max over k of s_j' W_k x``.

    A class j other than the sample's own violates the margin if ``F(x, j) + margin > F(x, own)``. A step for a sample
    adds ``learning_rate (s_own - s_j) x'`` to the map; with several maps, each part goes to the map that gave the
    score. The products of many samples are computed at once, which changes only the speed.

    Of the classes that violate the margin ("violators") a step takes one at random ("any"), the one with the highest
    score ("worst"), or all r of them ("all"), each with the weight ``(1 + 1/2 + ... + 1/r) / r``. ``average``: whether
    to compute mean_maps.
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
        """Take one step per sample, in order; return the loss and the number of samples whose margin was violated.

        A sample's weight multiplies its step and its loss. The loss is the sum over samples before each step: of all
        violations of the margin for "any", the largest for "worst", the weighted sum for "all".
        """
        samples = as_matrix(X, "X")
        if samples.shape[1] != self.n_features:
            raise ValueError(f"X has {samples.shape[1]} features, but the maps have {self.n_features}")
        weights = None if sample_weight is None else as_sample_weights(sample_weight, len(samples))
        return self._core.learn(samples, as_labels(labels, len(samples), self.n_classes), weights)

    @property
    def choices(self) -> IntArray:
        """The number of samples so far whose own class was scored by each map."""
        return np.array(self._core.choices, dtype=np.int64)

    def keep(self, maps: npt.NDArray[np.int64]) -> None:
        """Keep only the maps with these numbers, in ascending order."""
        self._core.keep(maps.tolist())

    @property
    def maps(self) -> Float64Array:
        """A copy of the maps after the last step."""
        return self._core.maps

    @property
    def mean_maps(self) -> Float64Array:
        """The mean of the maps after each step so far; the maps themselves unless ``average``."""
        return self._core.mean_maps
