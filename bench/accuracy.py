"""Prints how well classes never seen are recognised: the tables of record of docs/tuning.md, in Markdown.

Six data sets, each with two choices of unseen classes: its own, where it has them, and others drawn at random. Models
learn from the training samples of the other classes, and choose their parameters on these alone; the test samples of
the unseen classes are recognised among them. Where the data does not part its samples, all are for both.

Then base to new on clip_cars, and recognition among all classes of cub.
"""

import argparse
import copy
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, evaluate
from jcmspl.datasets import load_dataset
from jcmspl.methods import ESZSL, RPL, SAE, RidgeVS, TextPrototypes
from jcmspl.model_selection.path import FEATURES, KERNELS, SHARES, SHRINKAGES, WIDTHS

DATA = Path(os.environ.get("JCMSPL_DATA", Path(__file__).parents[2] / "shared" / "data"))
OWN_SETS = ("cub", "clinc150", "esc50")  # with unseen classes of their own
SETS = ("cub", "clinc150", "esc50", "clip_cars", "clip_sun", "clip_dtd")
SETS_OF_A_TABLE = 3
SEEDS = (1, 2)  # of unseen classes that are drawn
PEERS = {"RPL": RPL, "SAE": SAE, "ESZSL": ESZSL, "RidgeVS": RidgeVS}
REFERENCE = "JCMSPLCV()"


@dataclass(frozen=True, eq=False)
class Run:
    """A data set whose classes are split into seen and unseen ones. Labels are rows of the class vectors.

    ``part`` has the part of each sample: the lowest is to train on, the highest to test with.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    part: np.ndarray
    vectors: np.ndarray
    unseen: np.ndarray

    @property
    def train(self):
        """Samples of seen classes and their labels."""
        rows = ~np.isin(self.y, self.unseen) & (self.part == self.part.min())
        return self.X[rows], self.y[rows]

    @property
    def test(self):
        """Samples of unseen classes and their labels."""
        rows = np.isin(self.y, self.unseen) & (self.part == self.part.max())
        return self.X[rows], self.y[rows]

    @property
    def is_alignable(self):
        """Whether samples and class vectors are of one length, here a sign that they come from one encoder."""
        return self.X.shape[1] == self.vectors.shape[1]

    def fit(self, model):
        """Return the model, fitted to the samples of seen classes."""
        return model.fit(*self.train, class_vectors=self.vectors)

    def accuracies(self, model):
        """Return the accuracy within each unseen class."""
        X, y = self.test
        right = model.predict(X, candidates=self.unseen) == y
        return [float(right[y == label].mean()) for label in self.unseen]


def runs(sets, seeds=SEEDS):
    """Give as many runs as seeds for each set: with its own unseen classes, where it has them, else with drawn ones."""
    for name in sets:
        X, y, part, vectors, own = read(name)
        splits = {} if own is None else {"own": own}
        n_unseen = len(vectors) // 2 if own is None else len(own)
        for seed in seeds[: len(seeds) - len(splits)]:
            drawn = np.random.default_rng(seed).permutation(np.unique(y))[:n_unseen]
            splits["drawn" if seed == SEEDS[0] else f"drawn {seed}"] = np.sort(drawn)
        for split, unseen in splits.items():
            yield Run(f"{name} {split}", X, y, part, vectors, unseen)


def read(name):
    """Return samples, labels, their parts, class vectors and the unseen classes; None: half of all is to be drawn."""
    if name == "cub":
        cub = load_dataset(DATA / "cub")
        number = {label: i for i, label in enumerate(cub.classes.labels)}
        y = np.array([number[label] for label in cub.y])
        unseen = np.sort([number[label] for label in cub.unseen])
        return np.asarray(cub.X), y, np.zeros(len(y)), cub.classes.vectors, unseen
    with np.load(DATA / f"{name}.npz") as file:
        X, y, vectors = file["X"].astype(np.float32), file["y"], file["S"].astype(np.float64)
        part = file["part"] if "part" in file else np.zeros(len(y))
        unseen = np.sort(file["unseen"]) if "unseen" in file else None
    if name == "clip_cars":
        unseen = np.arange(len(vectors) // 2, len(vectors))  # the field's: the first half is base
    return X, y, part, vectors, unseen


def read_own(name):
    """Return samples, labels, class vectors and unseen classes of a set that brings these."""
    X, y, _, vectors, unseen = read(name)
    return X, y, vectors, unseen


# Models, fitted to a run; None where one makes no sense. Several rows of the table may share a fit.
@lru_cache(maxsize=8)
def untuned(run):
    return run.fit(JCMSPL(progress=False))


@lru_cache(maxsize=8)
def tuned(run):
    return run.fit(JCMSPLCV(progress=False))


def untuned_without_cosine(run):
    return copy.copy(untuned(run)).set_params(cosine_share=0.0)


def tuned_without_cosine(run):
    return copy.copy(tuned(run).best_estimator_).set_params(cosine_share=0.0)


def text_prototypes(run):
    return run.fit(TextPrototypes(progress=False)) if run.is_alignable else None


def plain_peer(run, method):
    """Return a peer with its own normalisations and grid."""
    return run.fit(ClassSearchCV(method(), progress=False))


@lru_cache(maxsize=8)
def equal_peer(run, method):
    """Return a peer with the normalisations, kernels and folds of JCMSPLCV: normalisations first, then kernels."""
    features = [{"feature_normalisation": FEATURES[0], "whitening_shrinkage": SHRINKAGES}]
    features += [{"feature_normalisation": FEATURES[1:], "whitening_shrinkage": SHRINKAGES[0]}]
    best = best_of(run, method, {}, features)
    kernels = [{"class_kernel": KERNELS[1]}, {"class_kernel": KERNELS[2], "kernel_width": WIDTHS}]
    chosen = {name: best.best_params_[name] for name in ("feature_normalisation", "whitening_shrinkage")}
    return max(best, best_of(run, method, chosen, kernels), key=lambda search: search.best_score_)


def best_of(run, method, fixed, grids):
    """Return the search with the highest score; the first of equal ones."""
    fixed = {"class_normalisation": JCMSPL.class_normalisation} | fixed
    searches = [run.fit(ClassSearchCV(method(), method.GRID | fixed | grid, progress=False)) for grid in grids]
    return max(searches, key=lambda search: search.best_score_)


def equal_peer_with_cosine(run, method):
    """Return the same with the share of the plain cosine chosen, too, where there is one."""
    best = equal_peer(run, method=method)  # by name, as the row without cosine has it
    if not run.is_alignable or best.best_params_.get("space", "visual") != "visual":
        return best
    return run.fit(ClassSearchCV(method(), best.best_params_ | {"cosine_share": SHARES}, progress=False))


def adapted(run, fitted):
    return in_visual_space(fitted(run)).adapt(run.test[0], candidates=run.unseen)


def calibrated_and_adapted(run, fitted):
    model = in_visual_space(fitted(run)).calibrate(*run.train, adaptation=True)
    return model.adapt(run.test[0], candidates=run.unseen)


def in_visual_space(model):
    """Return a copy that can be adapted."""
    return copy.copy(getattr(model, "best_estimator_", model)).set_params(space="visual")


METHODS = {
    "JCMSPL()": untuned,
    "JCMSPL(cosine_share=0)": untuned_without_cosine,
    "TextPrototypes()": text_prototypes,
    REFERENCE: tuned,
    "JCMSPLCV(cosine_share=0)": tuned_without_cosine,
    **{f"{name}, plain": partial(plain_peer, method=method) for name, method in PEERS.items()},
    **{f"{name}, equal": partial(equal_peer, method=method) for name, method in PEERS.items()},
    **{f"{name}, equal, aligned": partial(equal_peer_with_cosine, method=PEERS[name]) for name in ("RPL", "SAE")},
    # transductive: all test samples are at hand, without their labels
    "JCMSPL(), adapted": partial(adapted, fitted=untuned),
    "JCMSPL(), calibrated, adapted": partial(calibrated_and_adapted, fitted=untuned),
    "JCMSPLCV(), adapted": partial(adapted, fitted=tuned),
    "JCMSPLCV(), calibrated, adapted": partial(calibrated_and_adapted, fitted=tuned),
}
GENERALIZED = {
    "JCMSPL.paper()": lambda: JCMSPL.paper("CUB", random_state=0, progress=False),
    "JCMSPL(seen_mean_share=0)": lambda: JCMSPL(seen_mean_share=0, progress=False),
    "JCMSPL()": lambda: JCMSPL(progress=False),
    "JCMSPLCV()": lambda: JCMSPLCV(progress=False),
}
BASE_TO_NEW = {
    "JCMSPL()": lambda: JCMSPL(progress=False),
    "JCMSPLCV()": lambda: JCMSPLCV(progress=False),
}
HALVES = {"the field's": ("first", 0), **{f"random, seed {seed}": ("random", seed) for seed in (1, 2, 3)}}


def measure(run, name):
    """Return the figures of one cell of the table."""
    started = time.perf_counter()
    model = METHODS[name](run)
    if model is None:
        return {"accuracies": None}
    seconds = time.perf_counter() - started
    chosen = {key: value for key, value in getattr(model, "best_params_", {}).items() if value is not None}
    return {"accuracies": run.accuracies(model), "seconds": seconds, "chosen": chosen}


def measure_generalized(cub, name):
    """Return figures among all classes, of the model and of the same adapted to all test samples."""
    X, y = cub.part("trainval")
    model = GENERALIZED[name]().fit(X, y, class_vectors=cub.classes).calibrate(X, y)
    space = getattr(model, "best_estimator_", model).own_space
    report = evaluate(model, cub, spaces=[space], adapt=space == "visual", progress=False)
    found = {}
    for result in report.results:
        figures = result.generalized
        found[name + (", adapted" if result.transductive else "")] = {
            "seen": figures.acc_seen,
            "unseen": figures.acc_unseen,
            "H": figures.harmonic_mean,
            "AUSUC": figures.ausuc,
        }
    return found


def measure_base_to_new(base, seed, name):
    """Return figures of a model, and of the plain cosine, with half of the classes of clip_cars as base."""
    cars = load_dataset(DATA / "clip_cars.npz")
    found = evaluate(BASE_TO_NEW[name](), cars, protocol="base-to-new", base=base, random_state=seed, progress=False)
    rows = {"plain cosine": found.row(0), name: found.row()}
    return {method: {"base": row.base, "new": row.new, "H": row.harmonic_mean} for method, row in rows.items()}


class Results:
    """Figures by run and method, kept in a file, if there is one, so that a measurement can be resumed."""

    def __init__(self, path):
        self._path = path
        self.figures = json.loads(path.read_text()) if path and path.exists() else {}

    def get(self, *keys):
        """Return the results of a run, or of a method in it; an empty dict if there are no results."""
        found = self.figures
        for key in keys:
            found = found.get(key, {})
        return found

    def add(self, run, found):
        """Take note of figures, in the file as well."""
        self.figures.setdefault(run, {}).update(found)
        if self._path:
            self._path.write_text(json.dumps(self.figures, indent=1) + "\n")


def print_table(results, run_names, methods):
    print("| % | " + " | ".join(run_names) + " | mean | difference |")
    print("|---" * (3 + len(run_names)) + "|")
    reference = means(results, run_names, REFERENCE)
    for name in methods:
        own = means(results, run_names, name)
        cells = [cell(results.get(run, name).get("accuracies")) for run in run_names]
        cells.append("" if np.isnan(own).any() else f"{own.mean():.1f}")
        cells.append("" if name == REFERENCE else difference(own - reference))
        print(f"| {name} | " + " | ".join(cells) + " |")


def means(results, run_names, name):
    """Return the mean accuracy (%) of each run; NaN where there is none."""
    found = [results.get(run, name).get("accuracies") for run in run_names]
    return np.array([np.nan if of_classes is None else 100 * np.mean(of_classes) for of_classes in found])


def cell(of_classes):
    """Return the mean over classes and its standard error."""
    if of_classes is None:
        return ""
    return f"{100 * np.mean(of_classes):.1f} ± {standard_error(100 * np.array(of_classes)):.1f}"


def difference(gains):
    """Return the mean over runs of paired differences and its standard error; nothing unless all are known."""
    if np.isnan(gains).any() or len(gains) < 2:
        return ""
    return f"{gains.mean():+.1f} ± {standard_error(gains):.1f}"


def standard_error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def print_generalized(found):
    columns = ("seen", "unseen", "H", "AUSUC")
    print("| generalized, cub | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for name, figures in found.items():
        print(f"| {name} | " + " | ".join(f"{100 * figures[column]:.1f}" for column in columns) + " |")


def print_base_to_new(results, methods):
    """Print a row for each method, with base, new and H of each choice of halves."""
    print("| base / new / H, clip_cars | " + " | ".join(HALVES) + " |")
    print("|---" * (1 + len(HALVES)) + "|")
    for name in ("plain cosine", *methods):
        figures = [results.get(f"base to new, {halves}", name) for halves in HALVES]
        cells = [" / ".join(f"{100 * one[key]:.1f}" for key in ("base", "new", "H")) for one in figures]
        print(f"| {name} | " + " | ".join(cells) + " |")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="rows whose names begin so; default: all")
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="may be repeated; default: all")
    parser.add_argument("--no-base-to-new", action="store_true", help="leave out base to new, on clip_cars")
    parser.add_argument("--no-generalized", action="store_true", help="leave out the table of all classes, of cub")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep figures here; those that it has are not redone")
    options = parser.parse_args(arguments)
    options.sets = options.sets or SETS
    chosen = [name for name in METHODS if name.startswith(tuple(options.methods or [""]))]
    if not chosen:
        parser.error(f"no such method; there are {', '.join(METHODS)}")
    return options, chosen


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def main(arguments=None):
    options, methods = parse(arguments)
    warnings.filterwarnings("ignore", ".*have the same class vector")  # two intents of clinc150 do
    results = Results(options.json)
    run_names = {}
    for run in runs(options.sets):
        run_names.setdefault(SETS.index(run.name.split()[0]) // SETS_OF_A_TABLE, []).append(run.name)
        for name in methods:
            if not results.get(run.name, name):
                results.add(run.name, {name: measure(run, name)})
            found = results.get(run.name, name)
            say(run.name, name, cell(found["accuracies"]), f"{found.get('seconds', 0):.0f} s", found.get("chosen", ""))
    for names in run_names.values():
        print_table(results, names, methods)
        print()
    if "clip_cars" in options.sets and not options.no_base_to_new:
        names = measured_base_to_new(results, methods)
        if names:
            print_base_to_new(results, names)
            print()
    if "cub" in options.sets and not options.no_generalized:
        cub = load_dataset(DATA / "cub")
        for name in GENERALIZED:
            if not results.get("generalized", name):
                results.add("generalized", measure_generalized(cub, name))
                say("generalized", name, results.get("generalized", name))
        print_generalized(results.get("generalized"))


def measured_base_to_new(results, methods):
    """Measure what is not known yet, and return those of the methods that have a row."""
    names = [name for name in BASE_TO_NEW if name in methods]
    for name in names:
        for halves, (base, seed) in HALVES.items():
            if not results.get(f"base to new, {halves}", name):
                results.add(f"base to new, {halves}", measure_base_to_new(base, seed, name))
                say("base to new", halves, name, results.get(f"base to new, {halves}", name))
    return names


if __name__ == "__main__":
    main()
