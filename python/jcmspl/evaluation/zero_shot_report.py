"""The report of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jcmspl.evaluation import findings
from jcmspl.evaluation.class_charts import ClassAccuracyDisplay, ConfusionDisplay
from jcmspl.evaluation.probabilities import ReliabilityDisplay
from jcmspl.evaluation.seen_unseen_chart import SeenUnseenDisplay
from jcmspl.io.json_text import as_data, dumps
from jcmspl.report.figures import Display
from jcmspl.report.model_charts import ConvergenceDisplay
from jcmspl.report.pages import Document, rendered, thumbnail
from jcmspl.support.shown import Card, Table, aligned, percent, percent_range, shown

# The plain text lists so many classes; the other forms list all.
_MOST_IN_TEXT = 10
_LONGEST = 100  # characters of names in tables
# With more classes the bar chart shows the best and the worst ones; the table has all.
_MOST_BARS = 60
_MOST_IN_MATRIX = 120
# With more classes the page shows those most often confused, so that names can be read.
_MOST_ON_PAGE = 50


@dataclass(frozen=True)
class Report(Document):
    """The result of :func:`jcmspl.evaluate`.

    Attributes
    ----------
    dataset : DatasetSummary
    model : ModelSummary
    results : list of SpaceResult
        Standard and generalized recognition in each space. Standard recognition is among the tested classes: the unseen
        ones or, if the test data have none (as for a plain classifier), the seen ones. The model's own space comes
        first; the model adapted to the test samples, if requested, comes last.
    classes : list of ClassRow
        In the model's own space; tested classes first, the best at the top.
    confusions : list of Confusion
        The most frequent ones among the tested classes.
    confusion_matrix : ConfusionMatrix
        Of the tested classes.
    objective : Objective
    timings : dict of str to float
        Seconds per stage.
    versions : dict of str to str
    bootstrap : Bootstrap or None
        The settings behind the intervals.
    examples : list of Example
        Test samples of the tested classes, wrong and right ones, if the data set has ids.
    trained_on : TrainedOn or None
        The number of test samples in the training data; None if the model does not know its training samples.
    trust : list of Trust
        Errors of probabilities, and prediction sets of 90 % if the model has calibrated some, in the first space: among
        tested classes and, with test samples of seen and unseen classes, among all.
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
    trust: list[findings.Trust] = field(default_factory=list)

    KIND = "a report"

    @property
    def data(self) -> dict[str, Any]:
        """The whole report in types of JSON."""
        data: dict[str, Any] = as_data(self)
        for result in data["results"]:
            for name in ("generalized", "transductive", "open_set"):
                if not result[name]:
                    del result[name]
        return data

    @property
    def accuracy(self) -> float:
        """Per-class accuracy on the tested classes, in the model's own space."""
        return self.results[0].standard.per_class

    @property
    def harmonic_mean(self) -> float | None:
        """Harmonic mean of generalized recognition in the model's own space; None if it was not tested."""
        generalized = self.results[0].generalized
        return generalized.harmonic_mean if generalized else None

    @property
    def _generalized(self) -> dict[str, findings.Generalized]:
        return {result.space_name: result.generalized for result in self.results if result.generalized}

    @property
    def title(self) -> str:
        """The model and the data set."""
        return f"{self.model.name} on {shown(self.dataset.name)}"

    def to_json(self) -> str:
        """Return the report as JSON."""
        return dumps(self.data, indent=1) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page without external files; matplotlib draws its charts."""
        results = self.data["results"]
        for result in results:
            result.get("generalized", {}).pop("curve", None)  # too many points to read
        return rendered(
            "evaluation.html",
            title=self.title,
            report=self,
            tables=self.tables(),
            charts={name: chart for name, chart in self.charts().items() if name not in ("classes", "confusions")},
            matrix=self._matrix(),
            pictures={one.row: one.picture and thumbnail(one.picture) for one in self.examples},
            json=dumps({"results": results}, indent=1),
        )

    def _matrix(self) -> dict[str, Any]:
        """Return the confusion matrix for the page, with the number of samples of each class."""
        order = self.confusion_matrix.most_confused(_MOST_ON_PAGE)
        totals = [sum(self.confusion_matrix.counts[i]) for i in order]
        return {**vars(self.confusion_matrix.of(order)), "totals": totals}

    def __repr__(self) -> str:
        rest = f", harmonic mean {percent(self.harmonic_mean)}" if self._generalized else ""
        about = f"{percent(self.accuracy)} per class on {self.dataset.tested} classes{rest}"
        return f"<Report on {shown(self.dataset.name)}: {about}>"

    def _card(self) -> Card:
        return Card(self.title, sentences=self.about(), tables=list(self.tables().values())[:2])

    def _table_as_text(self, name: str, table: Table) -> list[str]:
        title, header, rows = table
        if name == "classes" and len(rows) > _MOST_IN_TEXT:
            rows = [row for row in rows if row[1] == self.dataset.tested][-_MOST_IN_TEXT:]
            title = (
                f"The {len(rows)} hardest {self.dataset.tested} c{title[1:]}; Markdown, JSON and HTML list all classes"
            )
        return [title, aligned(header, [[shown(cell, 48) for cell in row] for row in rows])]

    def about(self) -> list[str]:
        """Return sentences on the training and test data and on the model."""
        data, model, counts = self.dataset, self.model, self.dataset.samples
        of_seen = f" and {counts['test_seen']:,} of seen ones" if counts["test_seen"] and counts["test_unseen"] else ""
        tested = data.tested
        attributes = f", {data.n_attributes} attributes" if data.n_attributes else ", without class vectors"
        lines = [
            f"{counts['trainval']:,} training samples of {data.n_seen_classes} seen classes; "
            f"{counts[f'test_{tested}']:,} test samples of {data.n_tested_classes} {tested} classes{of_seen}; "
            f"{data.n_features:,} features{attributes}."
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
        lines += [", ".join(found) + "."] if found else []
        return lines + [
            f"Prediction sets among {one.group} classes: {one.sets.promise}." for one in self.trust if one.sets
        ]

    def tables(self) -> dict[str, Table]:
        """Return the tables standard, generalized, trust, sets, open_set, kinds, classes, confusions; none is empty."""
        tables = {"standard": self._standard_table()}
        if self._generalized:
            tables["generalized"] = self._generalized_table()
        if self.trust:
            tables["trust"] = self._trust_table()
        if any(one.sets for one in self.trust):
            tables["sets"] = self._sets_table()
        if any(result.open_set for result in self.results):
            tables["open_set"] = self._open_set_table()
        if any(result.open_set and result.open_set.kinds for result in self.results):
            tables["kinds"] = self._kinds_table()
        tables["classes"] = self._class_table()
        if self.confusions:
            rows = [
                [shown(row.true, _LONGEST), shown(row.predicted, _LONGEST), str(row.samples), percent(row.share)]
                for row in self.confusions
            ]
            header = ["class", "taken for", "samples", "of the class"]
            tables["confusions"] = Table(f"Commonest confusions (among {self.dataset.tested})", header, rows)
        return tables

    def charts(self) -> dict[str, Display]:
        """Return the charts generalized, reliability, classes, confusions and convergence, without empty ones.

        Examples
        --------
        ``report.charts()["classes"].plot()`` draws a chart in a notebook.
        """
        charts: dict[str, Display] = {}
        if self._generalized:
            # the curves of all spaces, with marks for the model's own
            curves = {f"{space}, AUSUC {found.ausuc:.3f}": found.curve for space, found in self._generalized.items()}
            own = next(iter(self._generalized.values()))
            marks = {name: (at.acc_unseen, at.acc_seen) for _, name, at in own.places}
            charts["generalized"] = SeenUnseenDisplay(curves, marks=marks)
        if self.trust:
            charts["reliability"] = ReliabilityDisplay({f"among {one.group}": one.reliability for one in self.trust})
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
            self._interval_title: [*(percent_range(one.intervals.get("per_class")) for one in self.results), ""],
            "per sample": [percent(share) for share in (*(one.per_sample for _, one in found), self.dataset.chance)],
            **{f"hit@{k} per sample": [*(percent(one.hits[k].per_sample) for _, one in found), ""] for k in ks},
        }
        title = f"{self.dataset.tested.capitalize()} classes (standard: {self.dataset.n_tested_classes} candidates)"
        return Table(title, list(columns), list(zip(*columns.values(), strict=True))).filled()

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
        n = self.dataset.n_unseen_classes + self.dataset.n_seen_classes
        return Table(f"All classes (generalized: {n} candidates, per class)", header, rows).filled()

    def _trust_table(self) -> Table:
        header = ["candidates", "temperature", "calibration error", "Brier score", "log loss"]
        rows = [
            [
                f"{one.group} ({one.n_candidates})",
                f"{one.temperature:.3g}" + ("" if one.is_calibrated else " (not calibrated)"),
                percent(one.errors.calibration_error),
                f"{one.errors.brier:.3f}",
                f"{one.errors.log_loss:.3f}",
            ]
            for one in self.trust
        ]
        return Table(f"Probabilities ({self.results[0].space_name})", header, rows)

    def _sets_table(self) -> Table:
        header = ["candidates", "asked for", "promised", "covered, per class", "classes in a set"]
        rows = [
            [
                f"{one.group} ({one.n_candidates})",
                *map(percent, (one.sets.asked, one.sets.promised, one.sets.covered)),
                f"{one.sets.size:.1f}",
            ]
            for one in self.trust
            if one.sets
        ]
        return Table(f"Prediction sets ({self.results[0].space_name})", header, rows)

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

    def _kinds_table(self) -> Table:
        header = ["space", "samples of", "named a seen class", "named an unseen class", "rejected"]
        names = {"seen": "seen classes", "unseen": "unseen classes", "stranger": "neither (their class left out)"}
        rows = [
            [result.space_name, names[kind], *map(percent, shares)]
            for result in self.results
            if result.open_set is not None and result.open_set.kinds
            for kind, shares in result.open_set.kinds.items()
        ]
        return Table("Open set among all classes: seen, unseen or neither", header, rows)

    @property
    def _interval_title(self) -> str:
        return f"{100 * self.bootstrap.level:g} % interval" if self.bootstrap else ""

    def _class_table(self) -> Table:
        header = [
            "class",
            "kind",
            "samples",
            f"among {self.dataset.tested}",
            "among all",
            "covered by sets",
            "classes in a set",
        ]
        rows = [
            [
                shown(row.label, _LONGEST),
                row.kind,
                str(row.samples),
                *map(percent, (row.standard, row.generalized, row.coverage)),
                "" if row.set_size is None else f"{row.set_size:.1f}",
            ]
            for row in self.classes
        ]
        return Table(f"Classes ({self.results[0].space_name})", header, rows).filled()

    def _bars(self) -> ClassAccuracyDisplay:
        """Return the chart of the tested classes; of many classes the best and the worst ones."""
        rows = [row for row in self.classes if row.kind == self.dataset.tested]
        if len(rows) > _MOST_BARS:
            rows = [*rows[: _MOST_BARS // 2], *rows[-_MOST_BARS // 2 :]]
        shares = {f"among {self.dataset.tested} classes": [row.standard for row in rows]}
        if self._generalized:
            shares["among all classes"] = [row.generalized for row in rows]
        return ClassAccuracyDisplay([row.label for row in rows], shares, samples=[row.samples for row in rows])

    def _footer(self) -> list[str]:
        fit = sum(seconds for name, seconds in self.timings.items() if name != "evaluation")
        named = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return [f"Fitted in {fit:.2f} s, evaluated in {self.timings['evaluation']:.2f} s. {named}."]
