"""The figures that the paper publishes, as data, so that one's own can be read beside them.

Source: Q. Tang, A. Panahi, H. Krim, "Joint Concept Matching based Learning for Zero-Shot Recognition": Tables 2 to 5
(standard recognition, generalized recognition, ablations, settings). Accuracies are in per cent; features are GoogLeNet
(G), VGG19 (V) or ResNet101 (R). ImNet: hit@5. They are stored in published.json as they are printed, the settings with
the model itself; remarks beside them are ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jcmspl.methods.jcmspl import PAPER_ITERATIONS, PAPER_WEIGHTS, WEIGHTS

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SOURCE: str = _TABLES["source"]
#: The data sets of the paper (Table 1): images, kind and dimension of the class vectors, seen and unseen classes.
DATASETS: dict[str, dict[str, int | str]] = _TABLES["datasets"]
#: Table 2: accuracy on unseen classes, a row for each method and kind of features, with those data sets that it has. A
#: remark, which is ours, tells where a row is not what it seems.
STANDARD: list[dict[str, Any]] = _TABLES["standard"]
#: Table 3: accuracy on seen and on unseen classes among all, and their harmonic mean, by data set and method.
GENERALIZED: dict[str, dict[str, list[float]]] = _TABLES["generalized"]
#: Methods of the paper's tables of which nobody could tell which work is meant.
UNIDENTIFIED: dict[str, str] = _TABLES["unidentified"]
#: Table 4: accuracy of reduced forms of the model, by data set.
ABLATIONS: dict[str, dict[str, float]] = _TABLES["ablations"]
#: The weights λ1 to λ4 of the paper (Table 5), as parameters of JCMSPL.
SETTINGS = {data: dict(zip(WEIGHTS, weights, strict=True)) for data, weights in PAPER_WEIGHTS.items()}
#: The ranges over which the paper varies each weight, as far as its text tells: powers of ten, from and to.
RANGES = dict(zip(WEIGHTS, _TABLES["ranges"], strict=True))
#: The paper: converged after at most so many iterations.
ITERATIONS = PAPER_ITERATIONS


#: What must be known to read Table 2.
CAUTION = (
    "Rows of this table mix splits of the classes and features: most are of the standard split, some, it seems, of the "
    "proposed one. Only rows with the same split and features can be ranked."
)


def remark_on(seen: float, unseen: float, printed: float) -> str:
    """Return what the harmonic mean of two accuracies of Table 3 is, where the table has another one."""
    given = _harmonic_mean(seen, unseen)
    if round(given, 1) == printed:
        return ""
    most = _harmonic_mean(seen + 0.05, unseen + 0.05)  # both are rounded
    least = _harmonic_mean(seen - 0.05, unseen - 0.05)
    rounding = ", which rounding may explain" if round(least, 1) <= printed <= round(most, 1) else ""
    return f"{seen} and {unseen} give {given:.1f}{rounding}"


def _harmonic_mean(one: float, two: float) -> float:
    return 2 * one * two / (one + two)


def data_set_like(name: str, n_seen: int, n_unseen: int, n_attributes: int) -> str | None:
    """Return which of the paper's data sets this is, by its name or its numbers of classes and attributes."""
    counts = {"n_seen": n_seen, "n_unseen": n_unseen, "n_attributes": n_attributes}
    for known, about in DATASETS.items():
        if known.lower() == name.lower() or counts.items() <= about.items():
            return known
    return None
