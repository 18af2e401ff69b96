"""Prints how well new classes are recognised with a few labelled samples of each, and by those samples alone.

A model is fitted to all samples of the seen classes. Some samples of each unseen class are drawn and given to
`add_classes`; the others are recognised among the unseen classes: mean per-class accuracy, mean over draws.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from jcmspl import JCMSPL
from jcmspl.datasets import load_dataset
from jcmspl.metrics import few_shot_accuracies

DATA = Path(os.environ.get("JCMSPL_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = ("cub", "clinc150", "esc50")
SHOTS = (0, 1, 2, 5, 10)
PARAMETERS = {
    "feature_normalisation": "auto_power+sample_l2+center+whiten",
    "class_normalisation": "sample_l2+center_unit",
    "semantic_match": 1,
    "class_match": 100,
    "visual_reconstruction": 10,
    "semantic_reconstruction": 1,
    "space": "visual",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; default: all")
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", ".*have the same class vector")  # two intents of clinc150 do
    print("| shots of each class | " + " | ".join(map(str, SHOTS)) + " |")
    print("|---" * (1 + len(SHOTS)) + "|")
    for name in arguments.sets or SETS:
        X, y, vectors, is_new = read(name)
        model = JCMSPL(**PARAMETERS, progress=False).fit(X[~is_new], y[~is_new], class_vectors=vectors)
        found = few_shot_accuracies(model, X[is_new], y[is_new], shots=SHOTS, n_draws=arguments.draws)
        for row, values in zip(("with the prediction", "samples alone"), found.values(), strict=True):
            cells = ["" if np.isnan(value) else f"{100 * value:.1f}" for value in values.mean(axis=0)]
            print(f"| {name}, {row} | " + " | ".join(cells) + " |", flush=True)


def read(name):
    """Return samples, labels, class vectors, and which samples are of unseen classes."""
    if name == "cub":
        cub = load_dataset(DATA / "cub")
        rows = np.sort(np.concatenate([cub.rows(part) for part in ("trainval", "test_seen", "test_unseen")]))
        y = np.asarray(cub.y)[rows]
        return np.asarray(cub.X)[rows], y, cub.classes, np.isin(y, list(cub.unseen))
    with np.load(DATA / f"{name}.npz") as file:
        X, y, vectors, unseen = (file[key] for key in ("X", "y", "S", "unseen"))
    return X, y, vectors, np.isin(y, unseen)


if __name__ == "__main__":
    main()
