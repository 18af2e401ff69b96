"""The report of a comparison of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from jcmspl.evaluation.findings import Accuracies, Interval, versions
from jcmspl.evaluation.uncertainty import LEVEL, SETTINGS, TEST, Standing, standings
from jcmspl.io.json_text import as_data, dumps
from jcmspl.report.method_charts import ComparisonDisplay
from jcmspl.report.pages import Document, DotPlot, Mark, rendered
from jcmspl.support.shown import (
    Card,
    Table,
    csv_text,
    latex_table,
    listed,
    markdown_table,
    percent,
    percent_with_error,
    printable,
    shown,
)

# With fewer random splits the test finds only large differences.
_FEW_SPLITS = 10


@dataclass(frozen=True)
class GeneralizedFigures(Accuracies):
    """Generalized accuracies with the model's bias, and the area under the curve."""

    ausuc: float


@dataclass(frozen=True)
class Seconds:
    """Seconds for one fit with the chosen parameters, and for predicting the test samples of unseen classes."""

    fit: float
    prediction: float


@dataclass(frozen=True)
class Row:
    """The results of one method."""

    method: str
    parameters: dict[str, Any]  #: chosen on the training classes; empty for a method that was not tuned
    cv_score: float  #: their accuracy on held-out training classes; NaN without tuning
    cv_error: float  #: its standard error over folds
    unseen: float  #: per-class accuracy on unseen classes
    unseen_per_sample: float
    generalized: GeneralizedFigures | None  #: calibrated on training classes
    repeats: list[float]  #: ``unseen`` of random splits of all classes, tuned anew for each
    seconds: Seconds | None = None  #: if measured
    interval: Interval | None = None  #: of ``unseen``, by the bootstrap over classes; None for few classes
    #: For choosing parameters and training on the data set's own split, as the comparison took them.
    learning_seconds: float | None = field(default=None, compare=False)

    @property
    def quality(self) -> float:
        """The accuracy by which a method is chosen: on held-out training classes or, untuned, on unseen classes."""
        return float(np.mean(self.repeats or [self.unseen])) if np.isnan(self.cv_score) else self.cv_score


@dataclass(frozen=True)
class Comparison(Document):
    """The result of :func:`compare`.

    Attributes
    ----------
    dataset : str
    n_unseen, n_seen : int
        The numbers of unseen classes and of training classes.
    n_repeats : int
        The number of random splits of the classes, besides the data set's own.
    tuned : bool
        Whether parameters were tuned, or are the defaults.
    rows : list of Row
        The best method on unseen classes first.
    failures : dict
        The error of each method that could not be fitted to all splits.
    not_run : list of str
        Methods that did not run on all splits before Ctrl-C.
    best_model : estimator or None
        The fitted model of ``best_method``, trained on the data set's own split; None in a comparison read from a file.
    """

    dataset: str
    n_unseen: int
    n_seen: int
    n_repeats: int
    tuned: bool
    rows: list[Row]
    failures: dict[str, str] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)
    best_model: Any = field(default=None, repr=False, compare=False)

    KIND = "a comparison"
    FORMS: ClassVar[Mapping[str, str]] = {**Document.FORMS, ".csv": "to_csv", ".tex": "to_latex"}

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Standings of the methods that ran on all random splits, the best first."""
        scores = {row.method: row.repeats for row in self.rows if self.n_repeats and len(row.repeats) == self.n_repeats}
        return standings(scores, self.n_unseen, self.n_seen)

    @cached_property
    def ranked(self) -> list[Row]:
        """The rows in the order of tables and charts: the best on random splits first, or else on unseen classes."""
        by_name = {row.method: row for row in self.rows}
        return [by_name.pop(name) for name in self.standings] + list(by_name.values())

    @property
    def as_good_as_the_best(self) -> list[str]:
        """The best method on random splits, and those whose difference to it may be noise."""
        return [name for name, one in self.standings.items() if not one.differs] if self.n_repeats > 1 else []

    @property
    def best_method(self) -> str:
        """The method to use: the most accurate on held-out training classes, or on unseen ones if nothing was tuned.

        A choice by held-out training classes leaves the accuracy on unseen classes an honest estimate.
        """
        return max(self.rows, key=lambda row: row.quality).method

    def leaderboard(self) -> Any:
        """Return a pandas DataFrame: a row for each method, the best on random splits or else on unseen classes first.

        Columns are those of the CSV file, without single splits and parameters; shares are from 0 to 1.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("leaderboard() needs pandas: pip install pandas, or read rows or to_csv()") from None
        table = pd.DataFrame([self._flat(row) for row in self.ranked]).replace("", np.nan).infer_objects()
        left_out = [name for name in table if name.startswith("split_") or name in ("parameters", "remark")]
        return table.drop(columns=left_out).dropna(axis="columns", how="all")

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the chart of all methods, as ``chart().plot(ax)``."""
        return self.chart().plot(ax)

    @property
    def title(self) -> str:
        """The data set, and the accuracy of guessing."""
        return f"{shown(self.dataset)}: {self.n_unseen} unseen classes, chance {percent(1 / self.n_unseen)}"

    def about(self) -> list[str]:
        """Return the answers to the questions of a reader in a hurry."""
        return [f"{question} {answer}" for question, answer in self.answers().items()]

    def answers(self) -> dict[str, str]:
        """Return the questions that a reader of a comparison has, with their answers in plain words."""
        return {
            "What was tried?": self._tried(),
            "What won?": self._won(),
            "Is the lead noise?": self._noise(),
            "What does it cost?": self._cost(),
            "Which one to use?": self._choice(),
        }

    def _tried(self) -> str:
        how = "Each chose its parameters on the training classes" if self.tuned else "All have their default parameters"
        return (
            f"{_counted(len(self.rows), 'method')}, which learned from samples of {self.n_seen} classes and then had "
            f"to recognise {self.n_unseen} other classes from a description (a class vector) alone. {how}. "
            f"Guessing is right in {percent(1 / self.n_unseen)} of cases."
        )

    def _won(self) -> str:
        first, *others = self._scores()
        where = "on average over random choices of the unseen classes" if self.standings else "on the unseen classes"
        text = f"{shown(first[0])}, with {percent(first[1])} right {where}"
        if others:
            text += f", {100 * (first[1] - others[0][1]):.1f} points ahead of {shown(others[0][0])}, the next"
        if len(others) > 1:
            text += f", and {100 * (first[1] - others[-1][1]):.1f} ahead of {shown(others[-1][0])}, the last"
        return text + "."

    def _scores(self) -> list[tuple[str, float]]:
        """Return methods with the accuracy by which they are compared, the best first."""
        if self.standings:
            return [(name, one.mean) for name, one in self.standings.items()]
        return [(row.method, row.unseen) for row in self.rows]

    def _noise(self) -> str:
        if self.n_repeats < 2:
            return (
                "This comparison cannot tell: it takes at least two random splits of the classes, and better ten "
                f"(repeats={_FEW_SPLITS}, --repeats {_FEW_SPLITS})."
            )
        first, *equals = self.as_good_as_the_best
        behind = [name for name, one in self.standings.items() if one.differs]
        if len(self.standings) < 2:
            return "There is no other method to compare with."
        text = f"Over {self.n_repeats} random splits, "
        if not equals:
            return text + f"the lead of {shown(first)} over every other method is larger than chance explains."
        others = f"all {len(equals)} other methods" if len(equals) > 2 and not behind else listed(equals)
        text += f"{others} may be as good as {shown(first)}: the difference may be chance."
        return text + (f" {listed(behind)} {'is' if len(behind) == 1 else 'are'} worse." if behind else "")

    def _cost(self) -> str:
        known = [(row.learning_seconds, row.method) for row in self.rows if row.learning_seconds is not None]
        if not known:
            return "It was not measured."
        (least, quickest), (most, slowest) = min(known), max(known)
        own = {method: seconds for seconds, method in known}.get(self._scores()[0][0])
        task = "Choosing parameters and training" if self.tuned else "Training"
        parts = [] if own is None else [f"{_duration(own)} for {shown(self._scores()[0][0])}"]
        if len(known) > 1:
            parts += [f"from {_duration(least)} ({shown(quickest)}) to {_duration(most)} ({shown(slowest)}) for all"]
        return f"{task} took {', '.join(parts)}. No method here needs a GPU."

    def _choice(self) -> str:
        best = next(row for row in self.rows if row.method == self.best_method)
        reason = (
            "it was the best on held-out training classes, without a look at the test"
            if best.cv_score == best.cv_score
            else "it was the best in this test, which makes its figure a little too good"
        )
        own = self.standings.get(best.method)
        found = f"On the unseen classes it was right in {percent(best.unseen)}"
        found += "" if own is None else f", and in {percent(own.mean)} on average over random choices of them"
        return f"{shown(best.method)}: {reason}. {found}."

    def tables(self) -> dict[str, Table]:
        """Return the tables "unseen" and, if tested, "all" (generalized)."""
        columns = self._unseen_columns()
        tables = {"unseen": Table("Unseen classes", list(columns), _across(columns))}
        if found := [(row.method, row.generalized) for row in self.ranked if row.generalized]:
            among_all = [one for _, one in found]
            columns = {
                "method": [method for method, _ in found],
                "seen": _marked([one.acc_seen for one in among_all]),
                "unseen": _marked([one.acc_unseen for one in among_all]),
                "harmonic mean": _marked([one.harmonic_mean for one in among_all]),
                "AUSUC": _figures([one.ausuc for one in among_all], 3),
            }
            tables["all"] = Table("All classes (generalized)", list(columns), _across(columns))
        return tables

    def _unseen_columns(self) -> dict[str, list[str]]:
        columns = {"method": [row.method for row in self.ranked]}
        if self.tuned:
            with_errors = [_with_error(row.cv_score, row.cv_error) for row in self.ranked]
            columns["held-out classes"] = _marked([row.cv_score for row in self.ranked], with_errors)
        columns["per class"] = _marked([row.unseen for row in self.ranked])
        columns["per sample"] = _marked([row.unseen_per_sample for row in self.ranked])
        if self.standings:
            found = [self.standings.get(row.method) for row in self.ranked]
            columns["random splits"] = [self._of_splits(row.method) for row in self.ranked]
            columns["mean rank"] = _figures([one.mean_rank if one else None for one in found], 1, best=min)
            if self.n_repeats > 1:
                best = next(iter(self.standings.values()))
                columns["p"] = [f"{one.p_value:.3f}" if one and one is not best else "" for one in found]
        if any(row.seconds for row in self.rows):
            seconds = [row.seconds for row in self.ranked]
            columns["fit, s"] = _figures([one.fit if one else None for one in seconds], 3, best=min)
            columns["prediction, s"] = _figures([one.prediction if one else None for one in seconds], 3, best=min)
        return columns

    def _of_splits(self, method: str) -> str:
        one = self.standings.get(method)
        if one is None:
            return ""
        is_best = _same(one.mean, next(iter(self.standings.values())).mean)
        if self.n_repeats == 1:
            return percent(one.mean) + (" *" if is_best else "  ")
        mark = " *" if is_best else "  " if one.differs else " ≈"
        return _with_error(one.mean, one.standard_error) + mark

    @property
    def refusals(self) -> dict[str, str]:
        """A sentence for each method that could not be fitted."""
        known = {row.method for row in self.rows}
        return {
            name: f"could not be fitted{' to all splits' * (name in known)}: {reason}"
            for name, reason in self.failures.items()
        }

    def notes(self) -> list[str]:
        """Return sentences that explain the tables."""
        notes = [
            "Every method chose its parameters by cross-validation over the training classes (held-out classes: its "
            "accuracy there, ± standard error over folds). * marks the best of every column."
            if self.tuned
            else "Every method has its default parameters: nothing was tuned. * marks the best of every column."
        ]
        if any(row.generalized for row in self.rows):
            notes.append("Among all classes the bias on seen classes is calibrated on training classes.")
        if self.n_repeats:
            times = "once" if self.n_repeats == 1 else f"{self.n_repeats} times"
            error = "; mean ± standard error, in which the overlap of splits is allowed for" * (self.n_repeats > 1)
            notes.append(
                f"Random splits: unseen classes drawn {times} from all classes, everything "
                f"{'tuned' if self.tuned else 'fitted'} anew{error}. Mean rank: over these splits."
            )
        if self.n_repeats > 1:
            few = f" With {self.n_repeats} splits it finds large ones alone: {_FEW_SPLITS} or more tell smaller ones."
            notes.append(
                f"≈ marks methods whose difference to the best on random splits may be noise: p is at least {LEVEL}, "
                f"of the {TEST}. A difference that is not found may still be there."
                + few
                * (self.n_repeats < _FEW_SPLITS)
            )
        else:
            notes.append("It takes two random splits at least, and better ten, to tell a lead from noise.")
        if any(row.seconds for row in self.rows):
            notes.append(
                "Seconds: one fit with the chosen parameters, and naming all test samples of unseen classes, measured "
                "once."
            )
        if self.not_run:
            notes.append(f"Interrupted: {', '.join(self.not_run)} had no turn, or not on all splits.")
        return notes

    def _table_as_text(self, name: str, table: Table) -> list[str]:
        lines = super()._table_as_text(name, table)
        if name == "unseen":  # refusals are sentences, too long for a column
            width = max(len(row.method) for row in self.rows)
            lines += [f"  {method.ljust(width)}  {printable(why)}" for method, why in self.refusals.items()]
        return lines

    def _table_as_markdown(self, name: str, table: Table) -> list[str]:
        _, header, rows = table
        sentences = [[*refusal, *[""] * (len(header) - 2)] for refusal in self.refusals.items()]
        return markdown_table(header, [*rows, *sentences] if name == "unseen" else rows)

    def _footer(self) -> list[str]:
        return self.notes()

    def _card(self) -> Card:
        refused = [f"{method} {why}" for method, why in self.refusals.items()]
        return Card(self.title, sentences=self.about(), tables=self.tables().values(), notes=[*refused, *self.notes()])

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        data = as_data(replace(self, best_model=None))
        del data["best_model"]
        data["random_splits"] = [
            {"method": name, **as_data(one), "differs_from_best": one.differs} for name, one in self.standings.items()
        ]
        return dumps({**data, "test": TEST, "versions": versions()}, indent=1) + "\n"

    def to_csv(self) -> str:
        """Return the comparison as CSV: one row per method, shares from 0 to 1."""
        rows = [self._flat(row) for row in self.ranked]
        known = {row.method for row in self.rows}
        rows += [{"method": name, "remark": why} for name, why in self.refusals.items() if name not in known]
        return csv_text(rows)

    def to_latex(self) -> str:
        """Return the tables as LaTeX, with the notes as comments."""
        lines = [f"% {note}" for note in [self.title, *(f"{name} {why}" for name, why in self.refusals.items())]]
        for table in self.tables().values():
            lines += ["", f"% {table.title}", *latex_table(table.header, table.rows)]
        return "\n".join([*lines, "", *(f"% {printable(note)}" for note in self.notes())]) + "\n"

    def _flat(self, row: Row) -> dict[str, Any]:
        """Return a row as a dict of CSV cells."""
        one = self.standings.get(row.method)
        generalized = as_data(row.generalized) or dict.fromkeys(GeneralizedFigures.__dataclass_fields__)
        scores = [*row.repeats, *[None] * (self.n_repeats - len(row.repeats))]
        flat = {
            "method": row.method,
            "held_out_classes": row.cv_score,
            "held_out_classes_error": row.cv_error,
            "unseen_per_class": row.unseen,
            "unseen_per_class_low": row.interval and row.interval.low,
            "unseen_per_class_high": row.interval and row.interval.high,
            "unseen_per_sample": row.unseen_per_sample,
            **{f"generalized_{name.removeprefix('acc_')}": value for name, value in generalized.items()},
            "random_splits_mean": one and one.mean,
            "random_splits_error": one and one.standard_error,
            "mean_rank": one and one.mean_rank,
            "p_value": one and one.p_value,
            "differs_from_best": one and one.differs,
            **{f"split_{number}": score for number, score in enumerate(scores, start=1)},
            "learning_seconds": row.learning_seconds,
            "fit_seconds": row.seconds and row.seconds.fit,
            "prediction_seconds": row.seconds and row.seconds.prediction,
            "parameters": dumps(row.parameters),
            "remark": self.refusals.get(row.method),
        }
        return {name: "" if cell is None or cell != cell else cell for name, cell in flat.items()}

    def to_html(self) -> str:
        """Return the comparison as one HTML page without external files."""
        return rendered(
            "comparison.html",
            title=f"Methods on {shown(self.dataset)}",
            comparison=self,
            tables=self.tables(),
            plot=self._plot(),
            parameters=Table(
                "", ["method", "parameters"], [[row.method, _named(row.parameters)] for row in self.ranked]
            ),
            versions=versions(),
        )

    def _plot(self) -> DotPlot:
        """Return the chart of the page."""
        rows = []
        for row in self.ranked:
            one, interval = self.standings.get(row.method), row.interval
            ends = (interval.low, interval.high) if interval and not self.standings else (None, None)
            marks = [Mark("tick", row.unseen, f"the data's own split: {percent(row.unseen)}", *ends)]
            if one:
                error = one.standard_error if self.n_repeats > 1 else 0.0
                words = f"random splits: {percent_with_error(one.mean, error)}"
                marks.insert(0, Mark("dot", one.mean, words, one.mean - error, one.mean + error))
            rows.append((row.method, row.method in self.as_good_as_the_best, marks))
        legend = {"tick": "the data's own split"}
        if self.standings:
            legend = {
                "dot": "mean of random splits, ± standard error" if self.n_repeats > 1 else "random split"
            } | legend
        elif any(row.interval for row in self.rows):
            legend["tick"] += f", {100 * SETTINGS.level:g} % interval of a bootstrap over its unseen classes"
        return DotPlot(rows, legend, 1 / self.n_unseen, "guessing")

    def chart(self) -> ComparisonDisplay:
        """Return the chart of all methods: accuracy on the data set's own split, and means over random splits."""
        found = [self.standings.get(row.method) for row in self.ranked]
        return ComparisonDisplay(
            [row.method for row in self.ranked],
            [row.unseen for row in self.ranked],
            [one.mean if one else None for one in found] if self.standings else None,
            [one.standard_error if one else None for one in found] if self.standings else None,
            marked=self.as_good_as_the_best,
            chance=1 / self.n_unseen,
        )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _across(columns: dict[str, list[str]]) -> list[list[str]]:
    return [list(cells) for cells in zip(*columns.values(), strict=True)]


def _marked(values: Sequence[float], with_errors: Sequence[str] | None = None) -> list[str]:
    """Format a column of shares, the highest marked."""
    return _starred(values, [percent(value) for value in values] if with_errors is None else with_errors, 3, max)


def _figures(values: Sequence[float | None], digits: int, best: Callable[..., float] = max) -> list[str]:
    """Format a column of figures, the best marked."""
    return _starred(values, ["" if value is None else f"{value:.{digits}f}" for value in values], digits, best)


def _starred(
    values: Sequence[float | None], texts: Sequence[str], digits: int, best: Callable[..., float]
) -> list[str]:
    """Append a star to the texts of the best value and of those that round to it."""
    known = [value for value in values if value is not None and not np.isnan(value)]
    stars = [value is not None and bool(known) and _same(value, best(known), digits) for value in values]
    return [text and text + (" *" if star else "  ") for text, star in zip(texts, stars, strict=True)]


def _same(value: float, other: float, digits: int = 3) -> bool:
    return f"{value:.{digits}f}" == f"{other:.{digits}f}"


def _with_error(share: float | None, error: float) -> str:
    return "" if share is None or np.isnan(share) else percent_with_error(share, error)


def _named(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())
