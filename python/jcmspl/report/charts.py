"""Charts of results, in the manner of scikit-learn: an object holds the data and draws it with matplotlib.

Each is defined once: pages, files and notebooks have the same. matplotlib is an extra:
``pip install 'jcmspl[plots]'``. Charts of what a model makes of labelled samples are in :mod:`jcmspl.evaluation`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.report.figures import COLOURS, Display, drawable, in_legend, ink_of, model_of, numbers
from jcmspl.support.shown import listed, quoted

if TYPE_CHECKING:
    from typing_extensions import Self

_TERM_NAMES = ("½|AX-C|²", "λ₁/2 |BY-C|²", "λ₂/2 |C-H|²", "λ₃/2 |X-A'C|²", "λ₄/2 |Y-B'C|²")  # in the order of TERMS
_SYMBOLS = {"semantic_match": "λ₁", "class_match": "λ₂", "visual_reconstruction": "λ₃", "semantic_reconstruction": "λ₄"}
_MARKERS = "os^D"
_PALE = "#93b4f5"
_MOST_METHODS_UPRIGHT = 60  # characters of all names together, for which there is room side by side


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The objective after each iteration.

    Parameters
    ----------
    objective : array_like of shape (n_iter,)
    terms : array_like of shape (n_iter, 5), optional
        Its terms, in the order of :data:`jcmspl.core.solver.TERMS`.
    settled : int, optional
        The iteration that is marked as the last that mattered.

    Notes
    -----
    Option of ``plot``: ``name``, what the curve is called in the legend.
    """

    objective: npt.ArrayLike
    terms: npt.ArrayLike | None = None
    settled: int | None = None

    TITLE: ClassVar[str] = "Objective after each iteration"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, terms: bool = False, ax: Any = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the descent of a fitted model, or of the best one of a search."""
        model = model_of(estimator)
        check_is_fitted(model)
        if not hasattr(model, "objective_"):
            raise ValueError(f"a {type(model).__name__} is not found by a descent, so there is no objective to draw")
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
    """Accuracy on unseen classes as one parameter varies and the others stay.

    Parameters
    ----------
    name : str
        The parameter, a weight of :class:`jcmspl.JCMSPL` for example.
    values : sequence of n_values values
        Where all are positive numbers the axis is logarithmic; values that are no numbers stand side by side.
    accuracies : mapping of str to array_like of shape (n_values,)
        By space, or whatever else tells curves apart.
    chosen : optional
        The value that is marked; on a logarithmic axis an infinite one beyond all others, as ∞.
    at_chosen : mapping of str to float, optional
        The accuracy there, by the same names.
    errors : mapping of str to array_like of shape (n_values,), optional
        Standard errors of the accuracies, by the same names.
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
        """Draw what a search has found on held-out classes with each value of a parameter, the others as chosen.

        Parameters
        ----------
        search : JCMSPLCV or ClassSearchCV
            Fitted.
        name : str
            A parameter of which it tried more than one value.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        check_is_fitted(search)
        tried = search.cv_results_["params"]
        tried = [{key: _comparable(value) for key, value in one.items()} for one in tried]
        varied = [key for key in tried[0] if any(one[key] != tried[0][key] for one in tried)]
        if name not in varied:
            raise ValueError(f"the search did not try several values of {quoted(name)}: it did of {listed(varied)}")
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
        """Return where the chosen value is on the axis, if it has a place there."""
        if not are_numbers:
            return float(values.index(self.chosen)) if self.chosen in values else None
        if self._is_infinite:
            return float(places.max() * 10) if is_log else None
        return None if self.chosen is None or (is_log and not self.chosen) else float(self.chosen)

    def _size(self, **options: Any) -> tuple[float, float]:
        return 5.2, 3.8


class _OfMethods(Display):
    """A chart of what several methods reach: ``methods`` and ``accuracies`` come first."""

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the mean per-class accuracies of fitted models, or of the best ones of searches, on the same samples.

        Parameters
        ----------
        estimators : mapping of str to estimator
            By the names that are drawn.
        X, y, class_vectors, candidates
            As for ``score``.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        if not estimators:
            raise ValueError("there are no estimators to be drawn: give a dict of names and fitted models")
        how = {"class_vectors": class_vectors, "candidates": candidates}
        shares = [model_of(one).score(X, y, **how) for one in estimators.values()]
        return cls(list(estimators), shares).plot(ax=ax, **options)  # type: ignore[call-arg]


@dataclass(eq=False, repr=False)
class AblationDisplay(_OfMethods):
    """Accuracy of reduced forms of the model, beside published figures where there are any.

    Parameters
    ----------
    methods : sequence of str
    accuracies : array_like of shape (n_methods,)
    published : sequence of float or None, optional
        Shares as well.
    """

    methods: Sequence[str]
    accuracies: npt.ArrayLike
    published: Sequence[float | None] | None = None

    TITLE: ClassVar[str] = "Accuracy of reduced forms of the model"

    def _draw(self, ax: Any) -> None:
        bars = {"here": numbers(self.accuracies)}
        if self.published is not None:
            bars["published (other features)"] = numbers(self.published)
        places, width = np.arange(len(self.methods)), 0.78 / len(bars)
        for number, (label, values) in enumerate(bars.items()):
            at = places + (number - (len(bars) - 1) / 2) * width
            drawn = ax.bar(at, 100 * np.nan_to_num(values), width, label=label)
            if len(self.methods) <= 20:
                ax.bar_label(drawn, ["" if np.isnan(v) else f"{100 * v:.1f}" for v in values], fontsize=8, padding=1)
        upright = sum(len(drawable(method, 20)) for method in self.methods) > _MOST_METHODS_UPRIGHT
        width = self._size()[0] - 0.9 if self._has_own_axes else self._inches(ax)[0]
        self._name_ticks(
            ax.xaxis,
            self.methods,
            most=20,
            fontsize=8 if upright else 9,
            room=width if upright else np.inf,
            rotation=90 if upright else 0,
        )
        ax.set(ylabel="per-class accuracy, %")
        ax.margins(y=0.12)
        middle, half = (len(self.methods) - 1) / 2, max(len(self.methods), 3) / 2  # one bar does not fill it
        ax.set_xlim(middle - half - 0.1, middle + half + 0.1)
        ax.grid(False, axis="x")
        if self.published is not None:
            self._legend_above(ax)

    def _size(self, **options: Any) -> tuple[float, float]:
        return float(np.clip(0.25 * len(self.methods), 6.4, 12)), 4.0


@dataclass(eq=False, repr=False)
class ComparisonDisplay(_OfMethods):
    """What methods reach on unseen classes: on one split, and the mean over random splits with its standard error.

    Parameters
    ----------
    methods : sequence of str
        From top to bottom.
    accuracies : array_like of shape (n_methods,)
        On the data's own split.
    means, errors : sequence of float or None, optional
        Over random splits; None for a method that was not run on all of them.
    marked : collection of str
        Methods whose means are drawn dark.
    chance : float, optional
        What guessing gives, to be marked.
    """

    methods: Sequence[str]
    accuracies: npt.ArrayLike
    means: Sequence[float | None] | None = None
    errors: Sequence[float | None] | None = None
    marked: Collection[str] = field(default=(), kw_only=True)
    chance: float | None = field(default=None, kw_only=True)

    TITLE: ClassVar[str] = "What methods reach on unseen classes"

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.methods))
        if self.means is not None:
            means = 100 * numbers(self.means)
            errors = np.zeros(len(means)) if self.errors is None else 100 * np.nan_to_num(numbers(self.errors))
            known = np.flatnonzero(~np.isnan(means))
            colours = [COLOURS[0] if self.methods[i] in self.marked else _PALE for i in known.tolist()]
            ax.hlines(known, (means - errors)[known], (means + errors)[known], colors=colours, linewidth=2)
            ax.scatter(means[known], known, s=30, color=colours, zorder=3)
            ax.plot([], [], "o", color=COLOURS[0] if self.marked else _PALE, label="random splits")
        own = 100 * numbers(self.accuracies)
        ax.plot(own, places, "|", markersize=9, color=ink_of(ax), label="the data's own split")
        if self.chance is not None:
            ax.axvline(100 * self.chance, color="0.5", linestyle=":", label="chance")
        room = self._size()[1] - 1 if self._has_own_axes else self._inches(ax)[1]
        self._name_ticks(ax.yaxis, self.methods, room=room)
        ax.set(xlabel="accuracy on unseen classes, %", ylim=(len(self.methods) - 0.4, -0.6))
        self._legend_above(ax)

    def _size(self, **options: Any) -> tuple[float, float]:
        return 7.0, min(1.2 + 0.24 * len(self.methods), 14)


def _tick_powers(ax: Any, places: Any, infinity: float) -> None:
    """Name powers of ten, and infinity beyond them."""
    powers = np.log10([places.min(), places.max()])
    apart = max(1, np.ceil(np.ptp(powers) / 6))
    ticks = 10.0 ** np.arange(np.ceil(powers[0]), np.floor(powers[1]) + 1, apart)
    ax.set_xticks([*ticks, infinity], [*(f"$10^{{{np.log10(tick):.0f}}}$" for tick in ticks), "∞"])


def _comparable(value: Any) -> Any:
    """Return a value that equals itself and can be a key: numbers and text as they are, others as they are shown."""
    return value if isinstance(value, (str, int, float)) else str(value)


def _in_order(values: Collection[Any]) -> list[Any]:
    """Return values in their order if they have one, else as they came."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)
