"""Prints how well settings of a network recognise held-out training classes, by which defaults are chosen.

The classes to train on of cub, clinc150 and esc50 are split into thirds; each third plays unseen classes once (on
esc50, which has few classes, of two such splits). The unseen classes of the sets, and their test samples, are not read.
A setting is like "learning_rate=1e-3, max_iter=40"; by default the defaults and a few beside them.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from accuracy import OWN_SETS
from jcmspl import ClassKFold
from jcmspl.methods import CADAVAE, CLSWGAN, FVAEGAN, GMMN, VZSL
from methods import dataset_of
from networks import per_class

METHODS = {method.__name__: method for method in (CADAVAE, CLSWGAN, FVAEGAN, GMMN, VZSL)}
REPEATS = {"cub": 1, "clinc150": 1, "esc50": 2}
SETTINGS = {
    "CADAVAE": (
        "",
        "alignment_weight=8.13",
        "alignment_weight=0.5, divergence_weight=0.1",
        "learning_rate=1e-3, max_iter=6",
        "max_iter=25",
    ),
    "CLSWGAN": ("max_iter=5", "max_iter=10"),
    "FVAEGAN": ("max_iter=5", "max_iter=10"),
    "GMMN": ("", "dropout=0.2", "learning_rate=5e-4", "max_iter=40"),
    "VZSL": ("", "margin=1", "decay=0", "variance_decay=0", "max_iter=20"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("settings", nargs="*", help="settings (default: a few)")
    parser.add_argument("--set", choices=OWN_SETS, action="append", help="some data sets (default: all)")
    parser.add_argument("--folds", type=int, help="so many folds of a set at most")
    parser.add_argument("--json", type=Path, help="keep figures in this file, and go on from what it has")
    arguments = parser.parse_args()
    places = arguments.set or OWN_SETS
    found = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    datasets = {place: dataset_of(place) for place in places}
    print(f"| {arguments.method} | {' | '.join(places)} | mean | CPU seconds |")
    print("|---" * (len(places) + 3) + "|")
    for setting in arguments.settings or SETTINGS[arguments.method]:
        figures = []
        for place in places:
            splits = list(ClassKFold(3, n_repeats=REPEATS[place]).split(None, datasets[place].part("trainval")[1]))
            for number, rows in enumerate(splits[: arguments.folds]):
                key = f"{arguments.method} {setting} {place} {number}"
                if key not in found:
                    found[key] = measured(METHODS[arguments.method], setting, datasets[place], *rows)
                    if arguments.json:
                        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
            keys = [f"{arguments.method} {setting} {place} {i}" for i in range(len(splits[: arguments.folds]))]
            figures.append(np.mean([found[key] for key in keys], axis=0))
        means = [f"{100 * mean:.1f}" for mean, _ in figures]
        mean, seconds = 100 * np.mean([mean for mean, _ in figures]), sum(seconds for _, seconds in figures)
        print(f"| {setting or 'default'} | {' | '.join(means)} | {mean:.1f} | {seconds:.0f} |", flush=True)


def measured(method, setting, dataset, train, test):
    """Return the accuracy on held-out classes among themselves, and CPU seconds of the fit."""
    X, y = (np.asarray(part) for part in dataset.part("trainval"))
    model = method(**{**eval(f"dict({setting})"), "progress": False})
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], y[train], class_vectors=dataset.classes)
        seconds = time.process_time() - started
        return per_class(model, X[test], y[test], candidates=sorted(set(y[test].tolist()))), seconds


if __name__ == "__main__":
    main()
