"""Charts that compare methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from jcmspl.report.figures import COLOURS, Display, drawable, ink_of, model_of, numbers

if TYPE_CHECKING:
    from typing_extensions import Self

_PALE = "#93b4f5"
_MOST_UPRIGHT = 60  # characters in all names that fit side by side


class _OfMethods(Display):
    """Base class of charts whose first fields are ``methods`` and ``accuracies``."""

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
        """Draw the per-class accuracies of fitted models, or of the best models of searches, on the same samples.

        Parameters
        ----------
        estimators : mapping of str to estimator
            By name.
        X, y, class_vectors, candidates
            As for ``score``.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        if not estimators:
            raise ValueError("there are no estimators to draw: pass a dict of names and fitted models")
        how = {"class_vectors": class_vectors, "candidates": candidates}
        shares = [model_of(one).score(X, y, **how) for one in estimators.values()]
        return cls(list(estimators), shares).plot(ax=ax, **options)  # type: ignore[call-arg]


@dataclass(eq=False, repr=False)
class AblationDisplay(_OfMethods):
    """Accuracies of reduced forms of the model, beside published ones.

    Parameters
    ----------
    methods : sequence of str
    accuracies : array_like of shape (n_methods,)
    published : sequence of float or None, optional
        Shares, too.
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
        upright = sum(len(drawable(method, 20)) for method in self.methods) > _MOST_UPRIGHT
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
        middle, half = (len(self.methods) - 1) / 2, max(len(self.methods), 3) / 2  # at least three bars wide
        ax.set_xlim(middle - half - 0.1, middle + half + 0.1)
        ax.grid(False, axis="x")
        if self.published is not None:
            self._legend_above(ax)

    def _size(self, **options: Any) -> tuple[float, float]:
        return float(np.clip(0.25 * len(self.methods), 6.4, 12)), 4.0


@dataclass(eq=False, repr=False)
class ComparisonDisplay(_OfMethods):
    """Accuracies of methods on unseen classes: on one split, and means over random splits with standard errors.

    Parameters
    ----------
    methods : sequence of str
        From top to bottom.
    accuracies : array_like of shape (n_methods,)
        On the data set's own split.
    means, errors : sequence of float or None, optional
        Over random splits; None for methods that did not run on all of them.
    marked : collection of str
        Methods drawn in the dark colour.
    chance : float, optional
        The accuracy of guessing, marked by a line.
    """

    methods: Sequence[str]
    accuracies: npt.ArrayLike
    means: Sequence[float | None] | None = None
    errors: Sequence[float | None] | None = None
    marked: Collection[str] = field(default=(), kw_only=True)
    chance: float | None = field(default=None, kw_only=True)

    TITLE: ClassVar[str] = "Accuracy of methods on unseen classes"

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
