"""Few-shot accuracy: recognition of new classes with a few labelled samples of each, and its chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.labels import as_label_list, numbered, some, sorted_labels
from jcmspl.data.reading import in_memory
from jcmspl.report.figures import Display, in_legend, model_of, numbers
from jcmspl.support.arguments import Float64Array, IntArray, as_count
from jcmspl.support.progress import Progress
from jcmspl.support.shown import percent, quoted

__all__ = ["FewShotDisplay", "few_shot_accuracies"]

#: The curves, and the parameters of the model for each.
CURVES: dict[str, dict[str, float]] = {
    "prediction and samples": {},
    "samples alone": {"prediction_count": 0.0, "cosine_share": 0.0},
}
# With more samples per class the axis is logarithmic.
_EVEN = 20
_MARKERS = "os^D"


@dataclass(eq=False, repr=False)
class FewShotDisplay(Display):
    """Accuracy on new classes with a few labelled samples of each.

    Parameters
    ----------
    shots : sequence of int
        Numbers of labelled samples of each class.
    accuracies : mapping of str to array_like of shape (n_draws, n_shots)
        For each curve, the accuracies of all draws of these samples; NaN if there is none. The chart shows means over
        draws with standard errors.
    chance : float, optional
        The accuracy of guessing, to mark.

    Notes
    -----
    Option of ``plot``: ``name``, a prefix of the curves' names in the legend.
    """

    shots: Sequence[int]
    accuracies: Mapping[str, npt.ArrayLike]
    chance: float | None = field(default=None, kw_only=True)

    TITLE: ClassVar[str] = "New classes with a few labelled samples"

    def __post_init__(self) -> None:
        for name, values in self.accuracies.items():
            if np.ndim(values) != 2 or np.shape(values)[1] != len(self.shots):
                raise ValueError(
                    f"accuracies[{name!r}] must have a row for each draw and a column for each of {len(self.shots)} "
                    f"shots, but its shape is {np.shape(values)}"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        shots: Iterable[int] = (0, 1, 2, 5, 10),
        n_draws: int = 5,
        random_state: int = 0,
        progress: bool = True,
        ax: Any = None,
        **options: Any,
    ) -> FewShotDisplay:
        """Draw how a fitted model, or the best model of a search, learns new classes.

        Parameters
        ----------
        estimator, X, y, shots, n_draws, random_state, progress
            As for :func:`jcmspl.metrics.few_shot_accuracies`.
        ax : Axes of matplotlib, optional
        **options
            As for ``plot``.
        """
        wanted = _checked_shots(shots)
        found = few_shot_accuracies(
            estimator, X, y, shots=wanted, n_draws=n_draws, random_state=random_state, progress=progress
        )
        n_classes = len(dict.fromkeys(as_label_list(y)))
        return cls(wanted, found, chance=1 / n_classes).plot(ax=ax, **options)

    def mean(self, name: str) -> Float64Array:
        """Return the mean of a curve over draws."""
        return np.asarray(numbers(self.accuracies[name]).mean(axis=0))

    def standard_error(self, name: str) -> Float64Array:
        """Return the standard error of the mean; 0 for a single draw."""
        values = numbers(self.accuracies[name])
        if len(values) < 2:
            return np.zeros(values.shape[1])
        return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))

    def _draw(self, ax: Any, *, name: str = "") -> None:
        for number, curve in enumerate(self.accuracies):
            mean, error = self.mean(curve), self.standard_error(curve)
            there = ~np.isnan(mean)
            ax.errorbar(
                np.asarray(self.shots)[there],
                100 * mean[there],
                100 * error[there],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=5,
                capsize=2.5,
                linestyle="--" if number else "-",
                label=in_legend(f"{name}, {curve}" if name else curve),
            )
        if self.chance is not None:
            means = np.concatenate([self.mean(curve) for curve in self.accuracies])
            lowest, highest = np.nanmin(means), np.nanmax(means)
            label = f"chance: {percent(self.chance)}"
            if self.chance >= lowest - max(highest - lowest, 0.1):
                ax.axhline(100 * self.chance, color="0.5", linestyle=":", label=label)
            else:  # only in the legend, far below all curves
                ax.plot([], [], " ", label=label)
        if max(self.shots, default=0) > _EVEN:
            ax.set_xscale("symlog", linthresh=1, linscale=0.4)
            ax.set_xlim(left=min(self.shots) - 0.15)
        ax.set_xticks(list(self.shots), [str(one) for one in self.shots])
        ax.minorticks_off()
        ax.set(xlabel="labelled samples of each class", ylabel="per-class accuracy, %")
        self._legend_above(ax)


def few_shot_accuracies(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    shots: Iterable[int] = (0, 1, 2, 5, 10),
    n_draws: int = 5,
    random_state: int = 0,
    progress: bool = True,
) -> dict[str, Float64Array]:
    """Measure the accuracy on new classes with a few labelled samples of each.

    Some samples of each class are drawn and passed to ``add_classes`` of a copy of the model; the others are recognised
    among the classes in y.

    Parameters
    ----------
    estimator : estimator
        A fitted bilinear model with ``space="visual"``, where labelled samples matter, or a search for one.
    X, y
        Samples of two or more classes that the model knows and was not trained on. Each class needs more samples than
        the largest number of shots.
    shots : iterable of int, default (0, 1, 2, 5, 10)
        Numbers of labelled samples of each class.
    n_draws : int, default 5
        The number of draws.
    random_state : int, default 0
        The seed of the first draw; each further draw adds 1.
    progress : bool, default True
        Whether to show progress, on stderr if it is a terminal.

    Returns
    -------
    dict of str to ndarray of shape (n_draws, n_shots)
        Per-class accuracies: "prediction and samples", with the given parameters, and "samples alone", with
        ``prediction_count=0`` and ``cosine_share=0``, NaN for 0 shots.

    Examples
    --------
    >>> from jcmspl import JCMSPL
    >>> from jcmspl.datasets import make_zsl
    >>> from jcmspl.metrics import few_shot_accuracies
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = JCMSPL().fit(*data.part("train"), class_vectors=data.classes)
    >>> found = few_shot_accuracies(model, *data.part("test_unseen"), shots=[0, 5], progress=False)
    >>> none, five = found["prediction and samples"].mean(axis=0)
    >>> bool(five > none)
    True
    """
    model, wanted = model_of(estimator), _checked_shots(shots)
    check_is_fitted(model)
    _require_few_shot_model(model)
    if hasattr(model, "adapted_"):
        model = copy(model).reset_adaptation()  # as adding samples does
    X = in_memory(X)
    checked, labels = model.reader.checked(X, model.state.columns), as_label_list(y)
    samples = X if hasattr(X, "iloc") else checked  # a DataFrame keeps the names of its columns
    if len(samples) != len(labels):
        raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
    draws, seed = as_count(n_draws, "n_draws"), as_count(random_state, "random_state", minimum=0)
    rows_of = _rows_of_classes(model, labels, max(wanted))
    found = {name: np.full((draws, len(wanted)), np.nan) for name in CURVES}
    with Progress("few-shot recognition", draws * len(wanted), "draws", enabled=progress) as line:
        for column, n in enumerate(wanted):
            for draw in range(draws):
                if n == 0 and draw:  # the same without samples
                    found["prediction and samples"][draw, column] = found["prediction and samples"][0, column]
                    continue
                given = _drawn(rows_of, n, seed + draw)
                for name, accuracy in _accuracies(model, samples, labels, given).items():
                    found[name][draw, column] = accuracy
                line.update(column * draws + draw + 1)
    return found


def _checked_shots(shots: Iterable[int]) -> list[int]:
    wanted = [as_count(one, "shots", minimum=0) for one in shots]
    if not wanted or sorted(set(wanted)) != wanted:
        raise ValueError(f"shots must be different numbers in ascending order, but are {wanted}")
    return wanted


def _require_few_shot_model(model: Any) -> None:
    """Raise ValueError for a model that does not use samples of new classes."""
    if "prediction_count" not in model.get_params(deep=False):
        raise ValueError(
            f"a {type(model).__name__} needs another fit to use labelled samples of new classes: choose a bilinear "
            "model with space='visual', such as JCMSPL()"
        )
    if model.own_space != "visual":
        raise ValueError(
            f"the model compares in the {model.own_space} space, where samples of new classes make no difference: "
            "model.set_params(space='visual') first"
        )


def _rows_of_classes(model: Any, labels: list[Any], most: int) -> list[IntArray]:
    """Return the rows of each class; raise ValueError for trained classes and for too few samples."""
    classes = sorted_labels(dict.fromkeys(labels))
    trained = set(model.classes_.tolist())
    if known := [label for label in classes if label in trained]:
        raise ValueError(f"the model was trained on {some(known)}: pass only samples of new classes")
    model.class_table_.positions(classes, "y")
    if len(classes) < 2:
        raise ValueError("y must have two or more new classes")
    codes = numbered(labels, classes)
    rows_of = [np.flatnonzero(codes == number) for number in range(len(classes))]
    fewest = int(np.argmin([len(rows) for rows in rows_of]))
    if len(rows_of[fewest]) <= most:
        raise ValueError(
            f"the class {quoted(classes[fewest])} has {len(rows_of[fewest])} samples, too few to draw {most} and "
            f"test on others: leave out shots above {len(rows_of[fewest]) - 1}"
        )
    return rows_of


def _drawn(rows_of: list[IntArray], n: int, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(rows, n, replace=False) for rows in rows_of])


def _accuracies(model: Any, X: Any, labels: list[Any], given: IntArray) -> dict[str, float]:
    """Return the accuracy of each curve on the other samples; only of the first curve without given samples."""
    if not len(given):
        return {"prediction and samples": model.score(X, labels)}
    grown = copy(model).set_params(progress=False)
    grown.add_classes(X=_safe_indexing(X, given), y=[labels[row] for row in given])
    others = np.delete(np.arange(len(labels)), given)
    rest = _safe_indexing(X, others), [labels[row] for row in others]
    return {name: copy(grown).set_params(**parameters).score(*rest) for name, parameters in CURVES.items()}
