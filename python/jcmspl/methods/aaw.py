"""Joint dictionaries of samples and class vectors, which share sparse codes."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from jcmspl.core.constrained import soft, sparse_codes, within_ball
from jcmspl.data.training import TrainingData
from jcmspl.model.iterations import Iterative, course, sums_by_class, weighted_samples
from jcmspl.model.kinds import Embedding
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import GramBasis
from jcmspl.model.parameters import (
    FLAG,
    NOT_NEGATIVE,
    OPTIONAL_COUNT,
    SEED,
    WEIGHT,
    FittedArray,
    NamedArrays,
    estimator,
    field,
    one_of_names,
)
from jcmspl.model.recogniser import Scorer
from jcmspl.support.arguments import Float64Array, FloatArray, as_random_state

# Samples that are coded at a time.
_BLOCK = 4096
# Gaps of codes that are good enough while dictionaries change, sweeps over the atoms of these, and steps of the
# attribute-aware prediction.
_GAP, _SWEEPS, _STEPS = 1e-6, 3, 50


@estimator
class AAW(Iterative, Embedding):
    r"""Joint dictionaries, after Kolouri et al. (2018): one sparse code for a sample and the vector of its class.

    ``min |X - Dx A|^2 / m + |Y - Dz A|^2 / d + 2 sparsity |A|_1 / m`` over dictionaries with atoms of length at most
    one and codes A; m is the number of features, d that of attributes, and the paper's λ is 2 sparsity n_atoms / m. A
    sample is coded by Dx alone, and Dz makes a class vector of the code, which is compared with those of candidates.
    With prediction="aware" the code should also point to one candidate: entropy_weight times the entropy of
    ``softmax(-sharpness |Dz a - u|^2)`` over the candidates u is added. Scores then depend on which candidates there
    are.

    The objective, both predictions and alternating updates are the paper's. The start (mean samples and vectors of
    classes, then random mixtures of them), the last step (see refit) and a fixed number of proximal gradient steps from
    the agnostic code on for prediction="aware" are ours.

    Parameters
    ----------
    n_atoms : int
        By default twice the number of training classes.
    sparsity : float
        Samples of length one whose inner products with all atoms are below it have the code zero.
    prediction : {"agnostic", "aware"}
        How a sample is coded: by itself, or among the candidates.
    entropy_weight : float
        The paper's γ times m / 2.
    sharpness : float
        The paper's ρ.
    refit : bool
        Whether Dz is replaced, at the end, by the least squares of class vectors on codes of samples alone, as
        prediction knows them; its atoms are then of any length. False is the paper's form, whose codes know the class
        in training and not in prediction.
    random_state
        Seed of the random mixtures, of classes in the order of their labels: other names are another draw.

    Attributes
    ----------
    objective_
        The objective, per sample, after the codes of each iteration.
    """

    n_atoms: int | None = field(default=None, kw_only=False, metadata=OPTIONAL_COUNT)
    sparsity: float = field(default=0.1, metadata=WEIGHT)
    prediction: str = field(default="agnostic", metadata=one_of_names(("agnostic", "aware")))
    entropy_weight: float = field(default=0.01, metadata=NOT_NEGATIVE)
    sharpness: float = field(default=3.0, metadata=NOT_NEGATIVE)
    refit: bool = field(default=True, metadata=FLAG)
    max_iter: int = 50
    tol: float = 1e-3
    random_state: Any = field(default=0, metadata=SEED)

    EXAMPLE = "sparsity=0.2"
    PAPER = "Kolouri et al. (2018): Joint dictionaries for zero-shot learning"
    NEEDS = "samples"
    READS_WEIGHTS = True
    COMPARISON = (*Embedding.COMPARISON, "prediction", "entropy_weight", "sharpness")
    GRID = {"sparsity": (0.03, 0.1, 0.3), "prediction": ("agnostic", "aware")}
    ARRAYS = {"visual_atoms": ("n_atoms", "m"), "semantic_atoms": ("n_atoms", "d"), "penalty": (), **Iterative.COURSE}

    visual_atoms_ = FittedArray("Dx', a row for each atom.")
    semantic_atoms_ = FittedArray("Dz'.")

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        Dx, Dz = self._start(prepared)
        values: list[float] = []
        for number in range(1, self.max_iter + 1):
            value, of_codes, with_samples, with_vectors = self._coded(prepared, Dx, Dz)
            values.append(value)
            monitor.tell_of_iteration(number, value)
            Dx, Dz = best_atoms(Dx, of_codes, with_samples), best_atoms(Dz, of_codes, with_vectors)
            stalled = number > 1 and values[-2] - values[-1] <= self.tol * values[-2]
            if stalled:
                break
        if self.refit:
            _, of_codes, _, with_vectors = self._coded(prepared, Dx, None)
            Dz = GramBasis(of_codes).solve(with_vectors.T, 0.0).T.copy()
        penalty = np.array(float(self.sparsity))
        arrays = {"visual_atoms": Dx, "semantic_atoms": Dz, "penalty": penalty}
        return arrays | course(values, converged=stalled)

    def _start(self, training: TrainingData) -> tuple[Float64Array, Float64Array]:
        """Return mean samples and vectors of classes, and random mixtures of them, a row for each atom."""
        c = len(training.class_vectors)
        r = 2 * c if self.n_atoms is None else self.n_atoms
        mixing = np.vstack([np.eye(c), as_random_state(self.random_state).standard_normal((max(r - c, 0), c))])[:r]
        return within_ball(mixing @ training.class_means), within_ball(mixing @ training.class_vectors)

    def _coded(
        self, training: TrainingData, Dx: Float64Array, Dz: Float64Array | None
    ) -> tuple[float, Float64Array, Float64Array, Float64Array]:
        """Return the objective, and A A', A X' and A Y', for the best codes: all that the dictionaries need of them.

        Without Dz they are codes of samples alone.
        """
        S, r, m = training.class_vectors, len(Dx), Dx.shape[1]
        gram, of_classes, squares_of_classes = Dx @ Dx.T / m, np.zeros((len(S), r)), np.zeros(len(S))
        if Dz is not None:
            d = Dz.shape[1]
            gram += Dz @ Dz.T / d
            of_classes, squares_of_classes = S @ Dz.T / d, (S**2).sum(axis=1) / d
        total, of_codes, with_samples, sums = 0.0, np.zeros((r, r)), np.zeros((r, m)), np.zeros((len(S), r))
        for Z, numbers, weights in weighted_samples(training, _BLOCK):
            products = Z @ Dx.T / m + of_classes[numbers]
            squares = (Z**2).sum(axis=1) / m + squares_of_classes[numbers]
            codes, values, _ = sparse_codes(gram, products, squares, self.sparsity / m, tol=_GAP)
            weighted = weights[:, None] * codes
            total += 2 * float(weights @ values)
            of_codes += weighted.T @ codes
            with_samples += weighted.T @ Z
            sums += sums_by_class(weighted, numbers, len(S))
        return total / training.n_samples, of_codes, with_samples, sums.T @ S

    def _embed(self, Z: FloatArray) -> FloatArray:
        return np.asarray(self._codes(Z.astype(np.float64, copy=False)) @ self.semantic_atoms_)

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        return class_vectors

    def _codes(self, Z: Float64Array) -> Float64Array:
        D = self.visual_atoms_
        return sparse_codes(D @ D.T, Z @ D.T, (Z**2).sum(axis=1), float(self.arrays_["penalty"]))[0]

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        if self.prediction == "agnostic":
            return super()._scorer(class_vectors, space)
        return self._scorer_by(partial(self._embed_among, class_vectors), class_vectors)

    def _embed_among(self, candidates: Float64Array, Z: FloatArray) -> FloatArray:
        samples = Z.astype(np.float64, copy=False)
        entropy = Entropy(self.semantic_atoms_, candidates, self.entropy_weight, self.sharpness)
        codes = aware_codes(self._codes(samples), samples, self.visual_atoms_, float(self.arrays_["penalty"]), entropy)
        return np.asarray(codes @ self.semantic_atoms_)


def best_atoms(D: Float64Array, of_codes: Float64Array, products: Float64Array) -> Float64Array:
    """Return a better dictionary for codes, a row for each atom: each in turn the best one of length at most one."""
    D = D.copy()
    for _ in range(_SWEEPS):
        for j in np.flatnonzero(of_codes.diagonal() > 0):
            D[j] = within_ball(D[j] + (products[j] - of_codes[j] @ D) / of_codes[j, j])
    return D


class Entropy:
    """How unclear it is which candidate a code means: the weighted entropy of ``softmax(-sharpness |Dz a - u|^2)``."""

    def __init__(self, atoms: Float64Array, candidates: Float64Array, weight: float, sharpness: float) -> None:
        self._atoms, self._candidates, self._weight, self._sharpness = atoms, candidates, weight, sharpness

    def of(self, codes: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return its value for each code, and its gradients."""
        U = self._candidates
        places = codes @ self._atoms
        # |z - u|^2 without |z|^2, which softmax does not see
        p = softmax(self._sharpness * (2 * places @ U.T - (U**2).sum(axis=1)), axis=1)
        logs = np.log(np.maximum(p, np.finfo(np.float64).tiny))
        entropy = -np.einsum("ij,ij->i", p, logs)
        slopes = -2 * self._sharpness * (p * (logs + entropy[:, None])) @ U
        return self._weight * entropy, self._weight * (slopes @ self._atoms.T)


def aware_codes(
    codes: Float64Array, Z: Float64Array, D: Float64Array, penalty: float, entropy: Entropy
) -> Float64Array:
    """Return codes for which ``|x - D'a|^2 / 2 + penalty |a|_1 + entropy`` is no more than for the given ones."""
    gram, products = D @ D.T, Z @ D.T
    steps = np.full(len(codes), 1 / max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(np.float64).tiny))

    def looked_at(A: Float64Array) -> tuple[Float64Array, Float64Array]:
        unclear, slopes = entropy.of(A)
        left = A @ gram - products
        smooth = np.einsum("ij,ij->i", A, left - products) / 2 + unclear
        return smooth + penalty * np.abs(A).sum(axis=1), left + slopes

    values, gradients = looked_at(codes)
    for _ in range(_STEPS):
        new = soft(codes - steps[:, None] * gradients, (steps * penalty)[:, None])
        new_values, new_gradients = looked_at(new)
        better = new_values < values
        steps = np.where(better, steps, steps / 2)
        values = np.where(better, new_values, values)
        codes, gradients = (np.where(better[:, None], a, b) for a, b in ((new, codes), (new_gradients, gradients)))
    return codes
