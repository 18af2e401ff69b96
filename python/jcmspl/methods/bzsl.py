"""Binary codes of samples and classes in one Hamming space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.scoring import AffineScorer
from jcmspl.core.similarities import HammingScorer, Words, packed_signs
from jcmspl.data.labels import LabelArray
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.iterations import Iterative, course, sums_by_class, weighted_samples
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import COUNT, SEED, WEIGHT, FittedArray, NamedArrays, estimator, field
from jcmspl.model.recogniser import Recogniser, lead_of, with_lead
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray, as_count, as_random_state, row_blocks

# Samples that are coded at a time.
_BLOCK = 2048
# Singular values below this part of the largest are rounding, or as good as.
_NOISE = 1e-6


@estimator
class BZSL(Iterative, ZeroShotClassifier):
    r"""Binary embeddings, after Shen et al. (2019): the class whose code differs in the fewest bits.

    ``max tr(B'CZ) + visual_weight tr(B'P'X) + semantic_weight tr(C'Q'AZ)`` over codes B of samples and C of classes,
    whose values are 1 and -1, and projections P and Q with orthonormal rows or columns; Z holds the labels, X centred
    samples and A centred class vectors, each scaled so that their mean square length is the number of bits. Each of
    the four has a closed form when the others are given: ``B = sign(CZ + visual_weight P'X)``, and so on; P and Q are
    the orthogonal factors of XB' and AZ(CZ)'. A sample is coded by sign(P'x), a class by sign(Q'a).

    From the paper are two coding functions, the auxiliary codes B and C, updates in closed form and the comparison by
    Hamming distances. This objective and the start, random directions for classes, are reconstructed; orthogonal
    factors are regressions where samples are white. Codes are packed, 64 bits to a word: many candidate classes take
    little memory and little time. A seen_penalty and a temperature count bits.

    Parameters
    ----------
    n_bits : int
        The length of the codes. It may exceed the number of features and of attributes.
    visual_weight, semantic_weight : float
        How much codes are to agree with what is projected, where 1 is how much those of a sample and its class are to
        agree with each other.
    tol
        Iterations end when one raises the objective by less than this part of it.

    Attributes
    ----------
    objective_
        The value of the objective, per sample and bit, after each iteration; it never falls.
    """

    feature_normalisation: str = "sample_l2+center+whiten"
    n_bits: int = field(default=1024, kw_only=False, metadata=COUNT)
    visual_weight: float = field(default=1.0, metadata=WEIGHT)
    semantic_weight: float = field(default=1.0, metadata=WEIGHT)
    max_iter: int = 20
    tol: float = 5e-3
    random_state: Any = field(default=0, metadata=SEED)

    EXAMPLE = "n_bits=256"
    PAPER = "Shen et al. (2019): Scalable zero-shot learning via binary visual-semantic embeddings"
    NEEDS = "samples"
    READS_WEIGHTS = True
    GRID = {"visual_weight": (0.1, 1.0, 10.0), "semantic_weight": (0.1, 1.0, 10.0)}
    ARRAYS = {
        "visual_projection": ("n_bits", "m"),
        "semantic_projection": ("n_bits", "d"),
        "visual_origin": ("m",),
        "semantic_origin": ("d",),
        **Iterative.COURSE,
    }

    visual_projection_ = FittedArray("P'.")
    semantic_projection_ = FittedArray("Q'.")

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        coding = _Coding(prepared, self.n_bits, self.visual_weight, self.semantic_weight)
        # codes of classes, (c, n_bits), to begin with: the sides of random planes on which they lie
        planes = as_random_state(self.random_state).standard_normal((coding.vectors.shape[1], self.n_bits))
        C = signs(coding.vectors @ planes)
        P, Q = np.zeros((prepared.statistics.n_features, self.n_bits)), coding.semantic_directions(C)
        values: list[float] = []
        for number in range(1, self.max_iter + 1):
            with_samples, of_classes = coding.sums_of_codes(C, P)
            C = signs(of_classes + self.semantic_weight * (coding.counted_vectors @ Q))
            P, Q = orthogonal_factor(with_samples), coding.semantic_directions(C)
            values.append(coding.objective(with_samples, of_classes, C, P, Q))
            monitor.tell_of_iteration(number, values[-1])
            stalled = number > 1 and values[-1] - values[-2] <= self.tol * values[-1]
            if stalled:
                break
        return {
            "visual_projection": np.ascontiguousarray(P.T),
            "semantic_projection": np.ascontiguousarray(Q.T),
            "visual_origin": coding.visual_origin,
            "semantic_origin": coding.semantic_origin,
            **course(values, converged=stalled),
        }

    def _scorer(self, class_vectors: Float64Array, space: str) -> _CodeScorer:
        codes = (class_vectors - self.arrays_["semantic_origin"]) @ self.semantic_projection_.T
        P = self.visual_projection_
        return _CodeScorer(P, -P @ self.arrays_["visual_origin"], packed_signs(codes))


class _Coding:
    """Centred and scaled training data, and the sums over codes of samples that the updates need.

    The codes of samples are made block by block and never kept.
    """

    def __init__(self, training: TrainingData, n_bits: int, visual_weight: float, semantic_weight: float) -> None:
        self._training, self._n_bits, self._weights = training, n_bits, (visual_weight, semantic_weight)
        statistics = training.statistics
        n, self._counts = statistics.n_samples, statistics.counts
        self.visual_origin: Float64Array = statistics.class_sums.sum(axis=0) / n
        squares = float(statistics.squares.sum()) / n - float(self.visual_origin @ self.visual_origin)
        self._visual_scale = _scale(squares, n_bits)
        self.semantic_origin: Float64Array = training.class_vectors.mean(axis=0)
        centred = training.class_vectors - self.semantic_origin
        squares = float(self._counts @ (centred**2).sum(axis=1)) / n
        self.vectors: Float64Array = centred * _scale(squares, n_bits)
        self.counted_vectors: Float64Array = self._counts[:, None] * self.vectors

    def semantic_directions(self, C: Float64Array) -> Float64Array:
        """Return the best Q for codes of classes."""
        return orthogonal_factor(self.counted_vectors.T @ C)

    def sums_of_codes(self, C: Float64Array, P: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return XB', (m, n_bits), and BZ', (c, n_bits), for the best codes of samples."""
        with_samples, of_classes = np.zeros_like(P), np.zeros_like(C)
        for Z, numbers, weights in weighted_samples(self._training, _BLOCK):
            X = (Z - self.visual_origin) * self._visual_scale
            B = signs(C[numbers] + self._weights[0] * (X @ P)) * weights[:, None]
            with_samples += X.T @ B
            of_classes += sums_by_class(B, numbers, len(C))
        return with_samples, of_classes

    def objective(
        self, with_samples: Float64Array, of_classes: Float64Array, C: Float64Array, P: Float64Array, Q: Float64Array
    ) -> float:
        """Return the value of the objective, per sample and bit."""
        visual, semantic = np.vdot(P, with_samples), np.vdot(C, self.counted_vectors @ Q)
        total = np.vdot(C, of_classes) + self._weights[0] * visual + self._weights[1] * semantic
        return float(total) / (self._training.n_samples * self._n_bits)


def signs(values: Float64Array) -> Float64Array:
    """Return 1 where values are not negative, else -1."""
    return np.where(values >= 0, 1.0, -1.0)


def orthogonal_factor(A: Float64Array) -> Float64Array:
    """Return UV' of A = U diag(s) V', without the directions in which A has nothing.

    Of all matrices whose singular values are at most one it has the largest inner product with A, and it is the one of
    least rank.
    """
    wide = A.shape[0] <= A.shape[1]
    values, vectors = np.linalg.eigh(A @ A.T if wide else A.T @ A)
    kept = values > max(_NOISE**2 * values[-1], 0.0)
    basis = vectors[:, kept]
    root = (basis / np.sqrt(values[kept])) @ basis.T
    return np.asarray(root @ A if wide else A @ root)


def _scale(mean_square: float, n_bits: int) -> float:
    return float(np.sqrt(n_bits / mean_square)) if mean_square > 0 else 1.0


@dataclass(frozen=True, eq=False)
class _CodeScorer:
    """The sign of ``projection @ z + offsets`` is the code of a sample; codes of candidates are packed."""

    projection: Float64Array
    offsets: Float64Array
    candidates: Words

    def recogniser(self, normalisation: Normalisation, labels: LabelArray, bias: Float64Array) -> _CodeRecogniser:
        weights, offsets = normalisation.folded(self.projection, self.offsets)
        coder = AffineScorer(weights, offsets, **normalisation.scaling._asdict())
        lead = lead_of(bias)
        return _CodeRecogniser(coder, HammingScorer(self.candidates, bias - lead), labels, lead)


@dataclass(frozen=True, eq=False)
class _CodeRecogniser(Recogniser):
    """Recognition by binary codes: the score of a candidate is minus the number of bits in which it differs.

    ``coder`` maps raw samples to values whose signs are their codes; ``search`` has the codes of the candidates, and
    the biases of their scores less the ``lead`` (:class:`Recogniser`).
    """

    coder: AffineScorer
    search: HammingScorer
    labels: LabelArray
    lead: float = 0.0

    def scores_less_lead(self, X: npt.NDArray[Any]) -> FloatArray:
        return np.concatenate([self.search.scores(codes) for codes in self._codes(X)])

    def top_k(self, X: npt.NDArray[Any], k: int = 1) -> tuple[IntArray, FloatArray]:
        k = as_count(k, "k", maximum=len(self.labels))
        indices, scores = zip(*(self.search.top_k(codes, k) for codes in self._codes(X)), strict=True)
        return np.concatenate(indices), with_lead(np.concatenate(scores), self.lead)

    def _codes(self, X: npt.NDArray[Any]) -> Iterator[Words]:
        for rows in row_blocks(max(len(X), 1), _BLOCK):
            yield packed_signs(self.coder.scores(X[rows]))
