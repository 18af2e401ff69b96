"""How far probabilities are to be trusted: calibration error, Brier score, log loss, and the reliability diagram."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.calibration import calibration_curve

from jcmspl.data.labels import as_label_list, numbered, some
from jcmspl.report.figures import Display, in_legend, ink_of, model_of
from jcmspl.support.arguments import Float64Array, as_count, as_real_array

#: Bins of equal width for the probability of the predicted class.
BINS = 15
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class ProbabilityErrors:
    """Errors of probabilities on samples.

    Attributes
    ----------
    calibration_error : float
        The expected calibration error of predicted classes: the mean difference of probability and accuracy over bins.
    brier : float
        The mean squared distance of probabilities from those of the right answer, from 0 to 2.
    log_loss : float
        The mean of minus the natural logarithm of the probability of the right class.
    """

    calibration_error: float
    brier: float
    log_loss: float


class ProbabilityTally:
    """Sums over samples that errors of probabilities follow from, added chunk by chunk."""

    def __init__(self) -> None:
        self._confidence: list[Float64Array] = []
        self._right: list[npt.NDArray[np.bool_]] = []
        self._sums = np.zeros(2)

    def update(self, shares: npt.ArrayLike, own: npt.ArrayLike) -> None:
        """Add samples: probabilities (n, n_candidates), and the column of the right class of each."""
        values, columns = np.asarray(shares, dtype=np.float64), np.asarray(own)
        of_own = values[np.arange(len(columns)), columns]
        self._confidence.append(values.max(axis=1))
        self._right.append(values.argmax(axis=1) == columns)
        squares = (values**2).sum(axis=1) - 2 * of_own + 1
        self._sums += squares.sum(), -np.log(np.maximum(of_own, _SMALLEST)).sum()

    def extend(self, other: ProbabilityTally) -> None:
        """Add the samples of another tally."""
        self._confidence += other._confidence
        self._right += other._right
        self._sums = self._sums + other._sums

    @property
    def confidence(self) -> Float64Array:
        """The probability of the predicted class of each sample."""
        return np.concatenate([np.empty(0), *self._confidence])

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether the predicted class of each sample is right."""
        return np.concatenate([np.empty(0, dtype=bool), *self._right])

    def errors(self) -> ProbabilityErrors:
        """Return the errors over all samples so far."""
        brier, loss = self._sums / max(len(self.right), 1)
        return ProbabilityErrors(calibration_error_of(self.confidence, self.right), float(brier), float(loss))


def calibration_error_of(confidence: Float64Array, right: npt.NDArray[np.bool_], n_bins: int = BINS) -> float:
    """Return the mean over samples of |accuracy - mean probability| of their bin."""
    if not len(right):
        return 0.0
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    gaps = np.bincount(bins, confidence - right, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(right))


def expected_calibration_error(y_true: Any, probabilities: npt.ArrayLike, *, labels: Any, n_bins: int = BINS) -> float:
    """Return the expected calibration error of predicted classes: 0 if they are right as often as they are probable.

    Samples are put into bins by the probability of their predicted class. The error is the mean over samples of the
    difference between the accuracy and the mean probability of their bin.

    Parameters
    ----------
    y_true : array_like of shape (n_samples,)
    probabilities : array_like of shape (n_samples, n_candidates)
        As from predict_proba.
    labels : sequence of n_candidates labels
        The classes of the columns.
    n_bins : int, default 15

    Examples
    --------
    >>> from jcmspl.metrics import expected_calibration_error
    >>> shares = [[0.8, 0.2], [0.8, 0.2], [0.4, 0.6]]
    >>> round(expected_calibration_error(["a", "b", "b"], shares, labels=["a", "b"]), 4)
    0.3333
    """
    tally = tally_of(y_true, probabilities, labels)
    return calibration_error_of(tally.confidence, tally.right, as_count(n_bins, "n_bins"))


def tally_of(y_true: Any, probabilities: npt.ArrayLike, labels: Any) -> ProbabilityTally:
    """Return the tally of labelled samples."""
    truth, candidates = as_label_list(y_true, "y_true"), as_label_list(labels, "labels")
    if repeated := [label for label, count in Counter(candidates).items() if count > 1]:
        raise ValueError(f"labels names some classes twice: {some(repeated)}")
    values = as_real_array(probabilities, "probabilities").astype(np.float64)
    if values.shape != (len(truth), len(candidates)):
        raise ValueError(
            f"probabilities must have a row for each of {len(truth)} labels in y_true and a column for each of "
            f"{len(candidates)} labels, but its shape is {values.shape}"
        )
    if not truth:
        raise ValueError("y_true is empty: an error of probabilities needs samples")
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1 + 1e-6):
        raise ValueError("probabilities holds numbers that are not between 0 and 1: give those of predict_proba")
    if not np.allclose(values.sum(axis=1), 1, rtol=0, atol=0.01):
        raise ValueError("probabilities holds rows whose sum is not 1: give those of predict_proba for all candidates")
    known = set(candidates)
    if strangers := [label for label in dict.fromkeys(truth) if label not in known]:
        raise ValueError(f"labels lacks {some(strangers)}: it must name the class of every column of probabilities")
    tally = ProbabilityTally()
    tally.update(values, numbered(truth, candidates))
    return tally


@dataclass(frozen=True)
class ReliabilityCurve:
    """Mean probability and accuracy of the predicted classes, by bins of the probability.

    Attributes
    ----------
    confidence, accuracy : list of float
        Of the bins that have samples.
    error : float
        The expected calibration error.
    """

    confidence: list[float]
    accuracy: list[float]
    error: float

    @classmethod
    def of(cls, tally: ProbabilityTally, n_bins: int = BINS) -> ReliabilityCurve:
        """Return the curve of samples."""
        accuracy, confidence = calibration_curve(tally.right, np.clip(tally.confidence, 0, 1), n_bins=n_bins)
        return cls(confidence.tolist(), accuracy.tolist(), calibration_error_of(tally.confidence, tally.right, n_bins))


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: how often predicted classes are right, against how probable they were called.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve

    Notes
    -----
    On the diagonal probabilities are what they say; below it the model is too sure.
    """

    curves: dict[str, ReliabilityCurve] = field(default_factory=dict)

    TITLE: ClassVar[str] = "Probabilities, and how often they are right"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of a fitted model, or of the best model of a search, on labelled samples.

        Parameters
        ----------
        estimator : estimator
        X, y
            Samples of candidates, and their labels.
        class_vectors, candidates : optional
            As for ``predict``.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        model = model_of(estimator)
        shares = model.predict_proba(X, class_vectors=class_vectors, candidates=candidates)
        labels = model.recogniser(class_vectors=class_vectors, candidates=candidates).labels
        curve = ReliabilityCurve.of(tally_of(y, shares, labels))
        return cls({type(model).__name__: curve}).plot(ax=ax, **options)

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 100], [0, 100], linestyle="dotted", color=ink_of(ax), label="calibrated")
        for name, curve in self.curves.items():
            label = in_legend(f"{name}, error {100 * curve.error:.1f} %")
            ax.plot(100 * np.array(curve.confidence), 100 * np.array(curve.accuracy), marker="o", label=label)
        ax.set(xlabel="probability of the predicted class, %", ylabel="predicted classes that are right, %")
        ax.set_xlim(0, 100)
        ax.set_ylim(0, 100)
        self._legend(ax, loc="best")

    def _size(self, **options: Any) -> tuple[float, float]:
        return 5.2, 4.4
