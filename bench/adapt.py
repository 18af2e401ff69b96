"""Prints how well `adapt` does in situations of all kinds, beside published transductive methods, in Markdown.

Six data sets, each with two splits of its classes. A model is fitted to samples of the seen classes. Samples of the
unseen ones are drawn as each situation says, and named among the candidates by every method, from the same first
scores: mean per-class accuracy over the classes that occur. The last row is the worst single task, against no
adaptation.
"""

import argparse
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from jcmspl import JCMSPL, ClassTable
from jcmspl.datasets import load_dataset
from transductive import RIVALS, Task, unit

DATA = Path(os.environ.get("JCMSPL_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = ("cub", "clinc150", "esc50", "clip_cars", "clip_sun", "clip_dtd")
SPLITS = ("own", "drawn")
STRANGER = -1


@dataclass(frozen=True, eq=False)
class Run:
    """A model of the seen classes, and samples of the unseen ones; labels are rows of the class vectors."""

    name: str
    model: JCMSPL
    X: np.ndarray
    y: np.ndarray
    vectors: np.ndarray
    unseen: np.ndarray


@dataclass(frozen=True, eq=False)
class Situation:
    """Samples and candidates: the labels of samples are rows of the candidates' vectors, or STRANGER."""

    X: np.ndarray
    y: np.ndarray
    vectors: np.ndarray


def read(name):
    """Return samples, labels, class vectors, unseen classes, and which samples to train on and to test on."""
    if name == "cub":
        cub = load_dataset(DATA / "cub")
        number = {label: i for i, label in enumerate(cub.classes.labels)}
        y = np.array([number[label] for label in cub.y])
        unseen = np.sort([number[label] for label in cub.unseen])
        return np.asarray(cub.X), y, cub.classes.vectors, unseen, *np.ones((2, len(y)), bool)
    with np.load(DATA / f"{name}.npz") as file:
        X, y, vectors = file["X"].astype(np.float32), file["y"].astype(int), file["S"].astype(np.float64)
        if "unseen" in file:
            return X, y, vectors, np.sort(file["unseen"].astype(int)), *np.ones((2, len(y)), bool)
        part = file["part"]
    # half of the classes are unseen: of the cars the second, as papers on prompts have it, else drawn ones
    half = len(vectors) // 2
    own = np.random.default_rng(0).permutation(len(vectors))[:half]
    unseen = np.arange(half, len(vectors)) if name == "clip_cars" else np.sort(own)
    return X, y, vectors, unseen, part == part.min(), part != part.min()


def runs(sets, splits):
    for name in sets:
        X, y, vectors, own, train, test = read(name)
        drawn = np.sort(np.random.default_rng(1).permutation(np.unique(y))[: len(own)])
        for split, unseen in zip(SPLITS, (own, drawn), strict=True):
            if split in splits:
                is_new = np.isin(y, unseen)
                seen, new = train & ~is_new, test & is_new
                model = JCMSPL(progress=False).fit(X[seen], y[seen], class_vectors=vectors)
                yield Run(f"{name} {split}", model, X[new], y[new], vectors, unseen)


# Situations. Each draws rows of some samples by their labels, 0 .. C-1, of which those of a class are shuffled.
def all_classes(members, rng):
    return members


def long_tail(members, rng):
    """Class sizes fall by factors to a twentieth, in random order."""
    ranks = rng.permutation(len(members)) / (len(members) - 1)
    return [rows[: max(1, int(len(rows) * 0.05**rank))] for rows, rank in zip(members, ranks, strict=True)]


def dirichlet(members, rng, concentration):
    """Class sizes are in proportion to a draw from a Dirichlet distribution, as far as there are samples."""
    shares = rng.dirichlet(np.full(len(members), concentration))
    largest = max(map(len, members)) / shares.max()
    return [rows[: round(largest * share)] for rows, share in zip(members, shares, strict=True)]


def present(members, rng, count=None, share=None):
    """Only some of the candidates occur."""
    count = max(2, int(len(members) * share)) if count is None else count
    chosen = rng.choice(len(members), count, replace=False)
    return [rows if c in chosen else rows[:0] for c, rows in enumerate(members)]


def few(members, rng, count):
    return [rows[:count] for rows in members]


SAMPLES = {
    "all classes, even": all_classes,
    "long tail 20:1": long_tail,
    "Dirichlet 0.5": partial(dirichlet, concentration=0.5),
    "Dirichlet 0.1": partial(dirichlet, concentration=0.1),
    "3 classes present": partial(present, count=3),
    "a fifth present": partial(present, share=0.2),
    "half present": partial(present, share=0.5),
    "1 sample per class": partial(few, count=1),
    "2 samples per class": partial(few, count=2),
    "5 samples per class": partial(few, count=5),
    "a fifth strangers": all_classes,
    "a fifth of the vectors exchanged": all_classes,
}


def drawn(run, kind, seed):
    """Return the situation of a kind that a seed draws."""
    rng = np.random.default_rng(seed)
    C = len(run.unseen)
    labels = np.searchsorted(run.unseen, run.y)
    members = [rng.permutation(np.flatnonzero(labels == c)) for c in range(C)]
    rows = np.sort(np.concatenate(SAMPLES[kind](members, rng)))
    y, vectors = labels[rows], run.vectors[run.unseen]
    some = rng.choice(C, max(2, C // 5), replace=False)
    if kind == "a fifth strangers":
        kept = np.setdiff1d(np.arange(C), some)
        number = np.full(C, STRANGER)
        number[kept] = np.arange(len(kept))
        y, vectors = number[y], vectors[kept]
    if kind == "a fifth of the vectors exchanged":
        vectors = vectors.copy()
        vectors[some] = vectors[np.roll(some, 1)]
    return Situation(run.X[rows], y, vectors)


def table_of(situation):
    """Return the candidates under names that the model does not know."""
    return ClassTable([f"class {i}" for i in range(len(situation.vectors))], situation.vectors)


def named_by_us(model, situation, **options):
    """Return the numbers of the names after adapt, and whether it was trusted."""
    table = table_of(situation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model.adapt(situation.X, class_vectors=table, **options)
    trusted = model.adapted_.is_trusted
    scores = model.decision_function(situation.X, class_vectors=table)
    model.reset_adaptation()
    return scores.argmax(axis=1), trusted


def true_shares(situation):
    """Return the share of each candidate, or None where some do not occur, or strangers do."""
    counts = np.bincount(np.maximum(situation.y, 0), minlength=len(situation.vectors))
    return counts if counts.all() and (situation.y != STRANGER).all() else None


def task_of(model, situation):
    """Return the arguments that all rivals get."""
    Z = model.feature_normalisation_.of_rows(situation.X.astype(np.float64))
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    layer = model._visual_scorer(table_of(situation))
    scores = (Z @ layer.weights.T + layer.offsets) / lengths
    return Task((Z / lengths).astype(np.float32), unit(layer.weights), scores)


def per_class(named, y):
    return 100 * float(np.mean([(named[y == c] == c).mean() for c in np.unique(y[y != STRANGER])]))


def measure(run, kind, seed):
    """Return the accuracy of each method, and whether adapt was trusted."""
    situation = drawn(run, kind, seed)
    task = task_of(run.model, situation)
    found = {name: per_class(rival(task).argmax(axis=1), situation.y) for name, rival in RIVALS.items()}
    named, trusted = named_by_us(run.model, situation)
    found["adapt"] = per_class(named, situation.y)
    if not trusted:
        named, _ = named_by_us(run.model, situation, check=False)
    found["unchecked"] = per_class(named, situation.y)
    shares = true_shares(situation)
    if shares is not None:
        named, _ = named_by_us(run.model, situation, class_shares=shares)
        found["shares told"] = per_class(named, situation.y)
    return found | {"trusted": trusted}


METHODS = (*RIVALS, "adapt", "unchecked", "shares told")


def print_table(results):
    print("| situation | tasks | " + " | ".join(METHODS) + " | not trusted |")
    print("|---" * (3 + len(METHODS)) + "|")
    for kind in SAMPLES:
        found = [one for key, one in results.items() if key.split(": ")[1] == kind]
        if found:
            cells = [mean_cell([one.get(name) for one in found]) for name in METHODS]
            fallen = sum(not one["trusted"] for one in found)
            print(f"| {kind} | {len(found)} | " + " | ".join(cells) + f" | {fallen} |")
    worst = [[one[name] - one["none"] for one in results.values() if name in one] for name in METHODS]
    print(f"| worst task | {len(results)} | " + " | ".join(f"{min(own, default=0):+.0f}" for own in worst) + " | |")


def mean_cell(values):
    """Return a mean, where every task has a value."""
    return "" if None in values else f"{np.mean(values):.1f}"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="may be repeated; default: all")
    parser.add_argument("--draws", type=int, default=2, help="of each situation, where it is one of chance; default 2")
    parser.add_argument("--quick", action="store_true", help="the first split of each set, and one draw")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep figures here; those that it has are not redone")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    warnings.filterwarnings("ignore", ".*the same class vector")  # two intents of clinc150 have
    splits, draws = (SPLITS[:1], 1) if options.quick else (SPLITS, options.draws)
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for run in runs(options.sets or SETS, splits):
        for kind in SAMPLES:
            for seed in range(1 if kind == "all classes, even" else draws):
                key, started = f"{run.name} {seed}: {kind}", time.perf_counter()
                if key not in results:
                    results[key] = measure(run, kind, seed)
                    print(f"{key}, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    print_table(results)


if __name__ == "__main__":
    main()
