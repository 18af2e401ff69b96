"""The plots of the paper's experiments as files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.evaluation import published
from jcmspl.report.charts import AblationDisplay, ConvergenceDisplay, SensitivityDisplay

if TYPE_CHECKING:
    from jcmspl.evaluation.experiments import Experiments


def drawn(experiments: Experiments) -> dict[str, bytes]:
    """Return PNG and SVG files by name."""
    files: dict[str, bytes] = {}
    for name, figure in _figures(experiments).items():
        for suffix in ("png", "svg"):
            buffer = io.BytesIO()
            # no date: the same results give the same file
            figure.savefig(buffer, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
            files[f"{name}.{suffix}"] = buffer.getvalue()
    return files


def _figures(experiments: Experiments) -> dict[str, Any]:
    figures = {f"sensitivity-{name}": _sensitivity(name, curve) for name, curve in experiments.sensitivity.items()}
    figures["ablation"] = _ablation(experiments)
    for run in experiments.convergence:
        name = "convergence-" + run["setting"].replace("'s ", "-").replace(" ", "-")
        figures[name] = _convergence(run, experiments.dataset["name"])
    return figures


def _new_axes() -> Any:
    # not pyplot: its figures stay in memory until they are closed, and it may want a screen
    from matplotlib.figure import Figure

    return Figure(figsize=(6, 4), layout="constrained").subplots()


def _sensitivity(name: str, curve: dict[str, Any]) -> Any:
    accuracies = {
        space: [np.nan if share is None else share for share in shares] for space, shares in curve["accuracies"].items()
    }
    return SensitivityDisplay(name, curve["values"], accuracies, curve["chosen"]).plot(_new_axes()).figure_


def _ablation(experiments: Experiments) -> Any:
    paper = experiments.dataset["paper"]
    shown = {row.method: getattr(row, paper) / 100 for row in published.ABLATIONS} if paper in ("AwA", "CUB") else {}
    methods = [row["method"] for row in experiments.ablations]
    display = AblationDisplay(
        methods,
        [row["per_class"] for row in experiments.ablations],
        [shown.get(method) for method in methods] if shown else None,
    )
    return display.plot(_new_axes()).figure_


def _convergence(run: dict[str, Any], name: str) -> Any:
    display = ConvergenceDisplay(run["objective"]).plot(_new_axes())
    told = "has not settled yet"
    if run["settled"] is not None:
        display.ax_.axvline(run["settled"], color="0.6", linestyle=":")
        told = f"settles at iteration {run['settled']}"
    display.ax_.set_title(f"{name}, {run['setting']}: {told}")
    return display.figure_
