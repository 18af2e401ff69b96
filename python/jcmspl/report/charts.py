"""Plots in the manner of scikit-learn: an object holds the data and draws it with matplotlib.

matplotlib is an extra: ``pip install 'jcmspl[plots]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.solver import TERMS
from jcmspl.models.calibration import SeenUnseenCurve, best_bias, generalized_curve
from jcmspl.support.arguments import Float64Array

_TERM_NAMES = {
    "visual_projection": "½|AX-C|²",
    "semantic_projection": "λ₁/2 |BY-C|²",
    "class_codes": "λ₂/2 |C-H|²",
    "visual_reconstruction": "λ₃/2 |X-A'C|²",
    "semantic_reconstruction": "λ₄/2 |Y-B'C|²",
}
_SYMBOLS = {
    "semantic_match": "λ₁ (semantic_match)",
    "class_match": "λ₂ (class_match)",
    "visual_reconstruction": "λ₃ (visual_reconstruction)",
    "semantic_reconstruction": "λ₄ (semantic_reconstruction)",
}


class ConvergenceDisplay:
    """The objective after each iteration.

    Parameters
    ----------
    objective : array_like of shape (n_iter,)
    terms : array_like of shape (n_iter, 5), optional
        Its terms, in the order of :data:`jcmspl.core.solver.TERMS`.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after ``plot``.
    """

    def __init__(self, objective: npt.ArrayLike, terms: npt.ArrayLike | None = None) -> None:
        self.objective: Float64Array = np.asarray(objective, dtype=np.float64)
        self.terms = None if terms is None else np.asarray(terms, dtype=np.float64)

    @classmethod
    def from_estimator(cls, estimator: Any, *, terms: bool = False, ax: Any = None) -> ConvergenceDisplay:
        """Draw the descent of a fitted model."""
        check_is_fitted(estimator, "objective_")
        return cls(estimator.objective_, estimator.objective_terms_ if terms else None).plot(ax=ax)

    def plot(self, ax: Any = None, *, name: str = "objective") -> ConvergenceDisplay:
        """Draw on the given axes, or on new ones."""
        self.ax_, self.figure_ = _axes(ax)
        steps = np.arange(1, len(self.objective) + 1)
        self.ax_.plot(steps, self.objective, marker="o", markersize=3, label=name)
        if self.terms is not None:
            for term, values in zip(TERMS, self.terms.T, strict=True):
                self.ax_.plot(steps, values, linestyle="--", linewidth=1, label=_TERM_NAMES[term])
        self.ax_.set(xlabel="iteration", ylabel="objective")
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        if self.terms is not None or name != "objective":
            self.ax_.legend()
        return self


class SensitivityDisplay:
    """Accuracy on unseen classes as one weight varies and the others stay.

    Parameters
    ----------
    name : str
        The weight: a parameter of :class:`jcmspl.JCMSPL`.
    values : array_like of shape (n_values,)
    accuracies : mapping of str to array_like of shape (n_values,)
        By space.
    chosen : float, optional
        The value that is marked.
    """

    def __init__(
        self,
        name: str,
        values: npt.ArrayLike,
        accuracies: Mapping[str, npt.ArrayLike],
        chosen: float | None = None,
    ) -> None:
        self.name = name
        self.values: Float64Array = np.asarray(values, dtype=np.float64)
        self.accuracies = {space: np.asarray(shares, dtype=np.float64) for space, shares in accuracies.items()}
        self.chosen = chosen

    def plot(self, ax: Any = None) -> SensitivityDisplay:
        """Draw on the given axes, or on new ones."""
        self.ax_, self.figure_ = _axes(ax)
        for space, shares in self.accuracies.items():
            self.ax_.plot(self.values, 100 * shares, marker="o", markersize=3, label=space)
        if self.chosen:
            self.ax_.axvline(self.chosen, color="0.6", linestyle=":", label="chosen")
        self.ax_.set(xscale="log", xlabel=_SYMBOLS.get(self.name, self.name), ylabel="per-class accuracy, %")
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend()
        return self


class AblationDisplay:
    """Accuracy of reduced forms of the model, beside published figures where there are any.

    Parameters
    ----------
    methods : sequence of str
    accuracies : array_like of shape (n_methods,)
    published : sequence of float or None, optional
        Shares as well.
    """

    def __init__(
        self, methods: Sequence[str], accuracies: npt.ArrayLike, published: Sequence[float | None] | None = None
    ) -> None:
        self.methods = list(methods)
        self.accuracies: Float64Array = np.asarray(accuracies, dtype=np.float64)
        self.published = None if published is None else [np.nan if p is None else p for p in published]

    def plot(self, ax: Any = None) -> AblationDisplay:
        """Draw on the given axes, or on new ones."""
        self.ax_, self.figure_ = _axes(ax)
        places = np.arange(len(self.methods))
        width = 0.7 if self.published is None else 0.38
        bars = [(self.accuracies, "here", -width / 2 if self.published is not None else 0.0)]
        if self.published is not None:
            bars.append((np.asarray(self.published), "published (other features)", width / 2))
        for values, label, offset in bars:
            drawn = self.ax_.bar(places + offset, 100 * np.nan_to_num(values), width, label=label)
            self.ax_.bar_label(drawn, ["" if np.isnan(v) else f"{100 * v:.1f}" for v in values], fontsize=8)
        self.ax_.set_xticks(places, self.methods)
        self.ax_.set(ylabel="per-class accuracy, %")
        self.ax_.margins(y=0.12)
        if self.published is not None:
            self.ax_.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)  # above, off the bars
        return self


class SeenUnseenDisplay:
    """Accuracy on seen against accuracy on unseen classes, as the bias on the former varies.

    Parameters
    ----------
    curve : SeenUnseenCurve
    bias : float, optional
        The bias of the model, to be marked.
    """

    def __init__(self, curve: SeenUnseenCurve, bias: float | None = None) -> None:
        self.curve, self.bias = curve, bias

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, class_vectors: Any = None, ax: Any = None, name: str | None = None
    ) -> SeenUnseenDisplay:
        """Draw the curve of a fitted model on samples of seen and of unseen classes."""
        seen = estimator.recogniser(candidates="seen")
        unseen = estimator.recogniser(candidates="unseen", class_vectors=class_vectors)
        curve = generalized_curve(seen, unseen, [(estimator._checked(X), y)])
        return cls(curve, estimator.seen_bias_).plot(ax=ax, name=name)

    def plot(self, ax: Any = None, *, name: str | None = None) -> SeenUnseenDisplay:
        """Draw on the given axes, or on new ones."""
        self.ax_, self.figure_ = _axes(ax)
        seen, unseen = self.curve.accuracies(self.curve.biases())
        area = f"AUSUC {self.curve.area():.3f}"
        self.ax_.plot(100 * unseen, 100 * seen, label=area if name is None else f"{name} ({area})")
        marks = [("best harmonic mean", best_bias([self.curve]), "*")]
        if self.bias is not None:
            marks.append((f"bias {self.bias:.3g}", self.bias, "o"))
        for label, bias, marker in marks:
            at_seen, at_unseen = self.curve.accuracies(bias)
            self.ax_.plot(100 * at_unseen, 100 * at_seen, marker, color="black", label=label)
        self.ax_.set(xlabel="accuracy on unseen classes, %", ylabel="accuracy on seen classes, %")
        self.ax_.set_xlim(left=0)
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend()
        return self


def _axes(ax: Any) -> tuple[Any, Any]:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need the package matplotlib: pip install 'jcmspl[plots]'") from None
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    return ax, ax.figure
