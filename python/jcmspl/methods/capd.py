"""Class-adapting principal directions."""

import numpy as np
from scipy.optimize import nnls
from scipy.special import expit

from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import POSITIVE_WEIGHT, FittedArray, NamedArrays, estimator, field
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array

# Newton's method: far more steps than a convex function of this kind takes, and the slope it stops at.
_MOST_STEPS, _SLOPE = 50, 1e-12


@estimator
class CAPD(ZeroShotClassifier):
    """Class-adapting principal directions, after Rahman, Khan, Porikli (2018), on the mean samples of classes.

    Each training class j has a map W_j that turns a sample into a direction, which is to agree with the class vector
    s_j if and only if the sample is of that class: ``min over W_j of penalty / 2 |W_j|^2 + the mean over samples of
    log(1 + exp(l))``, where ``l = (t_j - s_j)'W_j x`` for samples of the class, t_j the mean of the other class
    vectors, and ``l = (s_j - s_y)'W_j x`` for those of another class y. The direction of any other class with the
    vector u is a combination of these, by the weights w that come nearest to u, ``min |u - S'w|^2``. Its score is
    ``u'(sum of w_j W_j) x``.

    The logistic form and the combination are the paper's, as far as they are known; the exact form of l is
    reconstructed. Weights are not negative and add up to one, so that the scores of all classes are of one scale; the
    paper's term in their absolute values is then a constant. A class's samples are replaced by their mean, which counts
    for as many: W_j is then a combination of c outer products, and no W_j, of which there are as many as classes, is
    ever stored. What is lost with it, the scatter within classes, is left to the whitening of samples. The
    form with a term for each sample is not there: it has as many unknowns as class vectors, features and classes have
    together, which would have to be stored, too.

    Parameters
    ----------
    penalty : float
        The paper's λ.
    """

    penalty: float = field(default=1e-5, kw_only=False, metadata=POSITIVE_WEIGHT)
    feature_normalisation: str = "sample_l2+center+whiten"
    class_normalisation: str = "sample_l2"

    LINEAR = True
    EXAMPLE = "1e-3"
    PAPER = (
        "Rahman, Khan, Porikli (2018): A unified approach for conventional zero-shot, generalized zero-shot, and "
        "few-shot learning"
    )
    GRID = {"penalty": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)}
    ARRAYS = {"coefficients": ("c", "c"), "means": ("c", "m"), "vectors": ("c", "d")}

    coefficients_ = FittedArray(
        "a, such that W_j is the sum over classes k of ``a_jk v_jk x_k'``, with v_jk the vector in l of samples of "
        "class k and x_k their mean."
    )

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        vectors, means = prepared.class_vectors, prepared.class_means
        shares = prepared.statistics.counts / prepared.n_samples
        similarities = means @ means.T
        coefficients, total = np.empty((len(vectors), len(vectors))), 0.0
        for number in range(len(vectors)):
            against = disagreements(vectors, number)
            coefficients[number], value = _least(against @ against.T * similarities, shares, self.penalty)
            total += value
            monitor.tell_of_iteration(number + 1, total)
        return {"coefficients": coefficients, "means": means, "vectors": vectors.copy()}

    def _scorer(self, class_vectors: Float64Array, space: str) -> LinearScorer:
        vectors, coefficients = self._array("vectors"), self.coefficients_
        weights = mixtures(class_vectors, vectors)
        products = class_vectors @ vectors.T
        # u'v_jk is u's_j - u's_k, and for k = j the mean over the other classes of u's_k - u's_j
        total, diagonal = products.sum(axis=1, keepdims=True), coefficients.diagonal()
        others = coefficients - np.diag(diagonal)
        of_means = (weights * products) @ others - (weights @ others) * products
        of_means += weights * diagonal * ((total - products) / (len(vectors) - 1) - products)
        return LinearScorer(of_means @ self._array("means"), np.zeros(len(class_vectors)))


def mixtures(others: Float64Array, vectors: Float64Array) -> Float64Array:
    """Return the weights with which training classes make others, a row for each: at least 0, with the sum 1."""
    largest = max(float(np.abs(vectors).max()), float(np.abs(others).max())) or 1.0
    scale = 1e4 * largest  # one more equation, for the sum
    equations = np.vstack([vectors.T, np.full(len(vectors), scale)])
    weights = np.array([nnls(equations, [*vector, scale])[0] for vector in others])
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def disagreements(vectors: Float64Array, number: int) -> Float64Array:
    """Return a row v for each class: what the direction of a sample of that class is not to agree with."""
    against: Float64Array = vectors[number] - vectors
    against[number] = (vectors.sum(axis=0) - vectors[number]) / (len(vectors) - 1) - vectors[number]
    return against


def _least(kernel: Float64Array, shares: Float64Array, penalty: float) -> tuple[Float64Array, float]:
    """Return a that minimises ``penalty / 2 a'Ka + sum of shares log(1 + exp(Ka))``, by Newton's method, and the value.

    Where the slope vanishes ``a = -shares sigmoid(Ka) / penalty``, which is what it is solved for.
    """
    n = len(kernel)
    a = np.zeros(n)

    def value(at: Float64Array) -> float:
        scores = kernel @ at
        return float(penalty / 2 * (at @ scores) + shares @ np.logaddexp(0, scores))

    now = value(a)
    for _ in range(_MOST_STEPS):
        chances = expit(kernel @ a)
        slope = penalty * a + shares * chances
        if np.abs(slope).max() <= _SLOPE * shares.max():
            break
        curvature = (shares * chances * (1 - chances))[:, None] * kernel
        curvature[np.diag_indices(n)] += penalty
        step, length = np.linalg.solve(curvature, -slope), 1.0
        while (then := value(a + length * step)) > now and length > 1e-10:
            length /= 2
        a, now = a + length * step, min(now, then)
    return a, now
