"""Prints what two sources of class vectors gain over one, in Markdown: attributes and sentences of clip_sun's scenes.

Half of the classes are unseen, drawn as by accuracy.py. ``held out`` is the accuracy on training classes that are held
out, by which JCMSPLCV() chooses the shares of the sources, and by which a user may choose among the rows.
"""

import argparse

import numpy as np

from accuracy import DATA, SEEDS
from jcmspl import JCMSPL, JCMSPLCV
from jcmspl.datasets import load_dataset
from jcmspl.metrics import accuracy

SOURCES = {"attributes": "S", "sentences": "S_text", "joined": ("S", "S_text")}
SHARES = [(1, 1), (3, 1), (1, 3)]
COLUMNS = ("JCMSPL()", "JCMSPLCV()", "held out")


def tables():
    """Return the data set, and the class vectors of each row."""
    sets = {name: load_dataset(DATA / "clip_sun.npz", class_vectors=arrays) for name, arrays in SOURCES.items()}
    return sets["joined"], {name: data.classes for name, data in sets.items()}


def measure(data, classes, unseen, *, tuned):
    """Return the accuracy on unseen classes and, of a search, that on held-out training classes, in per cent."""
    model = JCMSPL(progress=False)
    if tuned:
        model = JCMSPLCV(source_shares=SHARES if classes.sources else None, progress=False)
    X, y = data.part("train")
    rows = ~np.isin(y, unseen)
    model.fit(X[rows], y[rows], class_vectors=classes)
    X, y = data.part("test_seen")
    rows = np.isin(y, unseen)
    found = 100 * accuracy(y[rows], model.predict(X[rows], candidates=unseen))
    return (found, 100 * model.best_score_, model.best_params_["source_shares"]) if tuned else (found,)


def main(arguments=None):
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    data, classes = tables()
    labels = data.classes.labels
    splits = [labels[np.random.default_rng(seed).permutation(len(labels))[: len(labels) // 2]] for seed in SEEDS]
    print("| class vectors | " + " | ".join(f"{name}, seed {seed}" for seed in SEEDS for name in COLUMNS) + " |")
    print("|---" * (1 + len(SEEDS) * len(COLUMNS)) + "|")
    for name, table in classes.items():
        cells = []
        for unseen in splits:
            (untuned,), (tuned, held_out, shares) = (measure(data, table, unseen, tuned=one) for one in (False, True))
            chosen = "" if shares is None else f" ({shares[0]}:{shares[1]})"
            cells += [f"{untuned:.1f}", f"{tuned:.1f}{chosen}", f"{held_out:.1f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
