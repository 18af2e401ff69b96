"""The chart of generalized recognition: accuracy on seen against accuracy on unseen classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import as_label_list, numbered, some
from jcmspl.model.calibration import SeenUnseenCurve
from jcmspl.report.figures import Display, in_legend, ink_of, model_of, numbers

_MARKERS = "oD*^s"


@dataclass(eq=False, repr=False)
class SeenUnseenDisplay(Display):
    """Accuracy on seen against accuracy on unseen classes, as the bias on seen classes varies.

    Parameters
    ----------
    curve : SeenUnseenCurve, or mapping of str to array_like of shape (n_points, 2)
        One curve; or several, by name, as points (accuracy on unseen, accuracy on seen classes).
    bias : float, optional
        The bias of the model, to mark.
    marks : mapping of str to (accuracy on unseen classes, accuracy on seen classes), optional
        Further points to mark.

    Notes
    -----
    Option of ``plot``: ``name`` of a single curve in the legend.
    """

    curve: Any
    bias: float | None = None
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict, kw_only=True)

    TITLE: ClassVar[str] = "Seen and unseen classes, as the bias varies"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        class_vectors: Any = None,
        ax: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> SeenUnseenDisplay:
        """Draw the curve of a fitted model, or of the best model of a search, on samples of seen and unseen classes."""
        model = model_of(estimator)
        curve = model.generalized_curve(X, y, class_vectors=class_vectors)
        return cls(curve, model.seen_penalty_).plot(ax=ax, name=name, **options)

    @classmethod
    def from_scores(
        cls,
        y_true: Any,
        scores: npt.ArrayLike,
        *,
        labels: Any,
        seen: Any,
        ax: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> SeenUnseenDisplay:
        """Draw the curve of the scores of any model, as from decision_function.

        Parameters
        ----------
        y_true : array_like of shape (n_samples,)
        scores : array_like of shape (n_samples, n_classes)
            Scores of all candidates, seen and unseen, without a bias.
        labels : sequence of n_classes labels
            The classes of the columns.
        seen : sequence of labels
            The seen classes among them.
        ax : Axes of matplotlib, optional
        name : str, optional
            The name of the model in the legend.
        **options
            As for ``plot``.
        """
        curve = curve_of_scores(y_true, scores, labels, seen)
        return cls(curve).plot(ax=ax, name=name, **options)

    def _draw(self, ax: Any, *, name: str | None = None) -> None:
        lines, marks = self._points(name)
        for label, (unseen, seen) in lines.items():
            ax.plot(100 * unseen, 100 * seen, label=in_legend(label))
        for (label, (at_unseen, at_seen)), marker in zip(marks.items(), _MARKERS, strict=False):
            size = 11 if marker == "*" else 7
            style = {"linestyle": "none", "color": ink_of(ax), "markeredgecolor": ax.get_facecolor()}
            ax.plot(100 * at_unseen, 100 * at_seen, marker=marker, markersize=size, label=in_legend(label), **style)
        ax.set(xlabel="accuracy on unseen classes, %", ylabel="accuracy on seen classes, %")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        self._legend_above(ax, columns=2)

    def _size(self, **options: Any) -> tuple[float, float]:
        return 6.6, 4.9  # with room for the legend above

    def _points(self, name: str | None) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
        if isinstance(self.curve, Mapping):
            return {label: numbers(points).T for label, points in self.curve.items()}, dict(self.marks)
        seen, unseen = self.curve.accuracies(self.curve.biases())
        area = f"AUSUC {self.curve.area():.3f}"
        biases = {} if self.bias is None else {f"bias {self.bias:.3g}": self.bias}
        biases["best harmonic mean"] = self.curve.best_bias()
        marks = {label: tuple(self.curve.accuracies(bias))[::-1] for label, bias in biases.items()}
        return {area if name is None else f"{name} ({area})": (unseen, seen)}, {**marks, **self.marks}


def curve_of_scores(y_true: Any, scores: npt.ArrayLike, labels: Any, seen: Any) -> SeenUnseenCurve:
    """Return the curve of scores of all candidates, (n_samples, n_classes)."""
    truth, candidates = as_label_list(y_true, "y_true"), as_label_list(labels, "labels")
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (len(truth), len(candidates)):
        raise ValueError(
            f"scores must have a row for each of {len(truth)} labels in y_true and a column for each of "
            f"{len(candidates)} labels, but its shape is {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError("scores holds NaN or infinity: give the scores of all candidates, without a bias")
    known, trained = set(candidates), set(as_label_list(seen, "seen"))
    if strangers := [label for label in dict.fromkeys([*truth, *trained]) if label not in known]:
        raise ValueError(f"labels lacks {some(strangers)}: it must name the class of every column of scores")
    kinds = np.array([label in trained for label in candidates])
    if kinds.all() or not kinds.any():
        raise ValueError("the curve needs seen and unseen candidates: seen must name some of labels, but not all")
    codes = numbered(truth, candidates)
    best_seen, best_unseen = (np.where(kind, values, -np.inf) for kind in (kinds, ~kinds))
    is_seen = kinds[codes]
    named = np.where(is_seen, best_seen.argmax(axis=1), best_unseen.argmax(axis=1))
    return SeenUnseenCurve.of(best_seen.max(axis=1) - best_unseen.max(axis=1), named == codes, codes, is_seen)
