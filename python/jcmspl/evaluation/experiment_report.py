"""The report of the paper's experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jcmspl.evaluation import published
from jcmspl.evaluation.findings import space_name
from jcmspl.evaluation.published import CHECKS, Literature
from jcmspl.io.files import write_atomically
from jcmspl.io.json_text import dumps
from jcmspl.report.figures import Display
from jcmspl.report.method_charts import AblationDisplay
from jcmspl.report.model_charts import ConvergenceDisplay, SensitivityDisplay
from jcmspl.report.pages import DotPlot, Mark, rendered
from jcmspl.support.shown import Card, ShownAsCard, Table, csv_text, percent

#: The setting whose parameters were chosen by cross-validation.
TUNED = "tuned"
_CALIBRATED = ", calibrated"


@dataclass(frozen=True)
class ExperimentData:
    """The data set; ``paper`` is its name in the paper, or None."""

    name: str
    source: str
    paper: str | None
    n_seen: int
    n_unseen: int
    n_attributes: int
    n_features: int
    samples: dict[str, int]


@dataclass(frozen=True)
class Tuned:
    """The chosen parameters, and their accuracy on held-out training classes with its standard error."""

    parameters: dict[str, Any]
    cv_score: float
    cv_error: float


@dataclass(frozen=True)
class StandardRow:
    """Accuracy on unseen classes; ``hit5`` is None with fewer than five classes."""

    setting: str
    space: str
    semantic_match: float
    class_match: float
    visual_reconstruction: float
    semantic_reconstruction: float
    per_class: float
    per_sample: float
    hit5: float | None

    @property
    def weights(self) -> str:
        """The weights with their symbols."""
        weights = (self.semantic_match, self.class_match, self.visual_reconstruction, self.semantic_reconstruction)
        return ", ".join(f"λ{number} {weight:g}" for number, weight in enumerate(weights, start=1))


@dataclass(frozen=True)
class GeneralizedRow:
    """Accuracies on seen and unseen classes, recognised among all."""

    setting: str
    space: str
    seen_bias: float
    acc_seen: float
    acc_unseen: float
    harmonic_mean: float
    ausuc: float


@dataclass(frozen=True)
class AblationRow:
    """Accuracy of a reduced form of the model on unseen classes."""

    method: str
    space: str
    cv_score: float
    per_class: float
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Sensitivity:
    """Accuracies by space for each value of one weight, None if the fit diverged; ``chosen`` is the tuned value.

    ``stand_ins`` are finite values in place of other weights, whose tuned values are infinite.
    """

    values: list[float]
    accuracies: dict[str, list[float | None]]
    chosen: float
    stand_ins: dict[str, float] = field(default_factory=dict)

    @property
    def n_diverged(self) -> int:
        """The number of fits that diverged."""
        return sum(share is None for share in next(iter(self.accuracies.values())))


@dataclass(frozen=True)
class ConvergenceRun:
    """A descent: the objective and its terms after each iteration.

    ``settled`` is the last iteration that lowers the objective by more than 0.1 %; None if it is the last of all.
    ``stand_ins`` are finite values in place of infinite weights.
    """

    setting: str
    objective: list[float]
    terms: list[list[float]]
    settled: int | None
    stand_ins: dict[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The iteration at which the objective settles, as words."""
        return "has not settled yet" if self.settled is None else f"settles at iteration {self.settled}"

    @property
    def chart(self) -> ConvergenceDisplay:
        """The chart of the objective."""
        return ConvergenceDisplay(self.objective, settled=self.settled)

    @property
    def file_name(self) -> str:
        """The name of the chart's file."""
        return "-".join(["convergence", *re.findall(r"\w+", self.setting.replace("'s", ""))])


@dataclass(frozen=True)
class Experiments(ShownAsCard):
    """The results of :func:`reproduce`; ``sensitivity`` is by weight, ``literature`` has figures of other papers."""

    dataset: ExperimentData
    tuned: Tuned
    standard: list[StandardRow]
    generalized: list[GeneralizedRow]
    ablations: list[AblationRow]
    sensitivity: dict[str, Sensitivity]
    convergence: list[ConvergenceRun]
    versions: dict[str, str]
    literature: Literature = field(default_factory=Literature)

    def to_json(self) -> str:
        """Return all results as JSON."""
        return dumps(self, indent=1) + "\n"

    def to_html(self) -> str:
        """Return one HTML page with all results; matplotlib draws its charts."""
        return rendered(
            "experiments.html",
            title=f"JCMSPL on {self.dataset.name}",
            results=self,
            tables=self._page_tables(),
            charts=self.charts(),
            ablations=self._ablation_plot(),
            runs=self._different_runs(),
            paper_iterations=published.ITERATIONS,
            source=published.SOURCE,
            caution=published.CAUTION,
            checks=CHECKS,
        )

    def _card(self) -> Card:
        titles = {"standard": "Unseen classes", "generalized": "All classes", "ablations": "Reduced forms of the model"}
        found = self._page_tables()
        tables = [found[name]._replace(title=title) for name, title in titles.items() if found[name].rows]
        return Card(f"JCMSPL on {self.dataset.name}", tables=tables)

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the tables of the CSV files, by name."""
        sensitivity = [
            {"weight": name, "value": value, **{space: shares[i] for space, shares in curve.accuracies.items()}}
            for name, curve in self.sensitivity.items()
            for i, value in enumerate(curve.values)
        ]
        convergence = [
            {"setting": run.setting, "iteration": i + 1, "objective": value}
            for run in self.convergence
            for i, value in enumerate(run.objective)
        ]
        return {
            "standard": [vars(row) for row in self.standard],
            "generalized": [vars(row) for row in self.generalized],
            "ablations": [vars(row) for row in self.ablations],
            "sensitivity": sensitivity,
            "convergence": convergence,
            "published": [vars(figure) for figure in self.literature.figures],
        }

    def charts(self) -> dict[str, Display]:
        """Return the charts, by the names of their files."""
        charts: dict[str, Display] = {}
        for name, curve in self.sensitivity.items():
            shares = {space_name(space): found for space, found in curve.accuracies.items()}
            tuned = {space_name(row.space): row.per_class for row in self.standard if row.setting == TUNED}
            charts[f"sensitivity-{name}"] = SensitivityDisplay(name, curve.values, shares, curve.chosen, tuned)
        known = published.ABLATIONS.get(self.dataset.paper or "")
        methods = [row.method for row in self.ablations]
        beside = [known[method] / 100 for method in methods] if known else None
        charts["ablation"] = AblationDisplay(methods, [row.per_class for row in self.ablations], beside)
        return charts | {run.file_name: run.chart for run in self.convergence}

    def save(self, folder: str | Path, *, plots: bool = True, overwrite: bool = False) -> list[Path]:
        """Write report.html, results.json, each table as CSV and, by default, the plots as PNG and SVG.

        Returns
        -------
        list of Path
            The files.
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{folder} is a file: give the name of a folder")
        if folder.is_dir() and any(folder.iterdir()) and not overwrite:
            raise FileExistsError(f"{folder} exists and is not empty: choose another name, or add overwrite=True")
        files = {"report.html": self.to_html().encode(), "results.json": self.to_json().encode()}
        for name, rows in self.tables().items():
            flat = [{key: cell for key, cell in row.items() if not isinstance(cell, dict)} for row in rows]
            files |= {f"{name}.csv": csv_text(flat).encode()} if rows else {}
        if plots:
            titles = {run.file_name: f"{self.dataset.name}, {run.setting}: {run.outcome}" for run in self.convergence}
            for name, chart in self.charts().items():
                files |= {f"{name}.{form}": chart.to_file(form, titles.get(name)) for form in ("png", "svg")}
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(folder / name, content, overwrite=overwrite)
        return [folder / name for name in files]

    def _ablation_plot(self) -> DotPlot:
        """Return the chart of ablations for the page."""
        known = published.ABLATIONS.get(self.dataset.paper or "", {})
        rows = []
        for row in self.ablations:
            marks = [Mark("dot", row.per_class, f"here: {percent(row.per_class)}")]
            if row.method in known:
                marks.append(Mark("ring", known[row.method] / 100, f"published: {known[row.method]:.1f} %"))
            rows.append((row.method, True, marks))
        return DotPlot(rows, {"dot": "here"} | ({"ring": "published (other features)"} if known else {}))

    def _different_runs(self) -> list[ConvergenceRun]:
        """Return the descents; equal ones, as when tuning chose the defaults, are one."""
        found: list[ConvergenceRun] = []
        for run in self.convergence:
            for i, other in enumerate(found):
                if replace(run, setting=other.setting) == other:
                    found[i] = replace(other, setting=_together([other.setting, run.setting]))
                    break
            else:
                found.append(run)
        return found

    def _page_tables(self) -> dict[str, Table]:
        standard = ["setting", "space", "weights", "per class", "per sample", "hit@5 per sample"]
        recognised = [
            [row.setting, space_name(row.space), row.weights, *map(percent, (row.per_class, row.per_sample, row.hit5))]
            for row in self.standard
        ]
        generalized = ["setting", "space", "bias on seen", "seen", "unseen", "harmonic mean", "AUSUC"]
        among_all = [
            [row.setting, space_name(row.space), f"{row.seen_bias:.3g}"]
            + [percent(share) for share in (row.acc_seen, row.acc_unseen, row.harmonic_mean)]
            + [f"{row.ausuc:.3f}"]
            for row in self.generalized
        ]
        recognised, among_all = (_without_duplicates(rows) for rows in (recognised, among_all))
        ablations = ["method", "space", "held-out classes", "unseen classes"]
        reduced = [
            [row.method, space_name(row.space), percent(row.cv_score), percent(row.per_class)] for row in self.ablations
        ]
        return {
            "standard": Table("", standard, recognised).filled(),  # hit@5 takes more than four classes
            "generalized": Table("", generalized, among_all),
            "ablations": Table("", ablations, reduced),
        } | (_published_tables(self.dataset.paper) if self.dataset.paper else {})


def _without_duplicates(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Merge rows that differ only in the setting, their first cell."""
    settings: dict[tuple[str, ...], list[str]] = {}
    for setting, *cells in rows:
        settings.setdefault(tuple(cells), []).append(setting)
    return [[_together(names), *cells] for cells, names in settings.items()]


def _together(settings: Iterable[str]) -> str:
    """Join the names of equal settings; calibration without effect is not mentioned."""
    names = list(settings)
    plain = dict.fromkeys(name.removesuffix(_CALIBRATED) for name in names)
    return " = ".join(plain) + (_CALIBRATED if all(name.endswith(_CALIBRATED) for name in names) else "")


def _published_tables(paper: str) -> dict[str, Table]:
    """Return tables of the paper's figures for one of its data sets."""
    known = sorted((row for row in published.STANDARD if paper in row), key=lambda row: -row[paper])
    what = "hit@5" if paper == "ImNet" else "accuracy"
    title = f"Published (Table 2 of the paper): {what} on {paper}"
    rows = [[row["method"], row["features"], f"{row[paper]:.1f} %", row.get("remark", "")] for row in known]
    tables = {"published_standard": Table(title, ["method", "features", what, "remark"], rows)}
    if known_among_all := published.GENERALIZED.get(paper):
        rows = [
            [method, *(f"{share} %" for share in shares), published.remark_on(*shares)]
            for method, shares in known_among_all.items()
        ]
        header = ["method", "seen", "unseen", "harmonic mean", "remark"]
        tables["published_generalized"] = Table("Published (Table 3 of the paper)", header, rows)
    return tables
