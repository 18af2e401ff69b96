"""Reports: the result of an evaluation, as text, Markdown, JSON or an HTML page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jcmspl.evaluation import findings
from jcmspl.evaluation.class_charts import ClassAccuracyDisplay, ConfusionDisplay
from jcmspl.evaluation.seen_unseen_chart import SeenUnseenDisplay
from jcmspl.io.atomic import write_atomically
from jcmspl.io.json_text import as_data, dumps, from_data
from jcmspl.report.charts import ConvergenceDisplay
from jcmspl.report.figures import Display, require_matplotlib
from jcmspl.report.pages import rendered
from jcmspl.report.pictures import thumbnail
from jcmspl.report.text import markdown_heading, markdown_table
from jcmspl.support.cards import Card, ShownAsCard
from jcmspl.support.shown import shown
from jcmspl.support.tables import Table, aligned, percent, percent_range

__all__ = ["Report", "percent"]

# Classes that the plain text lists; the other forms have all.
_MOST_IN_TEXT = 10
_LONGEST = 100  # names in tables
# More bars than this are a wall: the best and the worst are drawn, the table has all.
_MOST_BARS = 60
_MOST_IN_MATRIX = 120
# Of more classes than this a page shows those that are most often confused: names can still be read.
_MOST_ON_PAGE = 50
_FORMS = {".json": "to_json", ".md": "to_markdown", ".html": "to_html", ".htm": "to_html", ".txt": "to_text"}


@dataclass(frozen=True)
class Report(ShownAsCard):
    """The result of :func:`jcmspl.evaluate`.

    Attributes
    ----------
    dataset : DatasetSummary
    model : ModelSummary
    results : list of SpaceResult
        For each space standard and generalized recognition; the model's own space first, and last, if it was asked
        for, the model that was adapted to the test samples.
    classes : list of ClassRow
        In the model's own space; the best of the unseen ones first.
    confusions : list of Confusion
        The commonest, among unseen classes.
    confusion_matrix : ConfusionMatrix
        Of unseen classes.
    objective : Objective
    timings : dict of str to float
        Seconds per stage.
    versions : dict of str to str
    bootstrap : Bootstrap or None
        How the intervals of the results were found.
    examples : list of Example
        Test samples of unseen classes, wrong and right ones, if the data set says what they are called.
    trained_on : TrainedOn or None
        How many test samples were in the training data; None if the model does not know.
    """

    dataset: findings.DatasetSummary
    model: findings.ModelSummary
    results: list[findings.SpaceResult]
    classes: list[findings.ClassRow]
    confusions: list[findings.Confusion]
    confusion_matrix: findings.ConfusionMatrix
    objective: findings.Objective
    timings: dict[str, float]
    versions: dict[str, str]
    bootstrap: findings.Bootstrap | None = None
    examples: list[findings.Example] = field(default_factory=list)
    trained_on: findings.TrainedOn | None = None

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report that was written as JSON."""
        report: Report = from_data(cls, json.loads(text))
        return report

    @property
    def data(self) -> dict[str, Any]:
        """All of the report, in types that JSON has."""
        data: dict[str, Any] = as_data(self)
        for result in data["results"]:
            if not result["generalized"]:
                del result["generalized"]
            if not result["transductive"]:
                del result["transductive"]
            if not result["open_set"]:
                del result["open_set"]
        return data

    @property
    def accuracy(self) -> float:
        """Per-class accuracy on unseen classes, in the model's own space."""
        return self.results[0].standard.per_class

    @property
    def harmonic_mean(self) -> float | None:
        """The harmonic mean of generalized recognition in the model's own space, if there was a test of it."""
        generalized = self.results[0].generalized
        return generalized.harmonic_mean if generalized else None

    @property
    def _generalized(self) -> dict[str, findings.Generalized]:
        return {result.space_name: result.generalized for result in self.results if result.generalized}

    @property
    def title(self) -> str:
        """Which model it is, and on which data."""
        return f"{self.model.name} on {shown(self.dataset.name)}"

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the report; the ending of the path (.json, .md, .html, .txt) says in which form."""
        path = Path(path)
        self.check_name(path)
        text: str = getattr(self, _FORMS[path.suffix.lower()])()
        write_atomically(path, text.encode(), overwrite=overwrite)

    @staticmethod
    def check_name(path: str | Path) -> None:
        """Refuse a path whose ending names none of the forms of a report, or one that needs a missing package."""
        form = _FORMS.get(Path(path).suffix.lower())
        if form is None:
            raise ValueError(f"a report is written as {', '.join(_FORMS)}, but the path is {path}")
        if form == "to_html":
            require_matplotlib()

    def to_json(self) -> str:
        """Return all of the report as JSON."""
        return dumps(self.data, indent=1) + "\n"

    def to_text(self) -> str:
        """Return the report as plain text."""
        parts = [self.title, *self.about()]
        for title, header, rows in self.tables().values():
            if title.startswith("Classes") and len(rows) > _MOST_IN_TEXT:
                rows = [row for row in rows if row[1] == "unseen"][-_MOST_IN_TEXT:]
                title = f"The {len(rows)} hardest unseen c{title[1:]}; Markdown, JSON and HTML list all classes"
            parts += ["", title, aligned(header, [[shown(cell, 48) for cell in row] for row in rows])]
        return "\n".join([*parts, "", self._made()]) + "\n"

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [markdown_heading(self.title), "", " ".join(self.about())]
        for title, header, rows in self.tables().values():
            parts += ["", f"## {title}", "", *markdown_table(header, rows)]
        return "\n".join([*parts, "", self._made()]) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page that needs nothing else; its charts are drawn with matplotlib."""
        results = self.data["results"]
        for result in results:
            result.get("generalized", {}).pop("curve", None)  # too many points to be read
        return rendered(
            "evaluation.html",
            title=self.title,
            report=self,
            tables=self.tables(),
            charts={name: chart for name, chart in self.charts().items() if name not in ("classes", "confusions")},
            matrix=self._matrix(),
            mistakes=self._commonest_mistakes(),
            pictures={one.row: one.picture and thumbnail(one.picture) for one in self.examples},
            json=dumps({"results": results}, indent=1),
        )

    def _matrix(self) -> dict[str, Any]:
        """Return the confusion matrix of a page, with the number of samples of each class."""
        order = self.confusion_matrix.most_confused(_MOST_ON_PAGE)
        totals = [sum(self.confusion_matrix.counts[i]) for i in order]
        return {**vars(self.confusion_matrix.of(order)), "totals": totals}

    def _commonest_mistakes(self) -> dict[str, tuple[str, float]]:
        """Return what each unseen class is most often taken for, if it ever is, and which share of it."""
        labels, counts = self.confusion_matrix.labels, self.confusion_matrix.counts
        worst = {i: (j, count) for i, j, count in sorted(self.confusion_matrix.mistakes(), key=lambda one: one[2])}
        return {labels[i]: (labels[j], count / sum(counts[i])) for i, (j, count) in worst.items()}

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        rest = f", harmonic mean {percent(self.harmonic_mean)}" if self._generalized else ""
        return f"<Report on {shown(self.dataset.name)}: {percent(self.accuracy)} per class on unseen classes{rest}>"

    def _card(self) -> Card:
        return Card(self.title, sentences=self.about(), tables=list(self.tables().values())[:2])

    def about(self) -> list[str]:
        """Return in a few sentences what the model was trained and tested on, and what became of it."""
        data, model, counts = self.dataset, self.model, self.dataset.samples
        of_seen = f" and {counts['test_seen']:,} of seen ones" if counts["test_seen"] else ""
        lines = [
            f"{counts['trainval']:,} training samples of {data.n_seen_classes} seen classes; "
            f"{counts['test_unseen']:,} test samples of {data.n_unseen_classes} unseen classes{of_seen}; "
            f"{data.n_features:,} features, {data.n_attributes} attributes."
        ]
        if model.alignment is not None:
            share = f"the plain cosine has a share of {percent(model.cosine_share or 0)} in the score of new classes"
            lines.append(f"{model.alignment[0].upper()}{model.alignment[1:]}; {share}.")
        if self.trained_on is not None:
            lines += [f"Warning: {text}." for text in self.trained_on.sentences(counts)]
        found = [] if model.n_concepts is None else [f"{model.n_concepts} concepts"]
        if model.n_iter is not None:
            stopped = "" if self.objective.converged else " (stopped before it converged)"
            found.append(f"{model.n_iter} iterations{stopped}")
        return [*lines, ", ".join(found) + "."] if found else lines

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report: standard, generalized, open_set, classes, confusions, if any."""
        tables = {"standard": self._standard_table()}
        if self._generalized:
            tables["generalized"] = self._generalized_table()
        if any(result.open_set for result in self.results):
            tables["open_set"] = self._open_set_table()
        tables["classes"] = self._class_table()
        if self.confusions:
            rows = [
                [shown(row.true, _LONGEST), shown(row.predicted, _LONGEST), str(row.samples), percent(row.share)]
                for row in self.confusions
            ]
            header = ["class", "taken for", "samples", "of the class"]
            tables["confusions"] = Table("Commonest confusions (among unseen)", header, rows)
        return tables

    def charts(self) -> dict[str, Display]:
        """Return the charts of the report: generalized, classes, confusions, convergence, those that there are.

        Examples
        --------
        ``report.charts()["classes"].plot()`` draws one in a notebook.
        """
        charts: dict[str, Display] = {}
        if self._generalized:
            charts["generalized"] = self._curves()
        charts["classes"] = self._bars()
        if len(self.confusion_matrix.labels) <= _MOST_IN_MATRIX:
            matrix = self.confusion_matrix.sorted()
            charts["confusions"] = ConfusionDisplay(matrix.counts, matrix.labels)
        if len(self.objective.values) > 1:
            charts["convergence"] = ConvergenceDisplay(self.objective.values)
        return charts

    def _standard_table(self) -> Table:
        found = [(result.space_name, result.standard) for result in self.results]
        ks = [k for k in found[0][1].hits if k != 1]
        columns = {
            "space": [*(space for space, _ in found), "chance"],
            "per class": [percent(share) for share in (*(one.per_class for _, one in found), self.dataset.chance)],
            **self._interval_column("per_class", 1),
            "per sample": [percent(share) for share in (*(one.per_sample for _, one in found), self.dataset.chance)],
            **{f"hit@{k} per sample": [*(percent(one.hits[k].per_sample) for _, one in found), ""] for k in ks},
        }
        header, rows = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
        return Table(f"Unseen classes (standard: {self.dataset.n_unseen_classes} candidates)", header, rows)

    def _generalized_table(self) -> Table:
        header = ["space", "bias on seen", "seen", "unseen", "harmonic mean", self._interval_title, "AUSUC"]
        rows = []
        for result in self.results:
            if (found := result.generalized) is None:
                continue
            first, last = result.space_name, f"{found.ausuc:.3f}"
            for bias, _, at in found.places:
                own = at is found or (not found.seen_bias and at is found.uncalibrated)
                interval = percent_range(result.intervals.get("harmonic_mean") if own else None)
                shares = map(percent, (at.acc_seen, at.acc_unseen, at.harmonic_mean))
                rows.append([first, bias, *shares, interval, last])
                first = last = ""
        if not any(row[5] for row in rows):
            header, rows = [*header[:5], *header[6:]], [[*row[:5], *row[6:]] for row in rows]
        n = self.dataset.n_unseen_classes + self.dataset.n_seen_classes
        return Table(f"All classes (generalized: {n} candidates, per class)", header, rows)

    def _open_set_table(self) -> Table:
        header = ["space", "AUROC", "least score", "known samples rejected", "strangers rejected"]
        rows = []
        for result in self.results:
            if (found := result.open_set) is not None:
                least = "none chosen" if found.threshold is None else f"{found.threshold:.4g}"
                rows.append(
                    [result.space_name, f"{found.auroc:.3f}", least, percent(found.lost), percent(found.rejected)]
                )
        return Table("Open set (unseen classes; strangers: the same samples, their class left out)", header, rows)

    @property
    def _interval_title(self) -> str:
        return f"{100 * self.bootstrap.level:g} % interval" if self.bootstrap else ""

    def _interval_column(self, name: str, n_other_rows: int) -> dict[str, list[str]]:
        """Return a column with the intervals of a figure, if there are any."""
        cells = [percent_range(result.intervals.get(name)) for result in self.results]
        return {self._interval_title: [*cells, *[""] * n_other_rows]} if any(cells) else {}

    def _class_table(self) -> Table:
        header = ["class", "kind", "samples", "among unseen", "among all"]
        rows = [
            [shown(row.label, _LONGEST), row.kind, str(row.samples), percent(row.standard), percent(row.generalized)]
            for row in self.classes
        ]
        if not self._generalized:
            header, rows = header[:-1], [row[:-1] for row in rows]
        return Table(f"Classes ({self.results[0].space_name})", header, rows)

    def _curves(self) -> SeenUnseenDisplay:
        """Return the curves of all spaces, with the marks of the model's own."""
        curves = {f"{space}, AUSUC {found.ausuc:.3f}": found.curve for space, found in self._generalized.items()}
        own = next(iter(self._generalized.values()))
        return SeenUnseenDisplay(curves, marks={name: (at.acc_unseen, at.acc_seen) for _, name, at in own.places})

    def _bars(self) -> ClassAccuracyDisplay:
        """Return the accuracy of each unseen class; of the best and the worst if they are many."""
        rows = [row for row in self.classes if row.kind == "unseen"]
        if len(rows) > _MOST_BARS:
            rows = [*rows[: _MOST_BARS // 2], *rows[-_MOST_BARS // 2 :]]
        shares = {"among unseen classes": [row.standard for row in rows]}
        if self._generalized:
            shares["among all classes"] = [row.generalized for row in rows]
        return ClassAccuracyDisplay([row.label for row in rows], shares, samples=[row.samples for row in rows])

    def _made(self) -> str:
        fit = sum(seconds for name, seconds in self.timings.items() if name != "evaluation")
        named = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"Fitted in {fit:.2f} s, evaluated in {self.timings['evaluation']:.2f} s. {named}."
