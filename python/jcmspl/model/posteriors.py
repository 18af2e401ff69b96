"""Methods on posteriors: how likely a sample is of each training class, and what that says of other classes.

The posterior is closed form on statistics (linear discriminant analysis), or a logistic regression that reads the
samples. Both are the softmax of an affine function of the sample. Signatures, class vectors made binary, name a class
by the attributes of a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.iterations import Block, LogisticFit, WeightedBlocks, fit_logistic
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    WEIGHT,
    NamedArrays,
    Shape,
    one_of_names,
)
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray
from jcmspl.support.scaling import NOISE
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    _Method = ZeroShotClassifier
else:
    _Method = object  # a mixin before a kind of method

POSTERIORS = ("lda", "logistic")


class Affine(NamedTuple):
    """``z @ weights[j] + offsets[j]`` for each j."""

    weights: Float64Array
    offsets: Float64Array

    def of(self, Z: FloatArray) -> Float64Array:
        """Return the values for samples, a row for each."""
        return np.asarray(Z @ self.weights.T + self.offsets, dtype=np.float64)

    def over(self, divisor: float) -> Affine:
        """Return the same divided by a number."""
        return Affine(self.weights / divisor, self.offsets / divisor)


class Covariance:
    """A covariance that is shrunk by any share towards a multiple of the identity.

    Samples deviate from centres: the means of classes, or that of all samples, each of a number of samples
    (``counts``). Eigenvalues of the Gram matrix up to ``rounding`` may be rounding alone.
    """

    def __init__(
        self, statistics: Statistics, centres: Float64Array, counts: Float64Array, rounding: float = 0.0
    ) -> None:
        matrix, n = statistics.gram, statistics.n_samples
        level, self._rounding = float(matrix.trace()) / n, rounding / n
        matrix -= (centres.T * counts) @ centres
        matrix /= n
        if matrix.trace() <= max(
            NOISE * level, 8 * self._rounding
        ):  # there are no deviations: distances are all that is left
            matrix = np.eye(len(matrix)) * (level / len(matrix) or 1.0)
        self._matrix = matrix

    def factor(self, shrinkage: float) -> Float64Array:
        """Return L, lower triangular, with ``L L' = (1 - t) S + t tr(S) / m I``."""
        shrunk = (1 - shrinkage) * self._matrix
        m = len(shrunk)
        # however small it is, rounding errors must not make a matrix of less than full rank look indefinite
        least = max(4 * m * np.finfo(np.float64).eps * float(self._matrix.diagonal().max()), self._rounding)
        shrunk.flat[:: m + 1] += max(shrinkage * float(self._matrix.trace()) / m, least)
        return np.asarray(cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False))

    def solve(self, rows: Float64Array, shrinkage: float) -> Float64Array:
        """Return ``rows @ inv((1 - t) S + t tr(S) / m I)``."""
        return np.ascontiguousarray(cho_solve((self.factor(shrinkage), True), rows.T, check_finite=False).T)


class ClassGaussians:
    """Normal distributions of the training classes, with a covariance that they share."""

    def __init__(self, training: TrainingData) -> None:
        self.training, self.means, self.counts = training, training.class_means, training.statistics.counts

    @cached_property
    def within(self) -> Covariance:
        """The covariance."""
        return Covariance(self.training.statistics, self.means, self.counts, self.training.rounding)

    def log_posterior(self, shrinkage: float) -> Affine:
        """Return the log posterior of each class, but for a term that all share."""
        # without the term of the mean: far from the origin its size would cost the others their digits
        mean = self.counts @ self.means / self.counts.sum()
        weights = self.within.solve(self.means - mean, shrinkage)
        return Affine(weights, np.log(self.counts) - np.einsum("ij,ij->i", weights, self.means + mean) / 2)


@dataclass(kw_only=True, eq=False, repr=False)
class LdaOrLogistic(_Method):
    """A method whose log posteriors of training classes are closed form, or come from a logistic regression.

    Parameters
    ----------
    posterior : {"lda", "logistic"}
        How posteriors p(k|x) are found: by linear discriminant analysis, in closed form from statistics, or by
        multinomial logistic regression, which reads the samples again and again (and has no partial_fit).
    shrinkage : float
        From 0 to 1. Of "lda": the covariance within classes is ``(1 - t) S + t tr(S) / m I``.
    penalty : float
        Of "logistic": half of it times the squared weights is added to the sum of the losses; scikit-learn's 1 / C.
    max_iter : int
        Of "logistic": the largest number of iterations.
    tol : float
        Of "logistic": iterations end when no entry of the gradient is larger (of the mean loss, along directions in
        which samples are uncorrelated).

    Attributes
    ----------
    n_iter_ : int
        The number of iterations of "logistic"; 1 for "lda".
    converged_ : bool
        Whether the iterations of "logistic" converged; True for "lda".
    """

    posterior: str = field(default="lda", metadata=one_of_names(POSTERIORS))
    shrinkage: float = field(default=0.5, metadata=SHARE)
    penalty: float = field(default=0.1, metadata=WEIGHT)
    max_iter: int = field(default=100, metadata=COUNT)
    tol: float = field(default=1e-4, metadata=NOT_NEGATIVE)

    READS_WEIGHTS: ClassVar[bool] = True
    #: How log posteriors become probabilities: "softmax" of classes, or "sigmoid" of independent answers.
    LINK: ClassVar[str] = "softmax"

    @property
    def n_iter_(self) -> int:
        """The number of iterations; 1 where the solution is in closed form."""
        return int(self._array("n_iter"))

    @property
    def converged_(self) -> bool:
        """Whether the iterations came to an end; True where the solution is in closed form."""
        return bool(self._array("converged"))

    def _logistic(
        self, samples: Iterable[Block], statistics: Statistics, targets: Float64Array, monitor: Monitor
    ) -> LogisticFit:
        options: dict[str, Any] = {"penalty": self.penalty, "max_iter": self.max_iter, "tol": self.tol}
        return fit_logistic(
            samples, statistics, targets, link=self.LINK, on_iteration=monitor.tell_of_iteration, **options
        )

    def _warn_of_result(self) -> None:
        if self.tol > 0:
            warn_user(
                f"the logistic regression stopped after max_iter={self.max_iter} iterations, before it converged: "
                "raise max_iter, tol or penalty, or take posterior='lda', which needs no iterations",
                ConvergenceWarning,
            )


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorMethod(LdaOrLogistic, ZeroShotClassifier):
    """A method on affine log posteriors, by default those of the training classes.

    Parameters
    ----------
    posterior_temperature : float
        Of "lda": log posteriors are divided by it. Those of many features are far too certain; 1 leaves them as they
        are.
    """

    posterior_temperature: float = field(default=10.0, metadata=POSITIVE)

    COMPARISON: ClassVar[tuple[str, ...]] = ("posterior_temperature",)
    ARRAYS: ClassVar[dict[str, Shape]] = {
        "weights": ("answers", "m"),
        "offsets": ("answers",),
        "closed_form": (),
        "n_iter": (),
        "converged": (),
    }

    @property
    def _needs(self) -> str:
        return "samples" if self.posterior == "logistic" else "statistics"

    def _prepare(self, training: TrainingData) -> Any:
        return ClassGaussians(training)

    def _targets(self, training: TrainingData) -> Float64Array:
        """Return the target of the samples of each training class, a row for each."""
        return np.eye(len(training.class_vectors))

    def _closed_form(self, prepared: Any) -> Affine:
        """Return log posteriors that follow from statistics."""
        found: Affine = prepared.log_posterior(self.shrinkage)
        return found

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        if self.posterior == "lda":
            found, n_iter, converged = self._closed_form(prepared), 1, True
        else:
            blocks, targets = WeightedBlocks(prepared.training), self._targets(prepared.training)
            fit = self._logistic(blocks, prepared.training.statistics, targets, monitor)
            found, n_iter, converged = Affine(fit.weights, fit.offsets), fit.n_iter, fit.converged
        facts = {"closed_form": self.posterior == "lda", "n_iter": n_iter, "converged": converged}
        return {**found._asdict(), **{name: np.array(float(fact)) for name, fact in facts.items()}}

    def _log_posterior(self) -> Affine:
        """Return the fitted log posteriors, tempered."""
        found = Affine(self.arrays_["weights"], self.arrays_["offsets"])
        # what was fitted counts: another posterior may have been set since, for the next fit
        return found.over(max(self.posterior_temperature, _LEAST_TEMPERATURE)) if self._array("closed_form") else found

    def _training_vectors(self) -> Float64Array:
        return np.ascontiguousarray(self.class_normalisation_.of_rows(self._trained_vectors))


def log_probabilities(log_posterior: Affine, Z: FloatArray) -> Float64Array:
    """Return the logarithms of the probabilities of the classes, a row for each sample."""
    return np.asarray(log_softmax(log_posterior.of(Z), axis=1))


# Probabilities that differ by less, relative to them, are equal up to rounding.
_TIED = 1e-12


def most_likely(log_posterior: Affine, n_classes: int, Z: FloatArray) -> Float64Array:
    """Return the probabilities of the likeliest classes, which sum up to 1; those of the others are 0.

    Classes that are as likely as the last of them are kept as well, up to rounding: their order must not decide.
    """
    shares = np.exp(log_probabilities(log_posterior, Z))
    n_others = shares.shape[1] - n_classes
    if n_others > 0:
        least = np.partition(shares, n_others, axis=1)[:, n_others, None]
        shares[shares < (1 - _TIED) * least] = 0
        shares /= shares.sum(axis=1, keepdims=True)
    return shares


def training_numbers(model: ZeroShotClassifier, table: ClassTable) -> IntArray:
    """Return the number of each candidate among the training classes of a model, -1 for others.

    A number may name another class than it did in training: only an equal vector tells.
    """
    fitted = model._fitted
    trained: list[Label] = [] if fitted.classes is None else fitted.classes.tolist()  # a model of a fold has no labels
    vectors = fitted.trained_vectors
    number = {
        label: i for i, label in enumerate(trained) if label in table and np.array_equal(table[label], vectors[i])
    }
    return np.array([number.get(label, -1) for label in table], dtype=np.int64)


# Posteriors are all or nothing long before, and by less they would overflow.
_LEAST_TEMPERATURE = 1e-100


#: The threshold of an attribute: its own mean over the training classes, or that of all.
THRESHOLDS = ("attribute_mean", "overall_mean")
# Probabilities are kept from 0 and 1 by this much.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Signatures:
    """The attributes of classes, made binary by thresholds.

    ``training`` has a row for each training class: 1 where it has the attribute. An attribute ``varies`` unless it is
    the same for all of these: others say nothing. ``prior`` is the share of training classes that have it; 0.5 where it
    does not vary.
    """

    thresholds: Float64Array
    training: Float64Array
    varies: np.ndarray[tuple[int], np.dtype[np.bool_]]
    prior: Float64Array

    @classmethod
    def fitted(cls, vectors: Float64Array, threshold: str) -> Signatures:
        """Make the vectors of training classes binary."""
        mean = vectors.mean(axis=0)
        return cls.above(mean if threshold == "attribute_mean" else np.full_like(mean, mean.mean()), vectors)

    @classmethod
    def above(cls, thresholds: Float64Array, vectors: Float64Array) -> Signatures:
        """Make the vectors of training classes binary by given thresholds."""
        training = (vectors > thresholds).astype(np.float64)
        share = training.mean(axis=0)
        varies = (share > 0) & (share < 1)
        return cls(thresholds, training, varies, np.where(varies, share, 0.5))

    def of(self, vectors: Float64Array) -> Float64Array:
        """Return the signatures of any classes."""
        return np.asarray(vectors > self.thresholds, dtype=np.float64)

    def require_varied(self, method: str, threshold: str) -> Signatures:
        """Refuse class vectors of which nothing is left; return self."""
        if not self.varies.any():
            raise ValueError(
                f"{method} asks which training classes have an attribute, and with threshold={threshold!r} each "
                f"attribute is one that all of them have, or none of them: these class vectors cannot be made binary, "
                "so try another threshold or class_normalisation, or a method that takes them as they are, such as RPL"
            )
        return self

    def scores(self, probabilities: Float64Array, candidates: Float64Array, *, use_prior: bool) -> Float64Array:
        """Return ``log p(signature | x) - log p(signature)`` of candidates for samples with these attributes.

        ``probabilities`` of attributes have a row for each sample, signatures one for each candidate. ``use_prior``:
        whether to subtract the second term.
        """
        p = np.where(self.varies, np.clip(probabilities, _LEAST, 1 - _LEAST), 0.5)
        has, lacks = np.log(p), np.log1p(-p)
        if use_prior:
            has -= np.log(self.prior)
            lacks -= np.log1p(-self.prior)
        found = np.asarray(has @ candidates.T + lacks @ (1 - candidates).T)
        # BLAS may round equal columns differently, by their place: classes of one signature must tie nevertheless.
        signatures = np.packbits(candidates[:, self.varies] > 0, axis=1)
        _, first, which = np.unique(signatures, axis=0, return_index=True, return_inverse=True)
        first = first[which.reshape(-1)]
        return found if np.array_equal(first, np.arange(len(first))) else found[:, first]
