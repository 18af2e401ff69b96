"""Figures of many papers, read from a file that is no part of the package, each with how it was checked.

The file is published/published.csv in the folder that the environment variable JCMSPL_DATA names.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from jcmspl.evaluation import published
from jcmspl.support.shown import shown
from jcmspl.support.tables import Table

VARIABLE = "JCMSPL_DATA"
FILE = Path("published") / "published.csv"
#: What the marks of the file mean.
CHECKS = {
    "read": "taken from the source itself",
    "cross-checked": "agrees with an independent reprint",
    "recalled": "well known, but not looked up: for orientation only",
}
# How the file calls data sets of the paper that it has under another name.
_NAMES = {"AwA": "AWA1", "ImNet": "ImageNet-2 (1000/360)"}
_AMONG_ALL = ("seen", "unseen", "H")


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a paper, in per cent, with its conditions, its source and how it was checked."""

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
    """What is published for a data set; none says in a sentence why there is nothing."""

    figures: list[PublishedFigure] = field(default_factory=list)
    none: str = ""

    @classmethod
    def of(cls, name: str, paper: str | None) -> Literature:
        """Return the figures for a data set, by its name or that of the paper's data set that it is."""
        folder = os.environ.get(VARIABLE)
        if folder is None or not (Path(folder) / FILE).is_file():
            where = "is not set" if folder is None else f"is {shown(folder, 200)}"
            return cls(
                none=f"Figures of other papers are not shown: there is no {FILE.as_posix()} in the folder that the "
                f"environment variable {VARIABLE} names, which {where}."
            )
        wanted = {one.lower() for one in (name, _NAMES.get(paper or "", paper)) if one}
        every = _read(Path(folder) / FILE)
        found = [figure for figure in every if figure.dataset.lower() == name.lower()]
        found = found or [figure for figure in every if figure.dataset.lower() in wanted]
        if not found:
            return cls(none=f"{FILE.as_posix()} has no figures for {shown(name)}.")
        return cls(found)

    @property
    def sources(self) -> list[str]:
        """The sources, which tables have by their numbers from 1."""
        return list(dict.fromkeys(figure.source for figure in self.figures))

    def tables(self) -> dict[str, Table]:
        """Return the figures for people, those that can be ranked one after the other: standard and generalized."""
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
        """Return accuracies of one method under the same conditions in one row."""
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
    """Return which of the accuracies of generalized recognition it is: "unseen (ts)" is "unseen"."""
    name = figure.metric.split(" ")[0]
    return name if figure.setting == "gzsl" and name in _AMONG_ALL else None


def _conditions(figure: PublishedFigure) -> tuple[str, str, str, str]:
    remark = published.UNIDENTIFIED.get(figure.method)
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
