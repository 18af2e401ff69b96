"""Published figures: the tables of the paper, and those of many papers in a file outside the package.

The paper: Q. Tang, A. Panahi, H. Krim, "Joint Concept Matching based Learning for Zero-Shot Recognition", Tables 2 to 5
(standard recognition, generalized recognition, ablations, settings). published.json has them as printed; remarks are
ours. Accuracies are in percent, hit@5 for ImNet; features are GoogLeNet (G), VGG19 (V) or ResNet101 (R).

The other papers: published/published.csv, and further files published*.csv beside it, in the folder of the
environment variable JCMSPL_DATA.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from jcmspl.evaluation.accuracy import harmonic_mean
from jcmspl.methods.jcmspl import PAPER_ITERATIONS, PAPER_WEIGHTS, WEIGHTS
from jcmspl.support.shown import Table, shown

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SOURCE: str = _TABLES["source"]
#: The data sets of the paper (Table 1): images, kind and dimension of the class vectors, seen and unseen classes.
DATASETS: dict[str, dict[str, int | str]] = _TABLES["datasets"]
#: Table 2: accuracy on unseen classes, a row for each method and kind of features. A remark, which is ours, tells why a
#: row may mislead.
STANDARD: list[dict[str, Any]] = _TABLES["standard"]
#: Table 3: accuracy on seen and on unseen classes among all, and their harmonic mean, by data set and method.
GENERALIZED: dict[str, dict[str, list[float]]] = _TABLES["generalized"]
#: Methods of the tables that we could not identify.
UNIDENTIFIED: dict[str, str] = _TABLES["unidentified"]
#: Table 4: accuracy of reduced forms of the model, by data set.
ABLATIONS: dict[str, dict[str, float]] = _TABLES["ablations"]
#: The weights λ1 to λ4 of the paper (Table 5), as parameters of JCMSPL.
SETTINGS = {data: dict(zip(WEIGHTS, weights, strict=True)) for data, weights in PAPER_WEIGHTS.items()}
#: The range of each weight in the paper, as powers of ten.
RANGES = dict(zip(WEIGHTS, _TABLES["ranges"], strict=True))
#: The paper reports convergence within so many iterations.
ITERATIONS = PAPER_ITERATIONS
#: A caution about Table 2.
CAUTION = (
    "Rows of this table differ in splits and features: most use the standard split, some, it seems, the proposed one. "
    "Only rows with the same split and features can be ranked."
)

VARIABLE = "JCMSPL_DATA"
FILE = Path("published") / "published.csv"
# FILE and others beside it, such as published2.csv.
_PATTERN = "published*.csv"
#: The meaning of the column "check".
CHECKS = {
    "read": "taken from the source itself",
    "cross-checked": "agrees with an independent reprint",
    "recalled": "well known, but not looked up: for orientation only",
}
# The names in the file of data sets that the paper calls otherwise.
_NAMES = {"AwA": "AWA1", "ImNet": "ImageNet-2 (1000/360)"}
_AMONG_ALL = ("seen", "unseen", "H")


def remark_on(seen: float, unseen: float, printed: float) -> str:
    """Return a remark with the harmonic mean of two accuracies of Table 3 if the table prints another one."""
    given = harmonic_mean(seen, unseen)
    if round(given, 1) == printed:
        return ""
    most = harmonic_mean(seen + 0.05, unseen + 0.05)  # both are rounded
    least = harmonic_mean(seen - 0.05, unseen - 0.05)
    rounding = ", which rounding may explain" if round(least, 1) <= printed <= round(most, 1) else ""
    return f"{seen} and {unseen} give {given:.1f}{rounding}"


def data_set_like(name: str, n_seen: int, n_unseen: int, n_attributes: int) -> str | None:
    """Return the paper's name of a data set, found by its name or by its numbers of classes and attributes."""
    counts = {"n_seen": n_seen, "n_unseen": n_unseen, "n_attributes": n_attributes}
    for known, about in DATASETS.items():
        if known.lower() == name.lower() or counts.items() <= about.items():
            return known
    return None


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a paper, in percent, with its conditions, its source and how it was checked."""

    method: str
    year: int
    dataset: str
    split: str
    setting: str
    metric: str
    features: str
    value: float
    source: str
    check: str


@dataclass(frozen=True)
class Literature:
    """The figures for a data set; ``none`` is a sentence that explains why there are none."""

    figures: list[PublishedFigure] = field(default_factory=list)
    none: str = ""

    @classmethod
    def of(cls, name: str, paper: str | None) -> Literature:
        """Read the figures for a data set, by its own name or that in the paper."""
        folder = os.environ.get(VARIABLE)
        if folder is None or not (Path(folder) / FILE).is_file():
            where = "is not set" if folder is None else f"is {shown(folder, 200)}"
            return cls(
                none=f"Figures of other papers are not shown: the folder of the environment variable {VARIABLE}, which "
                f"{where}, has no {FILE.as_posix()}."
            )
        wanted = {one.lower() for one in (name, _NAMES.get(paper or "", paper)) if one}
        paths = sorted((Path(folder) / FILE).parent.glob(_PATTERN))
        every = [figure for path in paths for figure in _read(path)]
        found = [figure for figure in every if figure.dataset.lower() == name.lower()]
        found = found or [figure for figure in every if figure.dataset.lower() in wanted]
        if not found:
            return cls(none=f"{FILE.as_posix()} has no figures for {shown(name)}.")
        return cls(found)

    @property
    def sources(self) -> list[str]:
        """The sources; tables give their numbers, from 1."""
        return list(dict.fromkeys(figure.source for figure in self.figures))

    def tables(self) -> dict[str, Table]:
        """Return the tables "standard" and "generalized", sorted so that comparable figures are neighbours."""
        order = sorted(self.figures, key=lambda one: (one.split, one.metric, one.features, -one.value))
        alone = [one for one in order if _among_all(one) is None]
        among_all = [one for one in order if _among_all(one) is not None]
        tables = {}
        if alone:
            header = ["method", "year", "split", "features", "measure", "figure", "check", "source"]
            rows = [
                [*_conditions(one), one.metric, f"{one.value:.1f} %", one.check, self._number(one)] for one in alone
            ]
            tables["standard"] = Table("Standard recognition", header, rows)
        if among_all:
            header = ["method", "year", "split", "features", "seen", "unseen", "harmonic mean", "check", "source"]
            tables["generalized"] = Table("Generalized recognition", header, self._rows_among_all(among_all))
        return tables

    def _rows_among_all(self, figures: Sequence[PublishedFigure]) -> list[list[str]]:
        """Return a row for each method and its conditions, with its three accuracies."""
        together: dict[tuple[str, ...], dict[str | None, PublishedFigure]] = {}
        for one in figures:
            together.setdefault((*_conditions(one), one.source), {})[_among_all(one)] = one
        rows = []
        for (*conditions, _), by_metric in together.items():
            shares = [f"{by_metric[name].value:.1f} %" if name in by_metric else "" for name in _AMONG_ALL]
            checks = dict.fromkeys(one.check for one in by_metric.values())
            rows.append([*conditions, *shares, ", ".join(checks), self._number(next(iter(by_metric.values())))])
        return rows

    def _number(self, figure: PublishedFigure) -> str:
        return str(self.sources.index(figure.source) + 1)


def _among_all(figure: PublishedFigure) -> str | None:
    """Return the generalized accuracy that a figure is, "unseen" for "unseen (ts)"; None for other figures."""
    name = figure.metric.split(" ")[0]
    return name if figure.setting == "gzsl" and name in _AMONG_ALL else None


def _conditions(figure: PublishedFigure) -> tuple[str, str, str, str]:
    remark = UNIDENTIFIED.get(figure.method)
    method = f"{figure.method} ({remark})" if remark else figure.method
    return method, str(figure.year), figure.split, figure.features


def _read(path: Path) -> list[PublishedFigure]:
    names = [one.name for one in fields(PublishedFigure)]
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in names if name not in (reader.fieldnames or ())]:
            raise ValueError(f"{path} has no column {missing[0]!r}: its header must have {', '.join(names)}")
        return [_figure({name: row[name] or "" for name in names}, f"{path}, line {reader.line_num}") for row in reader]


def _figure(cells: dict[str, Any], place: str) -> PublishedFigure:
    try:
        figure = PublishedFigure(**{**cells, "year": int(cells["year"]), "value": float(cells["value"])})
    except ValueError:
        figure = None
    if figure is None or not 0 <= figure.value <= 100:
        raise ValueError(
            f"{place}: the year must be a whole number and the value a percentage, but they are "
            f"{shown(cells['year'])!r} and {shown(cells['value'])!r}"
        )
    return figure
