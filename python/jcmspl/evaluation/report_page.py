"""The HTML page of a report: one file, no scripts, nothing fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from jcmspl.evaluation.report import (
    SPACE_NAMES,
    class_table,
    confusion_table,
    generalized_table,
    percent,
    standard_table,
    title_of,
)
from jcmspl.report.svg import Mark, Series, bar_chart, heat_map, line_chart
from jcmspl.report.text import numeric_columns

# More bars than this are a wall: the best and the worst are shown, the table has all.
_MOST_BARS = 60
_MOST_IN_MATRIX = 120

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; color: #18181b; background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .8rem; border-top: 1px solid #e4e4e7; }
p { margin: .4rem 0; max-width: 46rem; }
.lead { color: #52525b; }
.figures { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; padding: 0; list-style: none; }
.figures li { flex: 1 1 11rem; border: 1px solid #e4e4e7; border-radius: .5rem; padding: .7rem .9rem; }
.figures b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.figures span { color: #52525b; font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin: .4rem 0; }
th, td { padding: .28rem .8rem .28rem 0; text-align: left; border-bottom: 1px solid #e4e4e7; }
th { color: #52525b; font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; }
svg { display: block; width: 100%; min-width: 26rem; height: auto; margin: .6rem 0; }
.legend { font-size: .85rem; color: #3f3f46; }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; vertical-align: -.1rem; }
details summary { cursor: pointer; color: #1d4ed8; margin: .6rem 0; }
pre { overflow-x: auto; background: #f4f4f5; padding: .8rem; border-radius: .4rem; font-size: .82rem; }
@media (max-width: 30rem) { svg { min-width: 0; } }
@media print {
  body { max-width: none; font-size: 11pt; padding: 0; }
  h2 { break-after: avoid; } svg, tr { break-inside: avoid; }
}
"""


def page(data: dict[str, Any]) -> str:
    """Return the page of an evaluation."""
    parts = [
        f"<h1>{escape(title_of(data))}</h1>",
        f'<p class="lead">{escape(_lead(data))}</p>',
        _figures(data),
        "<h2>Unseen classes</h2>",
        "<p>Test samples of classes that were not in the training data, recognised among these classes. “Per class” is "
        "the mean over classes of the share within each; “per sample” the share of all samples. hit@k: the right class "
        "is among the k best.</p>",
        html_table(*standard_table(data)[1:]),
    ]
    if "generalized" in data["results"][0]:
        parts += _generalized(data)
    parts += _classes(data)
    parts += _confusions(data)
    if len(data["objective"]["values"]) > 1:
        parts += _convergence(data)
    parts += _details(data)
    return document(title_of(data), "\n".join(parts))


def document(title: str, body: str) -> str:
    """Return a whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; columns of numbers are set flush right."""
    numeric = numeric_columns(header, rows)

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if right else ''}>{escape(cell)}</{tag}>"
            for cell, right in zip(row, numeric, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    head = cells(header, "th")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _lead(data: dict[str, Any]) -> str:
    about = data["dataset"]
    counts = about["samples"]
    return (
        f"Trained on {counts['trainval']:,} samples of {about['n_seen_classes']} classes, with {about['n_features']:,} "
        f"features each and {about['n_attributes']} attributes per class; tested on {counts['test_unseen']:,} samples "
        f"of {about['n_unseen_classes']} classes it had never seen"
        + (f" and on {counts['test_seen']:,} further samples of the seen ones." if counts["test_seen"] else ".")
    )


def _figures(data: dict[str, Any]) -> str:
    first = data["results"][0]
    space = SPACE_NAMES.get(first["space"], first["space"])
    figures = [
        (percent(first["standard"]["per_class"]), f"of unseen classes recognised, per class; {space} space"),
        (percent(data["dataset"]["chance"]), "is what guessing would give"),
    ]
    if "generalized" in first:
        found = first["generalized"]
        calibrated = "calibrated on training classes" if found["seen_bias"] else "not calibrated"
        figures.append((percent(found["harmonic_mean"]), f"harmonic mean among all classes, {calibrated}"))
        figures.append((f"{found['ausuc']:.3f}", "area under the seen-unseen curve"))
    items = "".join(f"<li><b>{escape(value)}</b><span>{escape(text)}</span></li>" for value, text in figures)
    return f'<ul class="figures">{items}</ul>'


def _generalized(data: dict[str, Any]) -> list[str]:
    first = data["results"][0]["generalized"]
    series = [
        Series(SPACE_NAMES.get(result["space"], result["space"]), [(u, s) for u, s in result["generalized"]["curve"]])
        for result in data["results"]
    ]
    marks = [Mark("no bias", first["uncalibrated"]["acc_unseen"], first["uncalibrated"]["acc_seen"])]
    if first["seen_bias"]:
        marks.append(Mark("the model", first["acc_unseen"], first["acc_seen"]))
    best = first["best_on_test_data"]
    marks.append(Mark("best harmonic mean", best["acc_unseen"], best["acc_seen"]))
    return [
        "<h2>All classes</h2>",
        "<p>Test samples of seen and unseen classes, recognised among all classes (generalized). A model favours the "
        "classes it was trained on; a bias taken off their scores trades accuracy on seen classes for accuracy on "
        "unseen ones, along the curve. The row “best on test data” is what a perfect choice of the bias would give: "
        "no model may use it.</p>",
        html_table(*generalized_table(data)[1:]),
        line_chart(
            series,
            title="Accuracy on seen against accuracy on unseen classes",
            x_label="accuracy on unseen classes",
            y_label="accuracy on seen classes",
            marks=marks,
            percent=True,
        ),
    ]


def _classes(data: dict[str, Any]) -> list[str]:
    unseen = [row for row in data["classes"] if row["kind"] == "unseen"]
    left_out = len(unseen) - _MOST_BARS
    shown = unseen if left_out <= 0 else [*unseen[: _MOST_BARS // 2], *unseen[-_MOST_BARS // 2 :]]
    both = any(row["generalized"] is not None for row in unseen)
    note = f" The {_MOST_BARS // 2} best and worst of {len(unseen)} are drawn." if left_out > 0 else ""
    title, header, rows = class_table(data)
    return [
        "<h2>Classes</h2>",
        f"<p>The share of each unseen class that was recognised, in per cent.{note}</p>",
        bar_chart(
            [row["label"] for row in shown],
            [[row["standard"], row["generalized"]] if both else [row["standard"]] for row in shown],
            ["among unseen classes", "among all classes"] if both else ["among unseen classes"],
            title=title,
        ),
        f"<details><summary>Table of all {len(rows)} classes</summary>{html_table(header, rows)}</details>",
    ]


def _confusions(data: dict[str, Any]) -> list[str]:
    matrix = data["confusion_matrix"]
    parts = ["<h2>Confusions</h2>"]
    if len(matrix["labels"]) <= _MOST_IN_MATRIX:
        order = sorted(range(len(matrix["labels"])), key=lambda i: matrix["labels"][i])
        labels = [matrix["labels"][i] for i in order]
        counts = [[matrix["counts"][i][j] for j in order] for i in order]
        parts += [
            "<p>Rows are true classes, columns what they were taken for among the unseen classes; the darker, the "
            "larger the share of the row.</p>",
            heat_map(counts, labels, title="Confusion matrix of the unseen classes"),
        ]
    if data["confusions"]:
        parts.append(html_table(*confusion_table(data)[1:]))
    return parts


def _convergence(data: dict[str, Any]) -> list[str]:
    values = data["objective"]["values"]
    done = "It converged." if data["objective"]["converged"] else "It was stopped before it converged."
    return [
        "<h2>Convergence</h2>",
        f"<p>The objective after each of {len(values)} iterations. {done}</p>",
        line_chart(
            [Series("objective", [(i + 1, value) for i, value in enumerate(values)])],
            title="Objective after each iteration",
            x_label="iteration",
            y_label="objective",
        ),
    ]


def _details(data: dict[str, Any]) -> list[str]:
    parameters = [[name, str(value)] for name, value in data["model"]["parameters"].items()]
    timings = [[name.replace("_", " "), f"{seconds:.3f}"] for name, seconds in data["timings"].items()]
    about = {"data": data["dataset"]["source"], **data["versions"]}
    return [
        "<h2>How it was made</h2>",
        html_table(["", ""], [[name, str(value)] for name, value in about.items()]),
        "<details><summary>Parameters of the model</summary>"
        f"{html_table(['parameter', 'value'], parameters)}</details>",
        f"<details><summary>Seconds per stage</summary>{html_table(['stage', 'seconds'], timings)}</details>",
        "<details><summary>All figures as JSON</summary>"
        f"<pre>{escape(json.dumps({'results': _without_curves(data)}, indent=1, ensure_ascii=False))}</pre></details>",
    ]


def _without_curves(data: dict[str, Any]) -> list[dict[str, Any]]:
    out = []
    for result in data["results"]:
        copy = dict(result)
        if "generalized" in copy:
            copy["generalized"] = {name: value for name, value in copy["generalized"].items() if name != "curve"}
        out.append(copy)
    return out
