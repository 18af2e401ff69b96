"""The chart of an explanation: what spoke for a class, and what against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.report.figures import COLOURS, Display, ink_of, model_of, numbers
from jcmspl.support.arguments import as_count
from jcmspl.support.renamed import accepts_old_keywords
from jcmspl.support.shown import shown


@dataclass(eq=False, repr=False)
class ExplanationDisplay(Display):
    """What attributes spoke for a class, and what against it, as signed bars.

    Parameters
    ----------
    attributes : sequence of str
    contributions : array_like of shape (n_attributes,)
        The part of each in the score of the class or, in a comparison, in the difference of two scores.
    label, against : optional
        The class, and the one that it is compared with.

    Notes
    -----
    Option of ``plot``: ``most``, how many attributes are drawn (default 10), those that weigh most; the sum of the
    others is one more bar.
    """

    attributes: Sequence[str]
    contributions: npt.ArrayLike
    label: Any = None
    against: Any = None

    @classmethod
    def from_explanation(cls, explanation: Any, *, ax: Any = None, **options: Any) -> ExplanationDisplay:
        """Draw what ``model.explain(X)[0]`` has found."""
        display = cls(explanation.attributes, explanation.contributions, explanation.label, explanation.against)
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
        """Draw why a fitted model, or the best one of a search, names a sample as it does.

        Parameters
        ----------
        estimator : estimator
            A fitted model, or a search.
        X : array_like of shape (n_features,) or (1, n_features)
            One sample.
        label, against, class_vectors, candidates, seen_penalty
            As for explain.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        model = model_of(estimator)
        if not hasattr(model, "explain"):
            raise ValueError(f"a {type(model).__name__} cannot explain: its scores do not split over attributes")
        X = X.to_frame().T if hasattr(X, "to_frame") else X  # a row of a DataFrame, with the names of its features
        sample = X if hasattr(X, "iloc") else np.atleast_2d(np.asarray(X))
        if len(sample) != 1:
            raise ValueError(f"X has {len(sample)} samples, but one is drawn at a time: pass X[i]")
        chosen = {"class_vectors": class_vectors, "candidates": candidates, "seen_penalty": seen_penalty}
        return cls.from_explanation(model.explain(sample, label=label, against=against, **chosen)[0], ax=ax, **options)

    def bars(self, most: int = 10) -> tuple[list[str], list[float]]:
        """Return the names and lengths of the bars, from top to bottom: the largest first, the others together last."""
        parts = numbers(self.contributions)
        if len(parts) != len(self.attributes):
            raise ValueError(f"there are {len(self.attributes)} attributes but {len(parts)} contributions")
        # that of one attribute that is left out would be as long as its sum
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
        longest = max(map(abs, lengths), default=0.0)
        for bar, name, length in zip(drawn, names, lengths, strict=True):
            self._hint(bar, f"{name}: {length:+.3g}")
            if len(names) <= 40:
                side = 1 if length >= 0 else -1
                ax.annotate(
                    f"{length:+.2g}".replace("-", "\N{MINUS SIGN}"),  # as on the axis
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
        # numbers stand beyond the bars
        left, right = (max((side * length for length in lengths), default=0.0) for side in (-1, 1))
        margin = 0.14 * max(max(left, 0) + max(right, 0), 1e-300) if longest else 1.0
        sides = [max(side, 0) + margin * (1 if side > 0 else 0.05) for side in (left, right)]
        ax.set_xlim(-sides[0], sides[1])
        of_what = "score" if self.against is None else "difference of the scores"
        ax.set(xlabel=f"part in the {of_what}", ylim=(len(names) - 0.4, -0.6))
        ax.grid(False, axis="y")

    def _title(self) -> str:
        if self.label is None:
            return "What spoke for the class"
        rival = "" if self.against is None else f" rather than {shown(self.against, 32)}"
        return f"Why {shown(self.label, 32)}{rival}"

    def _size(self, *, most: int = 10, **options: Any) -> tuple[float, float]:
        return 6.4, min(1.1 + 0.24 * len(self.bars(most)[0]), 14)
