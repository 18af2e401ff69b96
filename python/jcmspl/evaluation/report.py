"""Reports: the result of an evaluation, as text, Markdown, JSON or an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jcmspl.io.atomic import write_atomically
from jcmspl.io.json_text import dumps
from jcmspl.report.text import aligned, markdown_heading, markdown_table, shortened

#: How the three directions of recognition are called in print; the first two are the paper's.
SPACE_NAMES = {
    "semantic": "semantic (V→S)",
    "visual": "visual (S→V)",
    "concept": "concept",
}
# Classes that the plain text lists; the other forms have all.
_MOST_IN_TEXT = 10
_SUFFIXES = {".json": "to_json", ".md": "to_markdown", ".html": "to_html", ".htm": "to_html", ".txt": "to_text"}


class Report:
    """The result of :func:`jcmspl.evaluate`.

    Attributes
    ----------
    data : dict
        All of it, in types that JSON has.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def accuracy(self) -> float:
        """Per-class accuracy on unseen classes, in the model's own space."""
        return float(self.data["results"][0]["standard"]["per_class"])

    @property
    def harmonic_mean(self) -> float | None:
        """The harmonic mean of generalized recognition in the model's own space, if there was a test of it."""
        generalized = self.data["results"][0].get("generalized")
        return None if generalized is None else float(generalized["harmonic_mean"])

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the report; the ending of the path (.json, .md, .html, .txt) says in which form."""
        path = Path(path)
        self.check_name(path)
        text: str = getattr(self, _SUFFIXES[path.suffix.lower()])()
        write_atomically(path, text.encode(), overwrite=overwrite)

    @staticmethod
    def check_name(path: str | Path) -> None:
        """Refuse a path whose ending names none of the forms of a report."""
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise ValueError(f"a report is written as {', '.join(_SUFFIXES)}, but the path is {path}")

    def to_json(self) -> str:
        """Return all of the report as JSON."""
        return dumps(self.data, indent=1) + "\n"

    def to_text(self) -> str:
        """Return the report as plain text."""
        parts = [_heading(self.data)]
        for title, header, rows in tables(self.data):
            if title.startswith("Classes") and len(rows) > _MOST_IN_TEXT:
                rows = [row for row in rows if row[1] == "unseen"][-_MOST_IN_TEXT:]
                title = f"The {len(rows)} hardest unseen c{title[1:]}; the other forms of the report have all"
            parts += ["", title, aligned(header, [[shortened(cell, 48) for cell in row] for row in rows])]
        return "\n".join([*parts, "", _footer(self.data)]) + "\n"

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [markdown_heading(title_of(self.data)), "", _heading(self.data, lines=False)]
        for title, header, rows in tables(self.data):
            parts += ["", f"## {title}", "", *markdown_table(header, rows)]
        return "\n".join([*parts, "", _footer(self.data)]) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page that needs nothing else."""
        from jcmspl.evaluation.report_page import page

        return page(self.data)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        harmonic = self.harmonic_mean
        rest = "" if harmonic is None else f", harmonic mean {percent(harmonic)}"
        return f"<Report on {self.data['dataset']['name']}: {percent(self.accuracy)} per class on unseen classes{rest}>"

    def _repr_html_(self) -> str:
        from jcmspl.report.notebook import table

        return "".join(table(title, header, rows) for title, header, rows in tables(self.data)[:2])


def percent(share: float | None) -> str:
    """Return a share as a percentage."""
    return "" if share is None or share != share else f"{100 * share:.1f} %"


def title_of(data: dict[str, Any]) -> str:
    """Return the title of a report."""
    return f"{data['model']['name']} on {data['dataset']['name']}"


def tables(data: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the tables of a report: title, header, rows."""
    out = [standard_table(data)]
    if "generalized" in data["results"][0]:
        out.append(generalized_table(data))
    out.append(class_table(data))
    if data["confusions"]:
        out.append(confusion_table(data))
    return out


def standard_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Unseen samples among unseen classes."""
    ks = [k for k in data["results"][0]["standard"]["hits"] if k != "1"]
    header = ["space", "per class", "per sample", *(f"hit@{k} per sample" for k in ks)]
    rows = [
        [
            SPACE_NAMES.get(result["space"], result["space"]),
            percent(result["standard"]["per_class"]),
            percent(result["standard"]["per_sample"]),
            *(percent(result["standard"]["hits"][k]["per_sample"]) for k in ks),
        ]
        for result in data["results"]
    ]
    rows.append(["chance", percent(data["dataset"]["chance"]), percent(data["dataset"]["chance"])] + [""] * len(ks))
    n = data["dataset"]["n_unseen_classes"]
    return f"Unseen classes (standard: {n} candidates)", header, rows


def generalized_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Seen and unseen samples among all classes."""
    header = ["space", "bias on seen", "seen", "unseen", "harmonic mean", "AUSUC"]
    rows = []
    for result in data["results"]:
        found = result["generalized"]
        name = SPACE_NAMES.get(result["space"], result["space"])
        lines = [
            ("none", found["uncalibrated"]),
            (f"{found['best_on_test_data']['seen_bias']:.3g} (best on test data)", found["best_on_test_data"]),
        ]
        if found["seen_bias"]:
            lines.insert(1, (f"{found['seen_bias']:.3g} (the model's)", found))
        for number, (bias, line) in enumerate(lines):
            rows.append(
                [
                    name if number == 0 else "",
                    bias,
                    percent(line["acc_seen"]),
                    percent(line["acc_unseen"]),
                    percent(line["harmonic_mean"]),
                    f"{found['ausuc']:.3f}" if number == 0 else "",
                ]
            )
    n = data["dataset"]["n_unseen_classes"] + data["dataset"]["n_seen_classes"]
    return f"All classes (generalized: {n} candidates, per class)", header, rows


def class_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """One row for each class of the test data."""
    with_all = any(row["generalized"] is not None for row in data["classes"])
    header = ["class", "kind", "samples", "among unseen", *(["among all"] if with_all else [])]
    rows = [
        [row["label"], row["kind"], str(row["samples"]), percent(row["standard"])]
        + ([percent(row["generalized"])] if with_all else [])
        for row in data["classes"]
    ]
    space = data["results"][0]["space"]
    return f"Classes ({SPACE_NAMES.get(space, space)})", header, rows


def confusion_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return the commonest mistakes."""
    rows = [[c["true"], c["predicted"], str(c["samples"]), percent(c["share"])] for c in data["confusions"]]
    return "Commonest confusions (among unseen)", ["class", "taken for", "samples", "of the class"], rows


def _heading(data: dict[str, Any], *, lines: bool = True) -> str:
    about, model = data["dataset"], data["model"]
    counts = about["samples"]
    text = [
        f"{counts['trainval']:,} training samples of {about['n_seen_classes']} seen classes; "
        f"{counts['test_unseen']:,} test samples of {about['n_unseen_classes']} unseen classes"
        + (f" and {counts['test_seen']:,} of seen ones" if counts["test_seen"] else "")
        + f"; {about['n_features']:,} features, {about['n_attributes']} attributes.",
        f"{model['n_concepts']} concepts, {model['n_iter']} iterations"
        + ("" if data["objective"]["converged"] else " (stopped before it converged)")
        + ".",
    ]
    return "\n".join([title_of(data), *text]) if lines else " ".join(text)


def _footer(data: dict[str, Any]) -> str:
    fit = sum(seconds for name, seconds in data["timings"].items() if name != "evaluation")
    named = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return f"Fitted in {fit:.2f} s, evaluated in {data['timings']['evaluation']:.2f} s. {named}."
