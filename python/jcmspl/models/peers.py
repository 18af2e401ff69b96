"""Linear peers: other classical models of zero-shot recognition, on the same statistics and with the same methods.

==============  ==================================================================  ======================
class           what it minimises                                                   compares in
==============  ==================================================================  ======================
RidgeVS         ``|WX - Y|^2 + alpha |W|^2``                                        the semantic space
FPL             ``|WX - Y|^2``, the W of least norm: RidgeVS for alpha -> 0         the semantic space
RPL             ``|X - WY|^2 + alpha |W|^2``                                        the visual space
SAE             ``|X - W'Y|^2 + weight |WX - Y|^2``                                 either
ESZSL           ``|X'VS - L|^2`` and penalties on V, VS and X'V                     by the bilinear form x'Vs
==============  ==================================================================  ======================

X holds a column for each sample, Y its class vector, S a column for each class, L the labels. Each is written as a pair
of projections (A, B), so that recognition, calibration, explanations, files and ONNX export are those of JCMSPL. None
has an intercept: the default normalisation centres samples and class vectors.

All that grows with the number of samples happens in :class:`jcmspl.Statistics`. The eigenbases of the Gram matrices do
not depend on the penalties, so that a search over these shares them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.models.model import OnIteration, ZeroShotModel
from jcmspl.support.arguments import Float64Array

_DECADES = tuple(10.0**power for power in range(-2, 4))


class Eigenbasis:
    """The eigenvectors (columns) of a Gram matrix whose eigenvalues are above rounding noise.

    What lies in the other directions is rounding; leaving them out makes solutions those of least norm.
    """

    def __init__(self, gram: Float64Array) -> None:
        values, vectors = np.linalg.eigh(gram)
        kept = values > np.finfo(np.float64).eps * len(gram) * values[-1]
        self.values: Float64Array = values[kept]
        self.vectors: Float64Array = vectors[:, kept]

    def solve(self, rows: Float64Array, penalty: float) -> Float64Array:
        """Return ``rows @ inv(gram + penalty I)``; for penalty 0 with the pseudo-inverse."""
        return np.asarray(((rows @ self.vectors) / (self.values + penalty)) @ self.vectors.T)


class Moments:
    """What all linear peers need of normalised samples and class vectors."""

    def __init__(self, statistics: Statistics, class_vectors: Float64Array) -> None:
        self._statistics = statistics
        self.vectors = class_vectors  # S', a row for each class
        self.sums = statistics.class_sums  # (XL)' for labels 0 and 1
        self.cross: Float64Array = class_vectors.T @ self.sums  # YX'

    @cached_property
    def visual(self) -> Eigenbasis:
        """The basis of XX'."""
        return Eigenbasis(self._statistics.gram)

    @cached_property
    def semantic(self) -> Eigenbasis:
        """The basis of YY', where each class counts as often as it has samples."""
        return Eigenbasis((self.vectors.T * self._statistics.counts) @ self.vectors)

    @cached_property
    def classes(self) -> Eigenbasis:
        """The basis of SS', where each class counts once."""
        return Eigenbasis(self.vectors.T @ self.vectors)


class LinearPeer(ZeroShotModel):
    """A map W between samples and class vectors: A = W and B = I, so that B'Ax = Wx and A'By = W'y."""

    def _shared(self, statistics: Statistics, class_vectors: Float64Array) -> Moments:
        return Moments(statistics, class_vectors)

    def _learnt(self, shared: Moments, on_iteration: OnIteration | None = None) -> dict[str, Any]:
        W = np.ascontiguousarray(self._map(shared))
        return {"visual_projection_": W, "semantic_projection_": np.eye(len(W))}

    def _map(self, moments: Moments) -> Float64Array:
        """Return W, (n_attributes, n_features)."""
        raise NotImplementedError


class RidgeVS(LinearPeer):
    """Ridge regression of class vectors on samples: ``min |WX - Y|^2 + alpha |W|^2``.

    Parameters
    ----------
    alpha : float, default 1.0
    space : {"semantic", "visual", "concept"}, default "semantic"
        Compare Wx with y (as does "concept"), or x with W'y.
    metric, feature_normalisation, class_normalisation, seen_bias, temperature, progress
        As for :class:`jcmspl.JCMSPL`.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W. The other fitted attributes are those of :class:`jcmspl.JCMSPL` that have to do with data and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import RidgeVS
    >>> vectors = {"zebra": [1.0, 1, 0], "horse": [0, 1, 0], "tiger": [1, 0, 1], "lion": [0, 0, 1]}
    >>> y = np.repeat(["zebra", "horse", "lion"], 5)
    >>> X = np.array([vectors[name] for name in y]) + 0.01 * np.random.default_rng(0).standard_normal((15, 3))
    >>> RidgeVS(alpha=0.1).fit(X, y, class_vectors=vectors).predict([[1.0, 0, 1]], candidates=["tiger", "horse"])
    array(['tiger'], dtype='<U5')
    """

    _PENALTIES = ("alpha",)
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"alpha": _DECADES}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        space: str = "semantic",
        metric: Any = "cosine",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        progress: bool = True,
    ) -> None:
        self.alpha = alpha
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.progress = progress

    def _map(self, moments: Moments) -> Float64Array:
        return moments.visual.solve(moments.cross, self.alpha)


class FPL(LinearPeer):
    """Least squares from samples to class vectors, ``min |WX - Y|^2``, the W of least norm where several do.

    The paper's "forward projection learning", without a concept space: :class:`RidgeVS` for alpha -> 0.

    Parameters
    ----------
    space, metric, feature_normalisation, class_normalisation, seen_bias, temperature, progress
        As for :class:`RidgeVS`.
    """

    def __init__(
        self,
        *,
        space: str = "semantic",
        metric: Any = "cosine",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        progress: bool = True,
    ) -> None:
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.progress = progress

    def _map(self, moments: Moments) -> Float64Array:
        return moments.visual.solve(moments.cross, 0.0)


class RPL(LinearPeer):
    """Ridge regression of samples on class vectors: ``min |X - VY|^2 + alpha |V|^2``, compared in the visual space.

    The "reverse projection", which suffers less from hubs than :class:`RidgeVS`.

    Parameters
    ----------
    alpha : float, default 1.0
    space : {"visual", "semantic", "concept"}, default "visual"
        Compare x with Vy, or V'x with y.
    metric, feature_normalisation, class_normalisation, seen_bias, temperature, progress
        As for :class:`RidgeVS`.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        V'.
    """

    _PENALTIES = ("alpha",)
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"alpha": _DECADES}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        space: str = "visual",
        metric: Any = "cosine",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        progress: bool = True,
    ) -> None:
        self.alpha = alpha
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.progress = progress

    def _map(self, moments: Moments) -> Float64Array:
        return moments.semantic.solve(moments.cross.T, self.alpha).T


class SAE(LinearPeer):
    """Semantic autoencoder (Kodirov, Xiang, Gong, 2017): ``min |X - W'Y|^2 + weight |WX - Y|^2``.

    Its solution is that of the Sylvester equation ``YY' W + W (weight XX') = (1 + weight) YX'``, both of whose
    coefficients are symmetric, so that it is solved in their eigenbases; where it is singular by the W of least norm.

    Parameters
    ----------
    weight : float, default 1.0
        The paper's λ.
    space : {"semantic", "visual", "concept"}, default "semantic"
        Compare Wx with y (as does "concept"), or x with W'y.
    metric, feature_normalisation, class_normalisation, seen_bias, temperature, progress
        As for :class:`RidgeVS`.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.
    """

    _PENALTIES = ("weight",)
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {"weight": _DECADES, "space": ("semantic", "visual")}

    def __init__(
        self,
        weight: float = 1.0,
        *,
        space: str = "semantic",
        metric: Any = "cosine",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        progress: bool = True,
    ) -> None:
        self.weight = weight
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.progress = progress

    def _map(self, moments: Moments) -> Float64Array:
        U, s = moments.semantic.vectors, moments.semantic.values
        V, g = moments.visual.vectors, moments.visual.values
        # In the other directions the right side is zero as well: Y vanishes where YY' does, X where XX' does.
        rotated = (U.T @ moments.cross) @ V
        rotated *= (1 + self.weight) / (s[:, None] + self.weight * g)
        return np.asarray(U @ rotated @ V.T)


class ESZSL(LinearPeer):
    """Embarrassingly simple zero-shot learning (Romera-Paredes, Torr, 2015).

    ``V = (XX' + gamma I)^-1 X L S' (SS' + lambda I)^-1``, with L the labels, a row for each sample, and S a column for
    each class; a sample's class is that of the highest x'Vs.

    Parameters
    ----------
    visual_penalty : float, default 1.0
        The paper's γ.
    semantic_penalty : float, default 1.0
        The paper's λ.
    negative_label : float, default -1.0
        What L holds for the classes that a sample is not of; 1 for its own. -1 as published; 0 is common elsewhere. On
        centred samples the choice makes no difference but to the scale of the scores.
    space : {"semantic", "visual", "concept"}, default "semantic"
        Compare V'x with s (as does "concept"), or x with Vs.
    metric : {"dot", "cosine", "euclidean"} or callable, default "dot"
        "dot" is the published one, x'Vs.
    feature_normalisation, class_normalisation, seen_bias, temperature, progress
        As for :class:`RidgeVS`.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        V'.
    """

    _PENALTIES = ("visual_penalty", "semantic_penalty")
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {
        "visual_penalty": _DECADES,
        "semantic_penalty": _DECADES,
        "space": ("semantic", "visual"),
        "metric": ("dot", "cosine"),
    }

    def __init__(
        self,
        visual_penalty: float = 1.0,
        semantic_penalty: float = 1.0,
        *,
        negative_label: float = -1.0,
        space: str = "semantic",
        metric: Any = "dot",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        progress: bool = True,
    ) -> None:
        self.visual_penalty = visual_penalty
        self.semantic_penalty = semantic_penalty
        self.negative_label = negative_label
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.progress = progress

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (np.isfinite(float(self.negative_label)) and float(self.negative_label) < 1):
            raise ValueError(f"negative_label must be a number below 1, but is {self.negative_label}")

    def _map(self, moments: Moments) -> Float64Array:
        negative = float(self.negative_label)
        # (XL)', a row for each class: a sum over all samples, and more of it for those of the class
        targets = (1 - negative) * moments.sums + negative * moments.sums.sum(axis=0)
        right = moments.visual.solve(targets, self.visual_penalty)
        return moments.classes.solve((moments.vectors.T @ right).T, self.semantic_penalty).T
