"""Base to new: training on a few labelled samples of half of the classes, tests on both halves.

Papers on prompt learning use this protocol to measure what a few samples add to aligned encoders.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl.data.labels import Label, as_label_list, some
from jcmspl.data.reading import in_chunks, read_rows
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.splits import shuffled_rows
from jcmspl.evaluation.few_shot import FewShotDisplay
from jcmspl.evaluation.findings import Accuracies, parameters_of, versions
from jcmspl.methods.jcmspl import JCMSPL
from jcmspl.methods.text_prototypes import TextPrototypes
from jcmspl.model.calibration import generalized_curve
from jcmspl.report.pages import Document, rendered
from jcmspl.support.arguments import IntArray, as_count
from jcmspl.support.names import BASES
from jcmspl.support.progress import Progress
from jcmspl.support.shown import Table, percent_with_error, shown

#: Means all training samples.
ALL = "all"
#: The method without training, and its number of shots.
COSINE, NO_TRAINING = "plain cosine", 0
# The share of samples of each class to test with, if the data set has no test parts.
_TESTED = 0.2
_CHUNK = 8192
_ROUNDING = 1e-12  # differences between draws of the same samples
_BASES = {
    BASES[0]: "the first half of the classes is base",
    BASES[1]: "a random half of the classes is base",
    BASES[2]: "the data set's seen classes are base, its unseen ones new",
    "given": "the base classes were given",
}


@dataclass(frozen=True)
class Figures:
    """Per-class accuracies of one draw.

    ``base`` and ``new`` are those of each half among its own classes, with their harmonic mean; ``generalized`` and
    ``uncalibrated`` those among all classes, with the calibrated bias on base classes (``seen_bias``, 0 without
    training or calibration) and without one; ``ausuc`` is the area under their curve as the bias varies.
    """

    base: float
    new: float
    harmonic_mean: float
    seen_bias: float
    generalized: Accuracies
    uncalibrated: Accuracies
    ausuc: float


@dataclass(frozen=True)
class Row:
    """A method with a number of shots."""

    method: str
    shots: int | None  #: labelled samples of each base class: 0 without training, None for all samples
    n_samples: int  #: the number of training samples
    draws: list[Figures]

    def values(self, name: str) -> list[float]:
        """Return one figure of each draw."""
        return list(map(attrgetter(name), self.draws))

    def mean(self, name: str) -> float:
        """Return the mean of one figure over draws."""
        return float(np.mean(self.values(name)))

    @property
    def base(self) -> float:
        """Mean accuracy on base classes over draws."""
        return self.mean("base")

    @property
    def new(self) -> float:
        """Mean accuracy on new classes over draws."""
        return self.mean("new")

    @property
    def harmonic_mean(self) -> float:
        """Mean of the harmonic mean over draws."""
        return self.mean("harmonic_mean")


@dataclass(frozen=True)
class BaseToNew(Document):
    """The result of ``evaluate(..., protocol="base-to-new")``.

    Attributes
    ----------
    dataset, model : str
        Names.
    parameters : dict
        Parameters of the given model.
    base : {"first", "random", "own", "given"}
        The choice of the base classes, which have labelled samples.
    n_base, n_new : int
        The numbers of base and of new classes.
    n_tested : list of int
        The numbers of test samples of base and of new classes; for random halves, in the last draw.
    random_state : int
        The seed of the first draw; each further draw adds 1.
    rows : list of Row
        The plain cosine, if samples and class vectors have equal lengths, and the model with each number of shots.
    notes : list of str
        Sentences on changes to the data.
    versions : dict of str to str
    """

    dataset: str
    model: str
    parameters: dict[str, Any]
    base: str
    n_base: int
    n_new: int
    n_tested: list[int]
    random_state: int
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    KIND = "a report"

    @property
    def n_draws(self) -> int:
        """Number of draws of halves or shots."""
        return len(self.rows[0].draws)

    @property
    def title(self) -> str:
        """The model and the data set."""
        return f"{self.model} on {shown(self.dataset)}: base to new"

    def row(self, shots: int | None = None) -> Row:
        """Return the row with so many shots: by default all or the most; 0 is the plain cosine."""
        own = {row.shots: row for row in self.rows}
        wanted = max(own, key=_number) if shots is None else shots
        if wanted not in own:
            there = ", ".join(map(_shots, own))
            raise ValueError(f"there is no row with {shots} shots: choose from {there}")
        return own[wanted]

    def about(self) -> list[str]:
        """Return sentences on classes, samples and figures."""
        tested = "{:,} and {:,}".format(*self.n_tested)
        if self.base == BASES[1] and self.n_draws > 1:  # their numbers differ between draws
            tested = f"{sum(self.n_tested):,}"
        lines = [
            f"{self.n_base} base and {self.n_new} new classes ({_BASES[self.base]}), {tested} test samples.",
            "Mean per-class accuracy; H is the harmonic mean of base and new.",
        ]
        if self.n_draws > 1:
            last = self.random_state + self.n_draws - 1
            lines.append(f"Mean over {self.n_draws} draws (seeds {self.random_state} to {last}) ± standard error.")
        return [*lines, *self.notes]

    def tables(self) -> dict[str, Table]:
        """Return the tables "halves" (each half among its own classes) and "all" (both among all classes)."""
        halves = {"base": "base", "new": "new", "H": "harmonic_mean"}
        among_all = {
            "base": "generalized.acc_seen",
            "new": "generalized.acc_unseen",
            "H": "generalized.harmonic_mean",
            "H without bias": "uncalibrated.harmonic_mean",
        }
        title, header, rows = self._table("Both among all classes (generalized, calibrated on base classes)", among_all)
        rows = [[*cells, f"{row.mean('ausuc'):.3f}"] for cells, row in zip(rows, self.rows, strict=True)]
        return {
            "halves": self._table("Each half among its own classes", halves),
            "all": Table(title, [*header, "AUSUC"], rows),
        }

    def _table(self, title: str, columns: dict[str, str]) -> Table:
        rows = [
            [row.method, _shots(row.shots), *(_cell(row.values(one)) for one in columns.values())] for row in self.rows
        ]
        return Table(title, ["method", "shots", *columns], rows)

    def chart(self) -> FewShotDisplay:
        """Return the chart of base, new and H by the number of shots; 0 shots are the plain cosine."""
        rows = sorted(self.rows, key=self._place)
        accuracies = {
            name.replace("_", " "): np.transpose([row.values(name) for row in rows])
            for name in ("base", "new", "harmonic_mean")
        }
        return FewShotDisplay([self._place(row) for row in rows], accuracies)

    def _place(self, row: Row) -> int:
        """Return the place of a row on the axis of shots: for all samples, the mean number per class."""
        return round(row.n_samples / self.n_base) if row.shots is None else row.shots

    def to_html(self) -> str:
        """Return the report as one HTML page without external files; matplotlib draws its chart."""
        return rendered("base_to_new.html", title=self.title, result=self, tables=self.tables(), chart_=self.chart())


def _shots(n: int | None) -> str:
    return ALL if n is None else str(n)


def _number(n: int | None) -> float:
    return np.inf if n is None else n


def _cell(values: list[float]) -> str:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return percent_with_error(float(np.mean(values)), error if error > _ROUNDING else 0.0)


def base_to_new(
    model: Any,
    dataset: Dataset,
    *,
    shots: Any = None,
    base: str | Iterable[Label] | None = None,
    n_draws: int = 1,
    random_state: int = 0,
    progress: bool = True,
) -> BaseToNew:
    """Fit a model to a few samples of base classes, and test it on base and new classes.

    :func:`jcmspl.evaluate` documents the parameters.
    """
    wanted, draws, seed = _checked_shots(shots), as_count(n_draws, "n_draws"), as_count(random_state, "random_state", 0)
    model = _unfitted(model)
    name = type(model).__name__
    base = base if base is None or isinstance(base, str) else as_label_list(list(base), "base")
    dataset, notes = _tested(dataset, base, seed)
    base = base if base is not None else BASES[2] if dataset.unseen else BASES[0]
    rows: dict[tuple[str, int | None], Row] = {}

    def add(method: str, n: int | None, n_samples: int, figures: Figures) -> None:
        rows.setdefault((method, n), Row(method, n, n_samples, [])).draws.append(figures)

    with Progress("base to new", draws * len(wanted), "fits", enabled=progress) as line:
        for draw in range(draws):
            halves = _Halves(dataset, base, seed + draw)
            for number, n in enumerate(wanted):
                X, y = halves.training(n)
                if not number and dataset.n_features == dataset.classes.n_attributes:
                    cosine = halves.figures(TextPrototypes(progress=False), X, y, calibrated=False)
                    add(COSINE, NO_TRAINING, 0, cosine)
                add(name, n, len(X), halves.figures(clone(model), X, y))
                line.update(draw * len(wanted) + number + 1)
    if few := halves.with_fewer_than(max((n for n in wanted if n is not None), default=0)):
        notes.append(f"{len(few)} classes have fewer training samples than shots and gave all of them: {some(few)}.")
    return BaseToNew(
        dataset=dataset.name,
        model=name,
        parameters={key: value for key, value in parameters_of(model).items() if key != "progress"},
        base=base if isinstance(base, str) else "given",
        n_base=len(halves.base),
        n_new=len(halves.new),
        n_tested=[len(halves.test_base), len(halves.test_new)],
        random_state=seed,
        rows=list(rows.values()),
        notes=notes,
        versions=versions(),
    )


def _checked_shots(shots: Any) -> list[int | None]:
    """Return the numbers of samples of each class, ascending; None means all."""
    given = [shots] if shots is None or isinstance(shots, (str, int, np.integer)) else list(shots)
    if strangers := [one for one in given if isinstance(one, str) and one != ALL]:
        raise ValueError(f"shots must be numbers of samples of each class, or {ALL!r}, but one is {strangers[0]!r}")
    wanted = [None if one is None or one == ALL else as_count(one, "shots") for one in given]
    if not wanted or len(set(wanted)) != len(wanted):
        raise ValueError(f"shots must be different numbers, at least one, but are {given}")
    return sorted(wanted, key=_number)


def _unfitted(model: Any) -> Any:
    if model is None:
        return JCMSPL(progress=False)
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(f"the model must be an estimator such as JCMSPL(), but is a {type(model).__name__}")
    twin = clone(model)
    return twin.set_params(progress=False) if "progress" in twin.get_params(deep=False) else twin


def _tested(dataset: Dataset, base: Any, seed: int) -> tuple[Dataset, list[str]]:
    """Return the data set with test samples of base classes, and sentences on the changes.

    To halve the classes of a data set in another way than its own, unseen classes need training samples, too: all
    samples are split anew.
    """
    unseen, notes = dataset.unseen, []
    if unseen and base is not None and base != BASES[2]:
        rows = np.sort(np.concatenate([dataset.rows(part) for part in ("trainval", "test_seen", "test_unseen")]))
        dataset = replace(dataset, parts={"train": rows})
        notes.append("The data set's own split of classes and samples is ignored.")
    elif base == BASES[2] and not unseen:
        raise ValueError(
            f"the data set {shown(dataset.name)} has no unseen classes to use as new ones: choose base={BASES[0]!r} or "
            f"{BASES[1]!r}, which halve its classes"
        )
    if not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(_TESTED, seed)
        notes.append(f"{_TESTED:.0%} of the samples of each class are drawn for testing.")
    return dataset, notes


class _Halves:
    """Base and new classes of a data set, with the rows to train on and to test on."""

    def __init__(self, dataset: Dataset, base: Any, seed: int) -> None:
        self._data, self._seed = dataset, seed
        self._table = dataset.classes
        # the part val is for choosing settings; it is training data only with the data set's own split
        train = dataset.rows("train" if base != BASES[2] else "trainval")
        test = np.union1d(dataset.rows("test_seen"), dataset.rows("test_unseen"))
        if base == BASES[2]:
            self.base, self.new = dataset.seen, dataset.unseen
        else:
            present = [set(np.unique(dataset.class_numbers[rows]).tolist()) for rows in (train, test)]
            both = [label for number, label in enumerate(self._table) if all(number in one for one in present)]
            self.base, self.new = _halved(both, base, seed)
        self._train = self._rows_of(train, self.base)
        self.test_base, self.test_new = (self._rows_of(test, side) for side in (self.base, self.new))

    def _rows_of(self, rows: IntArray, labels: Sequence[Label]) -> IntArray:
        return rows[np.isin(self._data.class_numbers[rows], self._table.positions(labels))]

    def training(self, shots: int | None) -> tuple[Any, Any]:
        """Return so many samples of each base class; larger draws include smaller ones, and classes are independent."""
        rows = self._train
        if shots is not None:
            of_classes = shuffled_rows(rows, self._data.class_numbers, list(self._table), self._seed)
            rows = np.sort(np.concatenate([members[:shots] for members in of_classes]))
        return read_rows(self._data.X, rows), self._data.y[rows]

    def with_fewer_than(self, shots: int) -> list[Label]:
        """Return the base classes with fewer training samples."""
        counts = np.bincount(self._data.class_numbers[self._train], minlength=self._table.n_classes)
        return [label for label in self.base if counts[self._table.positions([label])[0]] < shots]

    def figures(self, model: Any, X: Any, y: Any, *, calibrated: bool = True) -> Figures:
        """Fit and calibrate a model, and test it."""
        model.fit(X, y, class_vectors=self._table.select([*self.base, *self.new]))
        if getattr(model, "interrupted_", False):  # after Ctrl-C a search keeps its best model so far
            raise KeyboardInterrupt
        if calibrated:
            with warnings.catch_warnings(), contextlib.suppress(ValueError):  # too few classes or samples
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", RuntimeWarning)  # from folds with one sample of each class
                model.calibrate(X, y, random_state=self._seed)
        best = getattr(model, "best_estimator_", model)
        among_base, among_new = (best.recogniser(candidates=side) for side in (self.base, self.new))
        curve = generalized_curve(among_base, among_new, self._chunks())
        # an infinite bias recognises samples among the classes of their own half
        halves = Accuracies.of(curve.accuracies(-np.inf)[0], curve.accuracies(np.inf)[1])
        return Figures(
            base=halves.acc_seen,
            new=halves.acc_unseen,
            harmonic_mean=halves.harmonic_mean,
            seen_bias=best.seen_penalty_,
            generalized=Accuracies.of(*curve.accuracies(best.seen_penalty_)),
            uncalibrated=Accuracies.of(*curve.accuracies(0.0)),
            ausuc=curve.area(),
        )

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        for rows in (self.test_base, self.test_new):
            for block, X in in_chunks(self._data.X, rows, _CHUNK):
                yield X, self._data.y[block]


def _halved(labels: list[Label], base: Any, seed: int) -> tuple[list[Label], list[Label]]:
    """Return base and new classes, each in the order of the class vectors."""
    if len(labels) < 4:
        raise ValueError(
            f"{len(labels)} classes have training and test samples, but base to new needs four, two for each half"
        )
    half = (len(labels) + 1) // 2
    if isinstance(base, str):
        if base not in BASES:
            raise ValueError(f"base must be one of {', '.join(map(repr, BASES))} or a list of classes, but is {base!r}")
        order = np.arange(len(labels)) if base == BASES[0] else np.random.default_rng(seed).permutation(len(labels))
        chosen = {labels[i] for i in order[:half]}
    else:
        chosen = set(base)
        if missing := [label for label in chosen if label not in labels]:
            raise ValueError(f"base names {some(missing)}, which lack training or test samples")
    own, new = ([label for label in labels if (label in chosen) == side] for side in (True, False))
    if min(len(own), len(new)) < 2:
        raise ValueError(f"each half needs two classes, but there are {len(own)} base and {len(new)} new ones")
    return own, new
