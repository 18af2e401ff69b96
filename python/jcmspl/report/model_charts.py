"""Charts of a model: the descent of its fit, its sensitivity to a parameter, the explanation of a prediction."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.report.figures import COLOURS, Display, drawable, in_legend, ink_of, model_of, numbers
from jcmspl.support.arguments import as_count
from jcmspl.support.calls import accepts_old_keywords
from jcmspl.support.shown import listed, quoted, shown

_TERM_NAMES = ("½|AX-C|²", "λ₁/2 |BY-C|²", "λ₂/2 |C-H|²", "λ₃/2 |X-A'C|²", "λ₄/2 |Y-B'C|²")  # in the order of TERMS
_SYMBOLS = {"semantic_match": "λ₁", "class_match": "λ₂", "visual_reconstruction": "λ₃", "semantic_reconstruction": "λ₄"}
_MARKERS = "os^D"


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The objective after each iteration.

    Parameters
    ----------
    objective : array_like of shape (n_iter,)
    terms : array_like of shape (n_iter, 5), optional
        Its terms, in the order of :data:`jcmspl.core.solver.TERMS`.
    settled : int, optional
        An iteration to mark, after which the objective hardly changes.

    Notes
    -----
    Option of ``plot``: ``name`` of the curve in the legend.
    """

    objective: npt.ArrayLike
    terms: npt.ArrayLike | None = None
    settled: int | None = None

    TITLE: ClassVar[str] = "Objective after each iteration"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, terms: bool = False, ax: Any = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the descent of a fitted model, or of the best model of a search."""
        model = model_of(estimator)
        check_is_fitted(model)
        if not hasattr(model, "objective_"):
            raise ValueError(f"a {type(model).__name__} is not fitted by a descent, so there is no objective to draw")
        return cls(model.objective_, model.objective_terms_ if terms else None).plot(ax=ax, **options)

    def _draw(self, ax: Any, *, name: str = "objective") -> None:
        steps = np.arange(1, len(np.asarray(self.objective)) + 1)
        ax.plot(steps, self.objective, marker="o", markersize=3, label=in_legend(name))
        if self.terms is not None:
            for term, values in zip(_TERM_NAMES, np.asarray(self.terms).T, strict=True):
                ax.plot(steps, values, linestyle="--", linewidth=1, label=term)
        if self.settled is not None:
            ax.axvline(self.settled, color="0.5", linestyle=":", label=f"settles at iteration {self.settled}")
        ax.set(xlabel="iteration", ylabel="objective")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlim(left=1 - 0.02 * len(steps))
        if len(steps) == 1:
            ax.set_xticks([1])
        if self.terms is not None or self.settled is not None or name != "objective":
            self._legend_above(ax, 2 if self.terms is None else 3)

    def _size(self, **options: Any) -> tuple[float, float]:
        return 5.2, 3.4


@dataclass(eq=False, repr=False)
class SensitivityDisplay(Display):
    """Accuracy on unseen classes as one parameter varies and the others are fixed.

    Parameters
    ----------
    name : str
        The parameter, a weight of :class:`jcmspl.JCMSPL` for example.
    values : sequence of n_values values
        The axis is logarithmic if all are positive numbers; values that are not numbers are evenly spaced.
    accuracies : mapping of str to array_like of shape (n_values,)
        For each curve, by name (the space, for example).
    chosen : optional
        A value to mark; infinity stands at the end of a logarithmic axis.
    at_chosen : mapping of str to float, optional
        The accuracy of each curve at the chosen value.
    errors : mapping of str to array_like of shape (n_values,), optional
        Standard errors of the accuracies of each curve.
    """

    name: str
    values: Any
    accuracies: Mapping[str, Any]
    chosen: Any = None
    at_chosen: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    TITLE: ClassVar[str] = "Accuracy on unseen classes as one parameter varies"

    @classmethod
    def from_estimator(cls, search: Any, name: str, *, ax: Any = None, **options: Any) -> SensitivityDisplay:
        """Draw the accuracies of a search on held-out classes for each value of a parameter, the others as chosen.

        Parameters
        ----------
        search : JCMSPLCV or ClassSearchCV
            Fitted.
        name : str
            A parameter with several values in the search.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        check_is_fitted(search)
        # other values become texts, which can be compared
        tried = [
            {key: value if isinstance(value, (str, int, float)) else str(value) for key, value in one.items()}
            for one in search.cv_results_["params"]
        ]
        varied = [key for key in tried[0] if any(one[key] != tried[0][key] for one in tried)]
        if name not in varied:
            raise ValueError(f"the search did not try several values of {quoted(name)}, only of {listed(varied)}")
        chosen = tried[search.best_index_]
        groups = "space" if "space" in varied and name != "space" else None
        fixed = [key for key in varied if key not in (name, groups)]
        rows = [i for i, one in enumerate(tried) if all(one[key] == chosen[key] for key in fixed)]
        values = _in_order({tried[i][name]: None for i in rows})
        folds = np.column_stack([scores for key, scores in search.cv_results_.items() if key.startswith("split")])
        accuracies: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for i in rows:
            curve = str(tried[i][groups]) if groups else "held-out classes"
            at = values.index(tried[i][name])
            accuracies.setdefault(curve, np.full(len(values), np.nan))[at] = folds[i].mean()
            spread = folds[i].std(ddof=1) / np.sqrt(folds.shape[1]) if folds.shape[1] > 1 else 0.0
            errors.setdefault(curve, np.full(len(values), np.nan))[at] = spread
        return cls(name, values, accuracies, chosen[name], errors=errors).plot(ax=ax, **options)

    def _draw(self, ax: Any) -> None:
        values = list(self.values)
        are_numbers = all(isinstance(one, (int, float, np.number)) and np.isfinite(one) for one in values)
        places = np.array(values, dtype=np.float64) if are_numbers else np.arange(len(values))
        is_log = bool(are_numbers and np.all(places > 0))
        chosen = self._place_of_chosen(values, places, are_numbers, is_log)
        for (label, shares), marker in zip(self.accuracies.items(), itertools.cycle(_MARKERS)):
            error = 100 * numbers(self.errors[label]) if label in self.errors else None
            style = {"marker": marker, "markersize": 4, "capsize": 2, "label": in_legend(label)}
            line = ax.errorbar(places, 100 * numbers(shares), error, **style).lines[0]
            if chosen is not None and label in self.at_chosen:
                ring = {"markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.5, "linestyle": "none"}
                ax.plot([chosen], [100 * self.at_chosen[label]], marker=marker, color=line.get_color(), **ring)
        if is_log:
            ax.set_xscale("log")
            ax.minorticks_off()
        elif not are_numbers:
            self._name_ticks(ax.xaxis, values)
        if chosen is not None:
            name = "∞" if self._is_infinite else f"{self.chosen:g}" if are_numbers else drawable(self.chosen)
            ax.axvline(chosen, color="0.5", linestyle=":", label=f"tuned: {name}")
            if self._is_infinite:
                _tick_powers(ax, places, chosen)
        ax.set(ylabel="per-class accuracy, %")
        label = f"{_SYMBOLS[self.name]} ({self.name})" if self.name in _SYMBOLS else drawable(self.name, 60)
        ax.set_xlabel(label, parse_math=False)
        self._legend_above(ax, 2)

    @property
    def _is_infinite(self) -> bool:
        return isinstance(self.chosen, (float, np.floating)) and bool(np.isinf(self.chosen))

    def _place_of_chosen(self, values: list[Any], places: Any, are_numbers: bool, is_log: bool) -> float | None:
        """Return the place of the chosen value on the axis; None if it has none."""
        if not are_numbers:
            return float(values.index(self.chosen)) if self.chosen in values else None
        if self._is_infinite:
            return float(places.max() * 10) if is_log else None
        return None if self.chosen is None or (is_log and not self.chosen) else float(self.chosen)

    def _size(self, **options: Any) -> tuple[float, float]:
        return 5.2, 3.8


@dataclass(eq=False, repr=False)
class ExplanationDisplay(Display):
    """Contributions of attributes for and against a class, as signed bars.

    Parameters
    ----------
    attributes : sequence of str
    contributions : array_like of shape (n_attributes,)
        The part of each attribute in the score of the class or, with ``against``, in the difference of two scores.
    label, against : optional
        The class, and the one it is compared with.
    are_classes : bool, default False
        Whether the bars are the nearest classes with their scores, as for class vectors without names of attributes.

    Notes
    -----
    Option of ``plot``: ``most``, the number of attributes drawn (default 10), the largest ones; one more bar is the
    sum of the others.
    """

    attributes: Sequence[str]
    contributions: npt.ArrayLike
    label: Any = None
    against: Any = None
    are_classes: bool = False

    @classmethod
    def from_explanation(cls, explanation: Any, *, ax: Any = None, **options: Any) -> ExplanationDisplay:
        """Draw an explanation, ``model.explain(X)[0]``; without names of attributes, the nearest classes."""
        is_named = explanation.is_named
        names, values = zip(*(explanation.parts() if is_named else explanation.nearest), strict=True)
        display = cls(names, values, explanation.label, explanation.against, are_classes=not is_named)
        return display.plot(ax=ax, **options)

    @classmethod
    @accepts_old_keywords
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        label: Any = None,
        against: Any = "runner-up",
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ExplanationDisplay:
        """Draw the explanation of one sample by a fitted model, or by the best model of a search.

        Parameters
        ----------
        estimator : estimator
            A fitted model, or a search.
        X : array_like of shape (n_features,) or (1, n_features)
            One sample.
        label, against, class_vectors, candidates, seen_penalty
            As for ``explain``.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        model = model_of(estimator)
        if not hasattr(model, "explain"):
            raise ValueError(f"a {type(model).__name__} cannot explain its scores: they are not sums over attributes")
        X = X.to_frame().T if hasattr(X, "to_frame") else X  # a row of a DataFrame, with the names of its features
        sample = X if hasattr(X, "iloc") else np.atleast_2d(np.asarray(X))
        if len(sample) != 1:
            raise ValueError(f"X has {len(sample)} samples, but a chart explains one: pass X[i]")
        chosen = {"class_vectors": class_vectors, "candidates": candidates, "seen_penalty": seen_penalty}
        return cls.from_explanation(model.explain(sample, label=label, against=against, **chosen)[0], ax=ax, **options)

    def bars(self, most: int = 10) -> tuple[list[str], list[float]]:
        """Return the names and lengths of the bars from top to bottom, with the sum of the others last."""
        parts = numbers(self.contributions)
        if len(parts) != len(self.attributes):
            raise ValueError(f"there are {len(self.attributes)} attributes but {len(parts)} contributions")
        # a single attribute is never replaced by a sum
        left_out = len(parts) - as_count(most, "most")
        drawn = np.argsort(-np.abs(parts), kind="stable")[: most if left_out > 1 else len(parts)]
        drawn = drawn[np.argsort(-parts[drawn], kind="stable")]
        names, lengths = [str(self.attributes[i]) for i in drawn], parts[drawn].tolist()
        if left_out > 1:
            names.append(f"({left_out} others)")
            lengths.append(float(parts.sum() - parts[drawn].sum()))
        return names, lengths

    def _draw(self, ax: Any, *, most: int = 10) -> None:
        names, lengths = self.bars(most)
        are_others = len(lengths) < len(self.attributes)
        colours = [COLOURS[0] if length >= 0 else COLOURS[1] for length in lengths]
        drawn = ax.barh(range(len(names)), lengths, 0.72, color=colours)
        if are_others:
            drawn[-1].set_alpha(0.45)
        longest, number = max(map(abs, lengths), default=0.0), ".3g" if self.are_classes else "+.2g"
        for bar, name, length in zip(drawn, names, lengths, strict=True):
            self._hint(bar, f"{name}: {length:+.3g}")
            if len(names) <= 40:
                side = 1 if length >= 0 else -1
                ax.annotate(
                    f"{length:{number}}".replace("-", "\N{MINUS SIGN}"),  # as on the axis
                    (length, bar.get_y() + bar.get_height() / 2),
                    (3 * side, 0),
                    textcoords="offset points",
                    ha="left" if side > 0 else "right",
                    va="center",
                    fontsize=8,
                )
        ax.axvline(0, color=ink_of(ax), linewidth=0.8)
        room = self._size(most=most)[1] - 1 if self._has_own_axes else self._inches(ax)[1]
        self._name_ticks(ax.yaxis, names, room=room)
        # room for the numbers beside the bars
        left, right = (max((side * length for length in lengths), default=0.0) for side in (-1, 1))
        margin = 0.14 * max(max(left, 0) + max(right, 0), 1e-300) if longest else 1.0
        sides = [max(side, 0) + margin * (1 if side > 0 else 0.05) for side in (left, right)]
        ax.set_xlim(-sides[0], sides[1])
        of_what = "score" if self.against is None else "difference of the scores"
        ax.set(xlabel="score" if self.are_classes else f"part in the {of_what}", ylim=(len(names) - 0.4, -0.6))
        ax.grid(False, axis="y")

    def _title(self) -> str:
        if self.are_classes:
            return "Nearest classes"
        if self.label is None:
            return "Why this class"
        rival = "" if self.against is None else f" rather than {shown(self.against, 32)}"
        return f"Why {shown(self.label, 32)}{rival}"

    def _size(self, *, most: int = 10, **options: Any) -> tuple[float, float]:
        return 6.4, min(1.1 + 0.24 * len(self.bars(most)[0]), 14)


def _tick_powers(ax: Any, places: Any, infinity: float) -> None:
    """Label powers of ten, and infinity beyond them."""
    powers = np.log10([places.min(), places.max()])
    apart = max(1, np.ceil(np.ptp(powers) / 6))
    ticks = 10.0 ** np.arange(np.ceil(powers[0]), np.floor(powers[1]) + 1, apart)
    ax.set_xticks([*ticks, infinity], [*(f"$10^{{{np.log10(tick):.0f}}}$" for tick in ticks), "∞"])


def _in_order(values: Collection[Any]) -> list[Any]:
    """Sort values if they can be compared."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)
