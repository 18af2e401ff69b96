"""The report of the protocol "base to new"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jcmspl.evaluation.few_shot import FewShotDisplay
from jcmspl.evaluation.findings import Accuracies
from jcmspl.report.documents import Document
from jcmspl.report.pages import rendered
from jcmspl.support.names import BASES
from jcmspl.support.shown import shown
from jcmspl.support.tables import Table, percent_with_error

#: Means all training samples.
ALL = "all"
#: The method without training, and its number of shots.
COSINE, NO_TRAINING = "plain cosine", 0
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

    Attributes
    ----------
    base, new : float
        On base classes, recognised among base classes, and on new classes, among new ones.
    harmonic_mean : float
        Of ``base`` and ``new``.
    seen_bias : float
        The calibrated bias on base classes; 0 without training or calibration.
    generalized, uncalibrated : Accuracies
        Among all classes, with this bias and without one; ``acc_seen`` is the accuracy on base classes.
    ausuc : float
        The area under the curve of these two accuracies as the bias varies.
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
    """A method with a number of shots.

    Attributes
    ----------
    method : str
    shots : int or None
        Labelled samples of each base class: 0 without training, None for all samples.
    n_samples : int
        The number of training samples.
    draws : list of Figures
    """

    method: str
    shots: int | None
    n_samples: int
    draws: list[Figures]

    def values(self, of: Callable[[Figures], float]) -> list[float]:
        """Return one figure of each draw."""
        return [of(figures) for figures in self.draws]

    @property
    def base(self) -> float:
        """Mean accuracy on base classes over draws."""
        return float(np.mean(self.values(lambda one: one.base)))

    @property
    def new(self) -> float:
        """Mean accuracy on new classes over draws."""
        return float(np.mean(self.values(lambda one: one.new)))

    @property
    def harmonic_mean(self) -> float:
        """Mean of the harmonic mean over draws."""
        return float(np.mean(self.values(lambda one: one.harmonic_mean)))


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
        wanted = max(own, key=lambda n: np.inf if n is None else n) if shots is None else shots
        if wanted not in own:
            there = ", ".join(_shots(one) for one in own)
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
        columns: dict[str, Callable[[Figures], float]] = {
            "base": lambda one: one.base,
            "new": lambda one: one.new,
            "H": lambda one: one.harmonic_mean,
        }
        among_all: dict[str, Callable[[Figures], float]] = {
            "base": lambda one: one.generalized.acc_seen,
            "new": lambda one: one.generalized.acc_unseen,
            "H": lambda one: one.generalized.harmonic_mean,
            "H without bias": lambda one: one.uncalibrated.harmonic_mean,
        }
        title, header, rows = self._table("Both among all classes (generalized, calibrated on base classes)", among_all)
        areas = [f"{np.mean(row.values(lambda one: one.ausuc)):.3f}" for row in self.rows]
        rows = [[*cells, area] for cells, area in zip(rows, areas, strict=True)]
        return {
            "halves": self._table("Each half among its own classes", columns),
            "all": Table(title, [*header, "AUSUC"], rows),
        }

    def _table(self, title: str, columns: dict[str, Callable[[Figures], float]]) -> Table:
        rows = [
            [row.method, _shots(row.shots), *(_cell(row.values(of)) for of in columns.values())] for row in self.rows
        ]
        return Table(title, ["method", "shots", *columns], rows)

    def chart(self) -> FewShotDisplay:
        """Return the chart of base, new and H by the number of shots; 0 shots are the plain cosine."""
        rows = sorted(self.rows, key=self._place)
        found = {
            "base": [row.values(lambda one: one.base) for row in rows],
            "new": [row.values(lambda one: one.new) for row in rows],
            "harmonic mean": [row.values(lambda one: one.harmonic_mean) for row in rows],
        }
        accuracies = {name: np.transpose(values) for name, values in found.items()}
        return FewShotDisplay([self._place(row) for row in rows], accuracies)

    def _place(self, row: Row) -> int:
        """Return the place of a row on the axis of shots: for all samples, the mean number per class."""
        return round(row.n_samples / self.n_base) if row.shots is None else row.shots

    def to_html(self) -> str:
        """Return the report as one HTML page without external files; matplotlib draws its chart."""
        return rendered("base_to_new.html", title=self.title, result=self, tables=self.tables(), chart_=self.chart())


def _shots(n: int | None) -> str:
    return ALL if n is None else str(n)


def _cell(values: list[float]) -> str:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return percent_with_error(float(np.mean(values)), error if error > _ROUNDING else 0.0)
