"""Charts in the manner of scikit-learn: an object holds the data and draws it with matplotlib.

Each is defined once: pages, files and notebooks have the same. matplotlib is an extra:
``pip install 'jcmspl[plots]'``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from jcmspl.report.figures import COLOURS, FAINT, INK, Display, drawable, legend, legend_above
from jcmspl.report.text import percent
from jcmspl.support.arguments import Float64Array, IntArray

_TERM_NAMES = ("½|AX-C|²", "λ₁/2 |BY-C|²", "λ₂/2 |C-H|²", "λ₃/2 |X-A'C|²", "λ₄/2 |Y-B'C|²")  # in the order of TERMS
_SYMBOLS = {"semantic_match": "λ₁", "class_match": "λ₂", "visual_reconstruction": "λ₃", "semantic_reconstruction": "λ₄"}
_MARKERS = "oD*^s"
_MARKERS_OF_LINES = "os^D"
_PALE = "#93b4f5"


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
    """

    objective: npt.ArrayLike
    terms: npt.ArrayLike | None = None
    settled: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, terms: bool = False, ax: Any = None) -> ConvergenceDisplay:
        """Draw the descent of a fitted model, or of the best one of a search."""
        model = _chosen(estimator)
        check_is_fitted(model, "objective_")
        return cls(model.objective_, model.objective_terms_ if terms else None).plot(ax=ax)

    def _draw(self, ax: Any, *, name: str = "objective") -> None:
        steps = np.arange(1, len(np.asarray(self.objective)) + 1)
        ax.plot(steps, self.objective, marker="o", markersize=3, label=name)
        if self.terms is not None:
            for term, values in zip(_TERM_NAMES, np.asarray(self.terms).T, strict=True):
                ax.plot(steps, values, linestyle="--", linewidth=1, label=term)
        if self.settled is not None:
            ax.axvline(self.settled, color="0.5", linestyle=":", label=f"settles at iteration {self.settled}")
        ax.set(xlabel="iteration", ylabel="objective")
        ax.xaxis.get_major_locator().set_params(integer=True)
        if self.terms is not None or self.settled is not None or name != "objective":
            legend(ax)

    def _size(self) -> tuple[float, float]:
        return 5.2, 3.4


@dataclass(eq=False, repr=False)
class SensitivityDisplay(Display):
    """Accuracy on unseen classes as one weight varies and the others stay.

    Parameters
    ----------
    name : str
        The weight: a parameter of :class:`jcmspl.JCMSPL`.
    values : array_like of shape (n_values,)
    accuracies : mapping of str to array_like of shape (n_values,)
        By space.
    chosen : float, optional
        The value that is marked; an infinite one beyond all others, as ∞.
    at_chosen : mapping of str to float, optional
        The accuracy there, by space.
    """

    name: str
    values: npt.ArrayLike
    accuracies: Mapping[str, Any]
    chosen: float | None = None
    at_chosen: Mapping[str, float] = field(default_factory=dict)

    def _draw(self, ax: Any) -> None:
        values = _numbers(self.values)
        place = self.chosen or None  # zero has none on an axis of powers
        if place is not None and np.isinf(place):
            place = values.max() * 10
        for (space, shares), marker in zip(self.accuracies.items(), itertools.cycle(_MARKERS_OF_LINES)):
            (line,) = ax.plot(values, 100 * _numbers(shares), marker=marker, markersize=4, label=space)
            if place is not None and space in self.at_chosen:
                style = {"markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.5, "linestyle": "none"}
                ax.plot([place], [100 * self.at_chosen[space]], marker=marker, color=line.get_color(), **style)
        weight = f"{_SYMBOLS[self.name]} ({self.name})" if self.name in _SYMBOLS else self.name
        ax.set(xscale="log", xlabel=weight, ylabel="per-class accuracy, %")
        if place is not None:
            infinite = self.chosen is not None and np.isinf(self.chosen)
            ax.axvline(place, color="0.5", linestyle=":", label=f"tuned: {'∞' if infinite else f'{self.chosen:g}'}")
            if infinite:
                powers = np.log10([values.min(), values.max()])
                apart = max(1, np.ceil(np.ptp(powers) / 6))
                ticks = 10.0 ** np.arange(np.ceil(powers[0]), np.floor(powers[1]) + 1, apart)
                ax.set_xticks([*ticks, place], [*(f"$10^{{{np.log10(tick):.0f}}}$" for tick in ticks), "∞"])
        ax.minorticks_off()
        legend_above(ax, 2)

    def _size(self) -> tuple[float, float]:
        return 5.2, 3.6


@dataclass(eq=False, repr=False)
class AblationDisplay(Display):
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

    def _draw(self, ax: Any) -> None:
        bars = {"here": _numbers(self.accuracies)}
        if self.published is not None:
            bars["published (other features)"] = _numbers(self.published)
        places, width = np.arange(len(self.methods)), 0.78 / len(bars)
        for number, (label, values) in enumerate(bars.items()):
            at = places + (number - (len(bars) - 1) / 2) * width
            drawn = ax.bar(at, 100 * np.nan_to_num(values), width, label=label)
            ax.bar_label(drawn, ["" if np.isnan(v) else f"{100 * v:.1f}" for v in values], fontsize=8, padding=1)
        ax.set_xticks(places, [drawable(method, 20) for method in self.methods], parse_math=False)
        ax.set(ylabel="per-class accuracy, %")
        ax.margins(y=0.12)
        ax.grid(False, axis="x")
        if self.published is not None:
            legend_above(ax, len(bars))


@dataclass(eq=False, repr=False)
class SeenUnseenDisplay(Display):
    """Accuracy on seen against accuracy on unseen classes, as the bias on the former varies.

    Parameters
    ----------
    curve : SeenUnseenCurve, or mapping of str to array_like of shape (n_points, 2)
        One curve; or several by name, as points (accuracy on unseen classes, accuracy on seen classes).
    bias : float, optional
        The bias of the model, to be marked.
    marks : mapping of str to (accuracy on unseen classes, accuracy on seen classes), optional
        Further points to be marked.
    """

    curve: Any
    bias: float | None = None
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict, kw_only=True)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, class_vectors: Any = None, ax: Any = None, name: str | None = None
    ) -> SeenUnseenDisplay:
        """Draw the curve of a fitted model, or of the best one of a search, on samples of seen and unseen classes."""
        model = _chosen(estimator)
        curve = model.generalized_curve(X, y, class_vectors=class_vectors)
        return cls(curve, model.seen_bias_).plot(ax=ax, name=name)

    def _draw(self, ax: Any, *, name: str | None = None) -> None:
        lines, marks = self._points(name)
        for label, (unseen, seen) in lines.items():
            ax.plot(100 * unseen, 100 * seen, label=label)
        for (label, (at_unseen, at_seen)), marker in zip(marks.items(), _MARKERS, strict=False):
            size = 11 if marker == "*" else 7
            style = {"linestyle": "none", "color": INK, "markeredgecolor": "white"}
            ax.plot(100 * at_unseen, 100 * at_seen, marker=marker, markersize=size, label=label, **style)
        ax.set(xlabel="accuracy on unseen classes, %", ylabel="accuracy on seen classes, %")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        legend(ax, loc="lower left")  # the curve falls from the upper left to the lower right

    def _size(self) -> tuple[float, float]:
        return 5.2, 4.2

    def _points(self, name: str | None) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
        if isinstance(self.curve, Mapping):
            return {label: _numbers(points).T for label, points in self.curve.items()}, dict(self.marks)
        seen, unseen = self.curve.accuracies(self.curve.biases())
        area = f"AUSUC {self.curve.area():.3f}"
        biases = {} if self.bias is None else {f"bias {self.bias:.3g}": self.bias}
        biases["best harmonic mean"] = self.curve.best_bias()
        marks = {label: tuple(self.curve.accuracies(bias))[::-1] for label, bias in biases.items()}
        return {area if name is None else f"{name} ({area})": (unseen, seen)}, {**marks, **self.marks}


@dataclass(eq=False, repr=False)
class ClassAccuracyDisplay(Display):
    """The share of each class that is recognised, as bars; as readable with sixty classes as with three.

    Parameters
    ----------
    labels : sequence
        The classes, from top to bottom.
    accuracies : mapping of str to sequence of float or None
        For each kind of recognition the share within each class.
    """

    labels: Sequence[Any]
    accuracies: Mapping[str, Any]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, class_vectors: Any = None, candidates: Any = None, ax: Any = None
    ) -> ClassAccuracyDisplay:
        """Draw how a fitted model, or the best one of a search, recognises samples; arguments as for predict."""
        counts, labels = _counted(estimator, X, y, class_vectors=class_vectors, candidates=candidates)
        shares = {i: row[i] / row.sum() for i, row in enumerate(counts) if row.any()}
        best_first = sorted(shares, key=lambda i: -shares[i])
        return cls([labels[i] for i in best_first], {"accuracy": [shares[i] for i in best_first]}).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.labels))
        height = 0.8 / max(1, len(self.accuracies))
        for number, (name, values) in enumerate(self.accuracies.items()):
            shares = _numbers(values)
            at = places + (number - (len(self.accuracies) - 1) / 2) * height
            drawn = ax.barh(at, 100 * np.nan_to_num(shares), 0.92 * height, label=name)
            texts = ["" if np.isnan(share) else f"{100 * share:.0f}" for share in shares]
            ax.bar_label(drawn, texts, padding=2, fontsize=7)
            for bar, label, share in zip(drawn, self.labels, shares, strict=True):
                self._hint(bar, f"{label}, {name}: {percent(share)}")
        _name_ticks(self, ax.yaxis, self.labels, 32, fontsize=8)
        ax.set(xlabel="recognised, %", xlim=(0, 105), ylim=(len(self.labels) - 0.4, -0.6))
        ax.set_xticks(range(0, 101, 25))
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        if len(self.accuracies) > 1:
            legend_above(ax, len(self.accuracies))

    def _size(self) -> tuple[float, float]:
        return 7.0, 0.9 + len(self.labels) * (0.08 + 0.125 * len(self.accuracies))


@dataclass(eq=False, repr=False)
class ConfusionDisplay(Display):
    """Which classes were taken for which: rows are true classes, columns what they were taken for.

    Parameters
    ----------
    counts : array_like of shape (n_classes, n_classes)
    labels : sequence
        The classes, in the order of rows and columns.
    """

    counts: npt.ArrayLike
    labels: Sequence[Any]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, class_vectors: Any = None, candidates: Any = None, ax: Any = None
    ) -> ConfusionDisplay:
        """Draw the mistakes of a fitted model, or of the best one of a search; arguments as for predict."""
        return cls(*_counted(estimator, X, y, class_vectors=class_vectors, candidates=candidates)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize
        from matplotlib.patches import Rectangle

        shades = LinearSegmentedColormap.from_list("", ["#e3ebfd", COLOURS[0], "#172554"])
        counts = np.asarray(self.counts)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        # per cell one shape and, where there is room, its number
        number_size = min(9.0, 72 * 0.85 * self._cell() / (0.65 * max(2, len(str(counts.max(initial=0))))))
        for i, j in np.argwhere(counts > 0):
            share, count = shares[i, j], counts[i, j]
            cell = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=shades(share), edgecolor="white", linewidth=0.4)
            ax.add_patch(cell)
            self._hint(cell, f"{self.labels[i]} taken for {self.labels[j]}: {count} ({100 * share:.0f} %)")
            if number_size >= 6:
                colour = "white" if share > 0.35 else INK
                ax.text(j, i, str(count), ha="center", va="center_baseline", size=number_size, color=colour)
        name_size = min(9.0, 72 * self._cell() - 1)
        if name_size >= 5:
            _name_ticks(self, ax.yaxis, self.labels, 24, fontsize=name_size)
            _name_ticks(self, ax.xaxis, self.labels, 24, fontsize=name_size, rotation=90)
        else:
            ax.set(xticks=[], yticks=[])
        n = len(self.labels)
        ax.set(xlabel="taken for", ylabel="class", xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
        ax.tick_params(length=0)
        ax.grid(False)
        ax.spines[:].set_visible(True)
        ax.spines[:].set_color(FAINT)
        scale = ScalarMappable(Normalize(0, 100), shades)
        bar = self.figure_.colorbar(scale, ax=ax, label="% of the class", fraction=0.05, pad=0.02, aspect=25)
        bar.outline.set_visible(False)

    def _cell(self) -> float:
        """Return the side of a cell in inches in a figure of its own."""
        return min(0.5, 6.2 / max(1, len(self.labels)))

    def _size(self) -> tuple[float, float]:
        longest = max((len(drawable(label, 24)) for label in self.labels), default=0)
        names = 0.6 + longest * 0.6 * min(9.0, 72 * self._cell() - 1) / 72
        side = len(self.labels) * self._cell() + names
        return max(side + 0.9, 3.0), max(side, 2.0)


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
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

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.methods))
        if self.means is not None:
            means, errors = 100 * _numbers(self.means), 100 * np.nan_to_num(_numbers(self.errors))
            colours = [COLOURS[0] if method in self.marked else _PALE for method in self.methods]
            ax.hlines(places, means - errors, means + errors, colors=colours, linewidth=2)
            ax.scatter(means, places, s=30, color=colours, zorder=3)
            ax.plot([], [], "o", color=COLOURS[0] if self.marked else _PALE, label="random splits")
        ax.plot(100 * _numbers(self.accuracies), places, "|", markersize=9, color=INK, label="the data's own split")
        if self.chance is not None:
            ax.axvline(100 * self.chance, color="0.5", linestyle=":", label="chance")
        _name_ticks(self, ax.yaxis, self.methods, 32, fontsize=8)
        ax.set(xlabel="accuracy on unseen classes, %", ylim=(len(self.methods) - 0.4, -0.6))
        ax.tick_params(axis="y", length=0)
        legend_above(ax, 3)

    def _size(self) -> tuple[float, float]:
        return 7.0, 1.2 + 0.24 * len(self.methods)


def _numbers(values: Any) -> Float64Array:
    """Return an array in which NaN stands for None."""
    return np.array(values, dtype=np.float64)


def _chosen(estimator: Any) -> Any:
    """Return the model of a search; a model as it is."""
    return getattr(estimator, "best_estimator_", estimator)


def _counted(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[IntArray, list[Any]]:
    """Return how often each class was taken for each other, and the classes that occur."""
    named = _chosen(estimator).predict(X, **options)
    labels = unique_labels(y, named)
    return confusion_matrix(y, named, labels=labels), labels.tolist()


def _name_ticks(display: Display, axis: Any, labels: Sequence[Any], most: int, **style: Any) -> None:
    """Name the places 0, 1, ... of an axis; where a name is shortened, a page tells all of it."""
    short = [drawable(label, most) for label in labels]
    axis.set_ticks(range(len(short)), short, parse_math=False, **style)
    for tick, label, text in zip(axis.get_ticklabels(), labels, short, strict=True):
        if text != str(label):
            display._hint(tick, str(label))
