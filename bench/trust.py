"""Prints the tables of docs/trust.md: errors of probabilities, and coverage and size of prediction sets, in Markdown.

Six data sets, each with two splits of its classes. A model is fitted and calibrated on samples of the seen classes, of
which a fifth is left out where the data have no test part. Accuracies, errors and coverages are of test samples.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np

from adapt import SETS, SPLITS, read
from jcmspl import JCMSPL
from jcmspl.metrics import expected_calibration_error
from jcmspl.model import registry
from jcmspl.model.calibration import Drawing, calibration_samples, fold_models
from jcmspl.model.prediction_sets import lower_bound
from jcmspl.model.temperature import TEMPERATURES, lowest

COVERAGE = 0.9
COUNTS = (5, 10, 20, 40)  # of candidates


@dataclass(frozen=True, eq=False)
class Run:
    """A calibrated model, training samples, and test samples of unseen and of seen classes."""

    name: str
    model: JCMSPL
    train: tuple
    unseen: tuple
    seen: tuple

    @property
    def candidates(self) -> dict[str, list]:
        """The candidates of each group."""
        seen, unseen = self.model.classes_.tolist(), np.unique(self.unseen[1]).tolist()
        return {"unseen": unseen, "all": [*seen, *unseen], "seen": seen}

    def tests(self) -> dict[str, tuple]:
        """The test samples of each group of candidates."""
        both = tuple(np.concatenate(each) for each in zip(self.unseen, self.seen, strict=True))
        return {"unseen": self.unseen, "all": both, "seen": self.seen}


def runs(sets, method):
    """Fit and calibrate a model for each set and split."""
    for name in sets:
        X, y, vectors, own, train, test = read(name)
        if test.all():  # without a part to test with
            drawn = np.random.default_rng(2).random(len(y)) < 0.2
            train, test = ~drawn, drawn
        other = np.sort(np.random.default_rng(1).permutation(np.unique(y))[: len(own)])
        for split, unseen in zip(SPLITS, (own, other), strict=True):
            is_new = np.isin(y, unseen)
            rows = train & ~is_new, (is_new if name in ("cub", "clinc150", "esc50") else test & is_new), test & ~is_new
            parts = [(X[of], y[of]) for of in rows]
            model = registry.get(method)(progress=False).fit(*parts[0], class_vectors=vectors)
            model.calibrate(*parts[0]).calibrate_sets(*parts[0])
            yield Run(f"{name}, {split}", model, *parts)


def errors(run) -> list[float]:
    """Return the calibration errors of each group, before and after the calibration."""
    found = []
    for group, (X, y) in run.tests().items():
        candidates = run.candidates[group]
        calibrated = run.model.temperatures_
        for chosen in ({}, calibrated):
            run.model.temperatures_ = chosen
            shares = run.model.predict_proba(X, candidates=candidates)
            found.append(expected_calibration_error(y, shares, labels=candidates))
    return found


def covered(sets, y, candidates) -> tuple[float, float]:
    """Return the mean over classes of the coverage, and the mean size."""
    number = {label: i for i, label in enumerate(candidates)}
    inside = sets[np.arange(len(y)), [number[label] for label in y.tolist()]]
    return float(np.mean([inside[y == label].mean() for label in np.unique(y)])), float(sets.sum(axis=1).mean())


def of_sets(run) -> list[float]:
    """Return coverage and size among unseen classes, and among all of unseen and of seen samples."""
    found = []
    for group, X, y in (("unseen", *run.unseen), ("all", *run.unseen), ("all", *run.seen), ("seen", *run.seen)):
        candidates = run.candidates[group]
        sets = run.model.predict_set(X, coverage=COVERAGE, candidates=candidates)
        found += covered(sets, y, candidates)
    return found


def prototype(run) -> tuple[float, float]:
    """Return coverage and size of the usual split-conformal sets: a threshold on probabilities, samples as units.

    As many classes play unseen ones at a time as there are unseen ones, where that is possible.
    """
    model, candidates = run.model, run.candidates["unseen"]
    n_splits = max(2, round(len(model.classes_) / len(candidates)))
    samples = calibration_samples(model, *run.train)
    folds = []
    for twin, rows, _ in fold_models(model, samples, Drawing(n_splits, 0.2, 0)):
        scores = twin.decision_function(run.train[0][rows], candidates=twin.unseen_classes_.tolist())
        number = {label: i for i, label in enumerate(twin.unseen_classes_.tolist())}
        folds.append((scores, np.array([number[label] for label in run.train[1][rows].tolist()])))
    tried = TEMPERATURES / TEMPERATURES[0] * 1e-3
    losses = [np.mean([-np.log(np.maximum(_own(*fold, t), 1e-300)).mean() for fold in folds]) for t in tried]
    temperature = lowest(tried, np.array(losses))
    least = np.quantile(np.concatenate([_own(*fold, temperature) for fold in folds]), 1 - COVERAGE, method="lower")
    X, y = run.unseen
    return covered(model.predict_proba(X, candidates=candidates, temperature=temperature) >= least, y, candidates)


def _own(scores, own, temperature):
    exponents = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    return exponents[np.arange(len(own)), own] / exponents.sum(axis=1)


def of_counts(run) -> list[tuple[float, float, float]]:
    """Return error, coverage and size among some drawn candidates, the own class and others; NaN where too few."""
    X, y = run.unseen
    found = []
    for count in COUNTS:
        rng, values = np.random.default_rng(3), []
        candidates = run.candidates["unseen"]
        for _ in range(10 if count <= len(candidates) else 0):
            some = sorted(rng.choice(candidates, count, replace=False).tolist())
            rows = np.isin(y, some)
            shares = run.model.predict_proba(X[rows], candidates=some)
            sets = run.model.predict_set(X[rows], coverage=COVERAGE, candidates=some)
            error = expected_calibration_error(y[rows], shares, labels=some)
            values.append((error, *covered(sets, y[rows], some)))
        found.append(tuple(np.mean(values, axis=0)) if values else (np.nan,) * 3)
    return found


def table(header, rows) -> str:
    """Return rows of texts as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_mean(names, values, form) -> list[list[str]]:
    """Return a row for each name, the means, and the standard errors of the means over runs."""
    array = np.array(values)
    last = [("mean", array.mean(axis=0)), ("± standard error", array.std(axis=0, ddof=1) / np.sqrt(len(array)))]
    return [[name, *map(form, row)] for name, row in [*zip(names, array, strict=True), *last]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="may be repeated; default: all")
    parser.add_argument("--model", default="JCMSPL", help="the method (default: JCMSPL)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names, of_probabilities, of_prediction_sets, counts = [], [], [], []
    for run in runs(options.sets or SETS, options.model):
        names.append(run.name)
        of_probabilities.append([100 * value for value in errors(run)])
        of_prediction_sets.append([*of_sets(run), *prototype(run)])
        counts.append(of_counts(run))
        print(run.name, *np.round([*of_probabilities[-1], *of_prediction_sets[-1]], 3), flush=True)
    header = [
        "expected calibration error, %",
        *(f"{kind}{when}" for kind in ("unseen", "all", "seen") for when in ("", ", calibrated")),
    ]
    print("\n" + table(header, with_mean(names, of_probabilities, "{:.1f}".format)))
    header = ["coverage and size", "unseen", "all: unseen", "all: seen", "seen", "prototype, unseen"]
    array = np.array(of_prediction_sets).reshape(len(names), -1, 2)
    rows = [
        [name, *(f"{100 * one[0]:.1f} / {one[1]:.1f}" for one in row)]
        for name, row in zip([*names, "mean"], [*array, array.mean(axis=0)], strict=True)
    ]
    print("\n" + table(header, rows))
    mean = np.nanmean(np.array(counts), axis=0)
    rows = [
        [str(count), *(f"{value:.1f}" for value in (100 * one[0], 100 * one[1], one[2]))]
        for count, one in zip(COUNTS, mean, strict=True)
    ]
    print("\n" + table(["candidates", "calibration error, %", "coverage, %", "size"], rows))
    sizes = (10, 20, 40, 80, 150, 400, 1000)
    rows = [[str(n), f"{100 * lower_bound(COVERAGE * (n + 1) / n, n):.1f} %"] for n in sizes]
    print("\n" + table(["training classes", f"promised of {100 * COVERAGE:.0f} %"], rows))


if __name__ == "__main__":
    main()
