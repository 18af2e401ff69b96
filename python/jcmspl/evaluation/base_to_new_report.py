"""Results of base to new, as types; as text, Markdown, JSON and a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.evaluation.few_shot import FewShotDisplay
from jcmspl.evaluation.findings import Accuracies
from jcmspl.io.atomic import write_atomically
from jcmspl.io.json_text import as_data, dumps, from_data
from jcmspl.report.figures import require_matplotlib
from jcmspl.report.pages import rendered
from jcmspl.report.text import markdown_heading, markdown_table, markdown_text
from jcmspl.support.cards import Card, ShownAsCard
from jcmspl.support.names import BASES
from jcmspl.support.shown import shown
from jcmspl.support.tables import Table, aligned, percent_with_error

#: Stands for all training samples.
ALL = "all"
#: The row without training, and its number of shots.
COSINE, NO_TRAINING = "plain cosine", 0
_FORMS = {".txt": "to_text", ".md": "to_markdown", ".json": "to_json", ".html": "to_html", ".htm": "to_html"}
_ROUNDING = 1e-12  # what draws of the same samples differ by
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
        Of test samples of base classes among the base classes, and of new classes among the new ones.
    harmonic_mean : float
        Of these two.
    seen_bias : float
        The bias on base classes that the model was calibrated with; 0 without training, or where that was not possible.
    generalized, uncalibrated : Accuracies
        Among all classes, with this bias and without one; acc_seen is that of base classes.
    ausuc : float
        The area under the curve of the two as the bias varies.
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
    """A method with a number of shots: labelled samples of each base class, 0 without training, None for all of them.

    n_samples is the number of training samples in all; draws has the figures of each draw.
    """

    method: str
    shots: int | None
    n_samples: int
    draws: list[Figures]

    def values(self, of: Callable[[Figures], float]) -> list[float]:
        """Return a figure of all draws."""
        return [of(figures) for figures in self.draws]

    @property
    def base(self) -> float:
        """The mean over draws of the accuracy on base classes."""
        return float(np.mean(self.values(lambda one: one.base)))

    @property
    def new(self) -> float:
        """The mean over draws of the accuracy on new classes."""
        return float(np.mean(self.values(lambda one: one.new)))

    @property
    def harmonic_mean(self) -> float:
        """The mean over draws of the harmonic mean."""
        return float(np.mean(self.values(lambda one: one.harmonic_mean)))


@dataclass(frozen=True)
class BaseToNew(ShownAsCard):
    """The result of ``evaluate(..., protocol="base-to-new")``.

    Attributes
    ----------
    dataset, model : str
        Their names.
    parameters : dict
        Of the model, as it was given.
    base : {"first", "random", "own", "given"}
        Which classes have labelled samples.
    n_base, n_new : int
        The numbers of base and of new classes.
    n_tested : list of int
        The numbers of test samples of base and of new classes; of several random halves, those of the last.
    random_state : int
        The seed of the first draw; that of each further one is greater by 1.
    rows : list of Row
        The plain cosine, where samples and class vectors have one length, and the model with each number of shots.
    notes : list of str
        What was done to the data.
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

    @classmethod
    def from_json(cls, text: str) -> BaseToNew:
        """Return the result that was written as JSON."""
        result: BaseToNew = from_data(cls, json.loads(text))
        return result

    @property
    def n_draws(self) -> int:
        """How many times halves or shots were drawn."""
        return len(self.rows[0].draws)

    @property
    def title(self) -> str:
        """The model and the data."""
        return f"{self.model} on {shown(self.dataset)}: base to new"

    def row(self, shots: int | None = None) -> Row:
        """Return the row of the model with so many shots: by default all, or the most; 0: the plain cosine."""
        own = {row.shots: row for row in self.rows}
        wanted = max(own, key=lambda n: np.inf if n is None else n) if shots is None else shots
        if wanted not in own:
            there = ", ".join(_shots(one) for one in own)
            raise ValueError(f"there is no row with {shots} shots: there are {there}")
        return own[wanted]

    def about(self) -> list[str]:
        """Return sentences on the classes and samples, and on how to read the figures."""
        tested = "{:,} and {:,}".format(*self.n_tested)
        if self.base == BASES[1] and self.n_draws > 1:  # each draw has other numbers of them
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
        """Return the tables "halves", each half recognised among its own classes, and "all", both among all classes."""
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
        """Return the chart of base, new and H as the number of shots grows; 0 shots are the plain cosine."""
        rows = sorted(self.rows, key=self._place)
        found = {
            "base": [row.values(lambda one: one.base) for row in rows],
            "new": [row.values(lambda one: one.new) for row in rows],
            "harmonic mean": [row.values(lambda one: one.harmonic_mean) for row in rows],
        }
        accuracies = {name: np.transpose(values) for name, values in found.items()}
        return FewShotDisplay([self._place(row) for row in rows], accuracies)

    def _place(self, row: Row) -> int:
        """Return where a row stands on the axis of shots: all samples by their number in the mean of classes."""
        return round(row.n_samples / self.n_base) if row.shots is None else row.shots

    def to_text(self) -> str:
        """Return the result as plain text."""
        parts = [self.title, *self.about()]
        for title, header, rows in self.tables().values():
            parts += ["", title, aligned(header, rows)]
        return "\n".join(parts) + "\n"

    def to_markdown(self) -> str:
        """Return the result as Markdown."""
        parts = [markdown_heading(self.title), "", markdown_text(" ".join(self.about()))]
        for title, header, rows in self.tables().values():
            parts += ["", f"## {title}", "", *markdown_table(header, rows)]
        return "\n".join(parts) + "\n"

    def to_json(self) -> str:
        """Return the result as JSON."""
        return dumps(as_data(self), indent=1) + "\n"

    def to_html(self) -> str:
        """Return the result as one HTML page that needs nothing else; its chart is drawn with matplotlib."""
        return rendered("base_to_new.html", title=self.title, result=self, tables=self.tables(), chart_=self.chart())

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result; the ending of the path (.txt, .md, .json, .html) says in which form."""
        self.check_name(path)
        text: str = getattr(self, _FORMS[Path(path).suffix.lower()])()
        write_atomically(Path(path), text.encode(), overwrite=overwrite)

    @staticmethod
    def check_name(path: str | Path) -> None:
        """Refuse a path whose ending names none of the forms, or one that needs a missing package."""
        form = _FORMS.get(Path(path).suffix.lower())
        if form is None:
            raise ValueError(f"a report is written as {', '.join(_FORMS)}, but the path is {path}")
        if form == "to_html":
            require_matplotlib()

    def __str__(self) -> str:
        return self.to_text()

    def _card(self) -> Card:
        return Card(self.title, sentences=self.about(), tables=self.tables().values())


def _shots(n: int | None) -> str:
    return ALL if n is None else str(n)


def _cell(values: list[float]) -> str:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return percent_with_error(float(np.mean(values)), error if error > _ROUNDING else 0.0)
