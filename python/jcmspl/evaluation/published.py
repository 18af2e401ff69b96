"""The figures that the paper publishes, as data, so that one's own can be read beside them.

Source: Q. Tang, A. Panahi, H. Krim, "Joint Concept Matching based Learning for Zero-Shot Recognition": Tables 2 to 5
(standard recognition, generalized recognition, ablations, settings). Accuracies are in per cent; features are GoogLeNet
(G), VGG19 (V) or ResNet101 (R). ImNet: hit@5. A missing figure is None.
"""

from __future__ import annotations

from typing import NamedTuple

from jcmspl.models.jcmspl import WEIGHTS

SOURCE = "Tang, Panahi, Krim: Joint Concept Matching based Learning for Zero-Shot Recognition"

#: The data sets of the paper (Table 1): images, kind and dimension of the class vectors, seen and unseen classes.
DATASETS = {
    "AwA": {"images": 30475, "semantics": "attributes", "n_attributes": 85, "n_seen": 40, "n_unseen": 10},
    "CUB": {"images": 11788, "semantics": "attributes", "n_attributes": 312, "n_seen": 150, "n_unseen": 50},
    "SUN": {"images": 14340, "semantics": "attributes", "n_attributes": 64, "n_seen": 645, "n_unseen": 72},
    "ImNet": {"images": 218000, "semantics": "word vectors", "n_attributes": 1000, "n_seen": 1000, "n_unseen": 360},
}

#: The weights λ1 to λ4 of the paper (Table 5), as parameters of JCMSPL.
SETTINGS = {
    "AwA": dict(zip(WEIGHTS, (1e-3, 1e3, 1e7, 1e2), strict=True)),
    "CUB": dict(zip(WEIGHTS, (1.0, 1e-3, 1e4, 1e-1), strict=True)),
    "SUN": dict(zip(WEIGHTS, (1e-4, 1e-2, 1e-4, 1e-4), strict=True)),
    "ImNet": dict(zip(WEIGHTS, (1e-5, 1e-5, 1e1, 1e-4), strict=True)),
}


class Standard(NamedTuple):
    """A row of Table 2: accuracy on unseen classes."""

    method: str
    features: str
    AwA: float | None = None
    CUB: float | None = None
    SUN: float | None = None
    ImNet: float | None = None


#: Table 2.
STANDARD = (
    Standard("RPL", "G", 80.4, 52.4),
    Standard("SSE", "V", 76.3, 30.4),
    Standard("SJE", "G", 73.9, 51.7, 56.1),
    Standard("JLSE", "V", 80.5, 42.1),
    Standard("SynC", "G", 72.9, 54.7, 62.7),
    Standard("SAE", "G", 84.7, 61.4, 65.2, 27.2),
    Standard("LAD", "V", 82.5, 56.6),
    Standard("SCoRe", "V", 73.9, 51.7),
    Standard("LESD", "V/G", 82.8, 56.2),
    Standard("CVA", "V/R", 71.4, 52.1, 61.7, 24.7),
    Standard("f-CLSWGAN", "R", 69.9, 61.5, 64.5),
    Standard("VSZL", "V", 85.3, 57.4, None, 23.1),
    Standard("LESAE", "R", 66.1, 53.9, 60.0),
    Standard("LESAE", "G", ImNet=27.6),
    Standard("AAW", "V", 83.3, 38.4),
    Standard("LSD", "V", 82.7, 58.5),
    Standard("BZSL", "V/G", 80.5, 56.3),
    Standard("DeViSE", "G", ImNet=12.8),
    Standard("ConSE", "G", ImNet=15.5),
    Standard("AMP", "G", ImNet=13.1),
    Standard("SS-Voc", "G", ImNet=16.8),
    Standard("JCMSPL (V→S)", "G", 77.5, 60.0, 66.3, 26.0),
    Standard("JCMSPL (S→V)", "G", 86.2, 62.6, 54.1, 27.5),
)

#: Table 3: accuracy on seen and on unseen classes among all, and their harmonic mean, by method; on AwA and on CUB.
_TABLE_3 = {
    "DAP": ((77.9, 2.4, 4.7), (55.1, 4.0, 7.5)),
    "IAP": ((76.8, 1.7, 3.3), (69.4, 1.0, 2.0)),
    "ConSE": ((75.9, 9.5, 16.9), (69.9, 1.8, 2.5)),
    "APD": ((43.2, 61.7, 50.8), (23.4, 39.9, 29.5)),
    "GAN": ((81.3, 32.3, 46.2), (72.0, 26.9, 39.2)),
    "SAE": ((67.6, 43.3, 52.8), (36.1, 28.0, 31.5)),
    "JCMSPL": ((48.3, 56.4, 52.1), (54.2, 50.7, 52.4)),
}
GENERALIZED = {
    data: {method: figures[i] for method, figures in _TABLE_3.items()} for i, data in enumerate(("AwA", "CUB"))
}

#: Table 4: accuracy of reduced forms of the model.
ABLATIONS = {
    "AwA": {"FPL": 72.7, "IPL": 77.1, "JCMSPL0": 82.4, "JCMSPL1": 84.7, "JCMSPL": 86.2},
    "CUB": {"FPL": 40.2, "IPL": 46.5, "JCMSPL0": 60.3, "JCMSPL1": 61.6, "JCMSPL": 62.6},
}

#: The ranges over which the paper varies each weight, as far as its text tells: powers of ten, from and to.
RANGES = dict(zip(WEIGHTS, ((-5, 1), (-5, 6), (-5, 8), (-5, 3)), strict=True))

#: The paper: converged after at most so many iterations.
ITERATIONS = 35


def data_set_like(name: str, n_seen: int, n_unseen: int, n_attributes: int) -> str | None:
    """Return which of the paper's data sets this is, by its name or its numbers of classes and attributes."""
    counts = {"n_seen": n_seen, "n_unseen": n_unseen, "n_attributes": n_attributes}
    for known, about in DATASETS.items():
        if known.lower() == name.lower() or counts.items() <= about.items():
            return known
    return None
