"""Charts by class: accuracies and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import sorted_labels
from jcmspl.evaluation.accuracy import confusion_matrix
from jcmspl.report.figures import COLOURS, FAINT, INK, Display, drawable, in_legend, ink_of, model_of, numbers
from jcmspl.support.arguments import Float64Array, IntArray, one_of
from jcmspl.support.calls import accepts_old_keywords
from jcmspl.support.shown import percent

if TYPE_CHECKING:
    from typing_extensions import Self

# With more classes, dots replace bars.
_MOST_BARS = 60
# Up to so many classes each cell is a shape with a hint; with more, the matrix is one image.
_MOST_CELLS = 120
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


class _OfPredictions(Display):
    """Base class of charts made ``from_predictions``."""

    @classmethod
    @accepts_old_keywords
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted model, or the best model of a search; parameters as for ``predict`` and the chart."""
        how = {"class_vectors": class_vectors, "candidates": candidates, "seen_penalty": seen_penalty}
        named = np.asarray(model_of(estimator).predict(X, **how))  # computes labels of dask
        return cls.from_predictions(y, named, ax=ax, **options)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the predictions of any model."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class ClassAccuracyDisplay(_OfPredictions):
    """Accuracy of each class: bars, or dots for more than sixty classes.

    Parameters
    ----------
    labels : sequence
        The classes, from top to bottom.
    accuracies : mapping of str to sequence of float or None
        For each kind of recognition, the accuracies of all classes.
    samples : sequence of int, optional
        The number of samples of each class, for Wilson's 95 % confidence intervals.
    means : mapping of str to float, optional
        The mean over classes of each kind of recognition, drawn as a line.

    Notes
    -----
    Option of ``plot``: ``order`` of the classes, "given" (default), "accuracy" (of the first kind of recognition, the
    best first) or "name".
    """

    labels: Sequence[Any]
    accuracies: Mapping[str, Any]
    samples: Any = field(default=None, kw_only=True)
    means: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    TITLE: ClassVar[str] = "Accuracy of each class"

    def __post_init__(self) -> None:
        lengths = {name: len(list(values)) for name, values in self.accuracies.items()}
        if self.samples is not None:
            lengths["samples"] = len(self.samples)
        for name, length in lengths.items():
            if length != len(self.labels):
                raise ValueError(f"there are {len(self.labels)} labels but {length} values of {name!r}")

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, name: str = "accuracy", ax: Any = None, **options: Any
    ) -> Self:
        """Draw the accuracy of each class in y_true, the best first.

        Parameters
        ----------
        y_true, y_pred : array_like of shape (n_samples,)
        name : str, default "accuracy"
            The name of the kind of recognition.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        counts, labels = confusion_matrix(y_true, y_pred)
        totals, right = counts.sum(axis=1), np.diagonal(counts)
        present = np.flatnonzero(totals)
        if not len(present):
            raise ValueError("y_true is empty: accuracies need samples")
        shares = right[present] / totals[present]
        order = np.argsort(-shares, kind="stable")
        display = cls(
            [labels[i] for i in present[order]],
            {name: shares[order]},
            samples=totals[present[order]],
            means={name: float(shares.mean())} if len(shares) > 1 else {},
        )
        return display.plot(ax=ax, **options)

    def intervals(self, name: str) -> tuple[Float64Array, Float64Array] | None:
        """Return the ends of the confidence interval of each class; NaN if unknown."""
        return None if self.samples is None else wilson(numbers(self.accuracies[name]), numbers(self.samples))

    def _draw(self, ax: Any, *, order: str = "given") -> None:
        chart = self._in_order(order)
        n, kinds = len(chart.labels), len(chart.accuracies)
        places, height = np.arange(n), 0.8 / max(1, kinds)
        for number, name in enumerate(chart.accuracies):
            at = places + (number - (kinds - 1) / 2) * height
            shares, ends = numbers(chart.accuracies[name]), chart.intervals(name)
            mean = f" (mean {percent(self.means[name])})" if name in self.means else ""
            colour, label = COLOURS[number % len(COLOURS)], in_legend(name) + mean
            if n > _MOST_BARS:
                artists = [ax.plot(100 * shares, at, "o", markersize=3.2, color=colour, label=label)[0]]
            else:
                artists = list(ax.barh(at, 100 * np.nan_to_num(shares), 0.92 * height, color=colour, label=label))
                self._tell(artists, chart.labels, name, shares, ends)
            if ends is not None:
                known = ~np.isnan(ends[0])
                low, high = (100 * end[known] for end in ends)
                style = {"linewidth": 0.9, "alpha": 0.55, "label": None if number else "95 % interval"}
                ax.hlines(at[known], low, high, colors=[colour if n > _MOST_BARS else ink_of(ax)], **style)
            if n <= _MOST_BARS:
                # beside the bar or, with whiskers, in a column at the edge
                self._write_shares(ax, at, shares, None if ends is None else colour)
            if name in self.means:
                ax.axvline(100 * self.means[name], color=colour, linestyle=":", linewidth=1.2)
        room = self._size()[1] - 1 if self._has_own_axes else self._inches(ax)[1]
        self._name_ticks(ax.yaxis, chart.labels, room=room)
        ax.set(xlabel="recognised, %", xlim=(0, 106 if self.samples is None else 101), ylim=(n - 0.4, -0.6))
        ax.set_xticks(range(0, 101, 25))
        ax.grid(False, axis="y")
        if kinds > 1 or self.means or self.samples is not None:
            self._legend_above(ax, 2 if kinds > 1 else 3)

    def _in_order(self, order: str) -> ClassAccuracyDisplay:
        """Return a copy with its classes in another order."""
        if one_of(order, "order", ("given", "accuracy", "name")) == "given" or not len(self.labels):
            return self
        rows = _rows_in(order, self.labels, numbers(next(iter(self.accuracies.values()), ())))
        return replace(
            self,
            labels=[self.labels[i] for i in rows],
            accuracies={name: numbers(values)[rows] for name, values in self.accuracies.items()},
            samples=None if self.samples is None else np.asarray(self.samples)[rows],
        )

    def _tell(self, bars: list[Any], labels: Sequence[Any], name: str, shares: Float64Array, ends: Any) -> None:
        for i, (bar, label) in enumerate(zip(bars, labels, strict=True)):
            is_known = ends is not None and not np.isnan(ends[0][i])
            between = f" ({percent(ends[0][i])} to {percent(ends[1][i])})" if is_known else ""
            self._hint(bar, f"{label}, {name}: {percent(shares[i])}{between}")

    @staticmethod
    def _write_shares(ax: Any, at: Any, shares: Float64Array, in_column: Any) -> None:
        for place, share in zip(at, shares, strict=True):
            if not np.isnan(share):
                text, style = f"{100 * share:.0f}", {"textcoords": "offset points", "va": "center", "fontsize": 7}
                if in_column is None:
                    ax.annotate(text, (100 * share, place), (2, 0), ha="left", **style)
                else:
                    where = (1, place)
                    style["color"] = in_column
                    ax.annotate(text, where, (16, 0), xycoords=("axes fraction", "data"), ha="right", **style)

    def _size(self, **options: Any) -> tuple[float, float]:
        n = len(self.labels)
        if n > _MOST_BARS:
            return 7.0, min(2.0 + 0.042 * n, 14)
        return 7.0, 1.5 + n * (0.08 + 0.125 * len(self.accuracies))


@dataclass(eq=False, repr=False)
class ConfusionDisplay(_OfPredictions):
    """Confusion matrix: rows are true classes, columns predicted ones.

    Parameters
    ----------
    counts : array_like of shape (n_classes, n_classes)
    labels : sequence
        The classes, in the order of rows and columns.

    Notes
    -----
    Options of ``plot``:

    - ``order`` of the classes: "given" (default), "name", "accuracy" (the best first) or "similarity" (classes that are
      confused stand side by side)
    - ``include_values``: whether cells show numbers of samples (default: if there is room)
    - ``cmap``: a colormap of matplotlib, or its name
    - ``colorbar``: whether to draw the colour scale (default True)
    """

    counts: npt.ArrayLike
    labels: Sequence[Any]

    TITLE: ClassVar[str] = "Confusions between classes"

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        n = len(self.labels)
        if counts.shape != (n, n):
            raise ValueError(f"there are {n} labels, so counts must be {n} x {n}, but its shape is {counts.shape}")
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("counts must be numbers of samples, but some are negative or not finite")

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, labels: Any = None, ax: Any = None, **options: Any) -> Self:
        """Draw the confusions between true and predicted classes.

        Parameters
        ----------
        y_true, y_pred : array_like of shape (n_samples,)
        labels : sequence, optional
            The classes and their order (default: all that occur, sorted).
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        return cls(*confusion_matrix(y_true, y_pred, labels)).plot(ax=ax, **options)

    def _draw(
        self,
        ax: Any,
        *,
        order: str = "given",
        include_values: bool | None = None,
        cmap: Any = None,
        colorbar: bool = True,
    ) -> None:
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        shades: Any = LinearSegmentedColormap.from_list("", ["#c7d8fc", COLOURS[0], "#172554"])
        if cmap is not None:
            shades = colormaps[cmap] if isinstance(cmap, str) else cmap
        rows = self._order(order)
        counts, labels = np.asarray(self.counts)[np.ix_(rows, rows)], [self.labels[i] for i in rows]
        n = len(labels)
        cell = self._cell() if self._has_own_axes else min(self._inches(ax)) / max(n, 1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        if n <= _MOST_CELLS:
            self._draw_cells(ax, counts, labels, shades(shares))
        else:
            filled = np.ma.masked_where(counts == 0, 100 * shares)
            ax.imshow(filled, cmap=shades, vmin=0, vmax=100, interpolation="nearest")
        size = min(9.0, 72 * 0.85 * cell / (0.65 * max(2, len(str(counts.max(initial=0))))))
        if size >= 6 if include_values is None else include_values:
            self._write_values(ax, counts, shades(shares), max(size, 3.0))
        name_size = self._name_size(cell)
        self._name_ticks(ax.yaxis, labels, most=24, fontsize=name_size, room=n * cell)
        self._name_ticks(ax.xaxis, labels, most=24, fontsize=name_size, room=n * cell, rotation=90)
        ax.set(xlabel="taken for", ylabel="class", xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
        ax.grid(False)
        ax.spines[:].set_visible(True)
        ax.spines[:].set_color(FAINT)
        if colorbar:
            scale = ScalarMappable(Normalize(0, 100), shades)
            text = "% of the class (row)"
            bar = self.figure_.colorbar(scale, ax=ax, label=text, fraction=0.05, pad=0.02, aspect=25)
            bar.outline.set_visible(False)

    def _draw_cells(self, ax: Any, counts: IntArray, labels: Sequence[Any], colours: Any) -> None:
        """Draw a shape with a hint for each cell."""
        from matplotlib.patches import Rectangle

        totals = counts.sum(axis=1)
        for i, j in np.argwhere(counts > 0):
            cell = Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colours[i, j], edgecolor="white", linewidth=0.4)
            ax.add_patch(cell)
            share = f"{counts[i, j]} ({100 * counts[i, j] / totals[i]:.0f} %)"
            self._hint(cell, f"{labels[i]} taken for {labels[j]}: {share}")

    @staticmethod
    def _write_values(ax: Any, counts: IntArray, colours: Any, size: float) -> None:
        for i, j in np.argwhere(counts > 0):
            is_dark = colours[i, j, :3] @ (0.299, 0.587, 0.114) < 0.55
            colour = "white" if is_dark else INK
            ax.text(j, i, f"{counts[i, j]:g}", ha="center", va="center_baseline", size=size, color=colour)

    def _order(self, order: str) -> IntArray:
        """Return the order of the classes from top to bottom."""
        counts = np.asarray(self.counts, dtype=np.float64)
        one_of(order, "order", ("given", "name", "accuracy", "similarity"))
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        if order == "similarity" and len(counts) > 2:
            return _side_by_side(shares)
        return _rows_in(order, self.labels, np.diagonal(shares))

    def _cell(self) -> float:
        """Return the side of a cell, in inches, in a new figure."""
        n = max(1, len(self.labels))
        return min(max(0.5, 1.6 / n), 6.2 / n)

    @staticmethod
    def _name_size(cell: float) -> float:
        """Return the font size of names, in points: legible, and as large as a cell allows."""
        return float(np.clip(72 * cell / 1.21, 6.0, 9.0))

    def _size(self, **options: Any) -> tuple[float, float]:
        longest = max((len(drawable(label, 24)) for label in self.labels), default=0)
        names = 0.6 + longest * 0.6 * self._name_size(self._cell()) / 72
        side = max(len(self.labels), 1) * self._cell()
        return max(side + 0.9, 2.9) + names, side + 0.3 + names  # room for the title


def wilson(shares: Float64Array, samples: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return the ends of Wilson's 95 % confidence intervals of shares; NaN without samples."""
    n = np.where(samples > 0, samples, np.nan)
    middle = (shares + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(shares * (1 - shares) / n + _Z**2 / (4 * n**2))
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def _rows_in(order: str, labels: Sequence[Any], accuracies: Float64Array) -> IntArray:
    """Return the rows of classes ordered by "name" or "accuracy"; otherwise as they are."""
    if order == "accuracy":
        return np.argsort(-np.nan_to_num(accuracies, nan=-1), kind="stable")
    if order != "name":
        return np.arange(len(labels))
    rows: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        rows.setdefault(label, []).append(i)
    return np.array([i for label in sorted_labels(rows) for i in rows[label]], dtype=np.int64)


def _side_by_side(shares: Float64Array) -> IntArray:
    """Return an order in which confused classes are neighbours: the leaves of a hierarchical clustering."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distances = 1 - (shares + shares.T) / 2
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)
