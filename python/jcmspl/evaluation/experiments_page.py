"""The HTML page of the paper's experiments."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from jcmspl.evaluation import published
from jcmspl.evaluation.report import SPACE_NAMES, percent
from jcmspl.evaluation.report_page import document, html_table
from jcmspl.report.svg import Mark, Series, bar_chart, line_chart

if TYPE_CHECKING:
    from jcmspl.evaluation.experiments import Experiments

_SYMBOLS = {
    "semantic_match": "λ1",
    "class_match": "λ2",
    "visual_reconstruction": "λ3",
    "semantic_reconstruction": "λ4",
}


def page(experiments: Experiments) -> str:
    """Return the page."""
    about = experiments.dataset
    counts = about["samples"]
    paper = about["paper"]
    context = (
        f"Published figures for {paper} stand beside one's own. They are of other features (GoogLeNet, VGG19 or "
        "ResNet101), so that only the order of methods can be compared, not the level."
        if paper
        else "It is none of the data sets of the paper, so that there are no published figures to compare with."
    )
    parts = [
        f"<h1>The experiments of the JCMSPL paper on {escape(about['name'])}</h1>",
        f'<p class="lead">{counts["trainval"]:,} training samples of {about["n_seen"]} classes, '
        f"{counts['test_unseen']:,} test samples of {about['n_unseen']} unseen classes and {counts['test_seen']:,} of "
        f"seen ones; {about['n_features']:,} features, {about['n_attributes']} attributes.</p>",
        f"<p>{escape(context)}</p>",
        *_standard(experiments),
        *_generalized(experiments),
        *_ablations(experiments),
        *_sensitivity(experiments),
        *_convergence(experiments),
        "<h2>How it was made</h2>",
        html_table(["", ""], [["data", about["source"]], *([k, v] for k, v in experiments.versions.items())]),
        f"<p>Published figures: {escape(published.SOURCE)}.</p>",
    ]
    return document(f"JCMSPL on {about['name']}", "\n".join(parts))


def _weights(row: dict[str, Any]) -> str:
    return ", ".join(f"{symbol} {row[name]:g}" for name, symbol in _SYMBOLS.items())


def _standard(experiments: Experiments) -> list[str]:
    header = ["setting", "space", "weights", "per class", "per sample", "hit@5 per sample"]
    rows = [
        [
            row["setting"],
            SPACE_NAMES[row["space"]],
            _weights(row),
            percent(row["per_class"]),
            percent(row["per_sample"]),
            percent(row["hit5"]),
        ]
        for row in experiments.standard
    ]
    if not any(row[-1] for row in rows):  # less than five unseen classes
        header, rows = header[:-1], [row[:-1] for row in rows]
    tuned = experiments.tuned
    parts = [
        "<h2>Standard recognition</h2>",
        f"<p>Unseen samples among unseen classes. “Tuned” weights were chosen by cross-validation over training "
        f"classes ({percent(tuned['cv_score'])} ± {100 * tuned['cv_error']:.1f} on held-out ones).</p>",
        html_table(header, rows),
    ]
    paper = experiments.dataset["paper"]
    if paper:
        known = [row for row in published.STANDARD if getattr(row, paper) is not None]
        known.sort(key=lambda row: -getattr(row, paper))
        shown = [[row.method, row.features, f"{getattr(row, paper):.1f} %"] for row in known]
        what = "hit@5" if paper == "ImNet" else "accuracy"
        parts.append(f"<h3>Published (Table 2 of the paper): {what} on {paper}</h3>")
        parts.append(html_table(["method", "features", what], shown))
    return parts


def _generalized(experiments: Experiments) -> list[str]:
    header = ["setting", "space", "bias on seen", "seen", "unseen", "harmonic mean", "AUSUC"]
    rows = [
        [
            row["setting"],
            SPACE_NAMES[row["space"]],
            f"{row['seen_bias']:.3g}",
            percent(row["acc_seen"]),
            percent(row["acc_unseen"]),
            percent(row["harmonic_mean"]),
            f"{row['ausuc']:.3f}",
        ]
        for row in experiments.generalized
    ]
    parts = [
        "<h2>Generalized recognition</h2>",
        "<p>Seen and unseen samples among all classes, per class. Calibrated: a bias, chosen on training classes, is "
        "taken off the scores of seen classes.</p>",
        html_table(header, rows),
    ]
    known = published.GENERALIZED.get(experiments.dataset["paper"] or "")
    if known:
        shown = [[r.method, f"{r.acc_seen} %", f"{r.acc_unseen} %", f"{r.harmonic_mean} %"] for r in known]
        parts.append("<h3>Published (Table 3 of the paper)</h3>")
        parts.append(html_table(["method", "seen", "unseen", "harmonic mean"], shown))
    return parts


def _ablations(experiments: Experiments) -> list[str]:
    paper = experiments.dataset["paper"]
    known = {row.method: getattr(row, paper) / 100 for row in published.ABLATIONS} if paper in ("AwA", "CUB") else {}
    rows = experiments.ablations
    names = ["here", "published (other features)"] if known else ["here"]
    return [
        "<h2>Ablations</h2>",
        "<p>Reduced forms of the model, each tuned alike: FPL is least squares without a concept space, IPL has "
        "neither codes nor reconstruction, JCMSPL0 no reconstruction, JCMSPL1 no codes. Per-class accuracy on unseen "
        "classes, in the space that was best on held-out training classes.</p>",
        bar_chart(
            [row["method"] for row in rows],
            [[row["per_class"], known[row["method"]]] if known else [row["per_class"]] for row in rows],
            names,
            title="Accuracy of reduced forms of the model",
        ),
        html_table(
            ["method", "space", "held-out classes", "unseen classes"],
            [
                [r["method"], SPACE_NAMES.get(r["space"], r["space"]), percent(r["cv_score"]), percent(r["per_class"])]
                for r in rows
            ],
        ),
    ]


def _sensitivity(experiments: Experiments) -> list[str]:
    parts = [
        "<h2>Sensitivity to each weight</h2>",
        "<p>Per-class accuracy on unseen classes as one weight varies over the range of the paper and the others stay "
        "as tuned.</p>",
    ]
    for name, curve in experiments.sensitivity.items():
        series = [
            Series(
                SPACE_NAMES[space],
                [(v, s) for v, s in zip(curve["values"], shares, strict=True) if s is not None],
            )
            for space, shares in curve["accuracies"].items()
        ]
        failed = sum(share is None for share in next(iter(curve["accuracies"].values())))
        parts.append(f"<h3>{_SYMBOLS[name]} ({name})</h3>")
        if failed:
            parts.append(f"<p>{failed} of the fits diverged and are left out.</p>")
        parts.append(
            line_chart(
                series,
                title=f"Accuracy against {name}",
                x_label=f"{_SYMBOLS[name]} (tuned: {curve['chosen']:g})",
                y_label="per-class accuracy",
                x_log=True,
                percent=True,
            )
        )
    return parts


def _convergence(experiments: Experiments) -> list[str]:
    parts = [
        "<h2>Convergence</h2>",
        f"<p>The objective after each iteration from a random start. The paper reports {published.ITERATIONS} "
        "iterations for all of its data sets; settled: no later iteration lowers it by more than 0.1 %.</p>",
    ]
    for run in experiments.convergence:
        points = [(float(i + 1), value) for i, value in enumerate(run["objective"])]
        settled = run["settled"]
        mark = Mark("has not settled", *points[-1])
        if settled is not None:
            mark = Mark(f"settles at {settled}", *points[settled - 1])
        parts.append(f"<h3>{escape(run['setting'])}</h3>")
        parts.append(
            line_chart(
                [Series("objective", points)],
                title=f"Objective after each iteration, {run['setting']}",
                x_label="iteration",
                y_label="objective",
                marks=[mark],
            )
        )
    return parts
