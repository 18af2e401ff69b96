"""Prints how well measures tell strangers, samples of classes that are no candidates: the tables of docs/trust.md.

Six data sets, two choices of unseen classes each. Everything that is fitted or chosen (weights of a logistic
regression, the threshold that jcmspl keeps) comes from training classes that play unseen ones and strangers. Areas
under the ROC curve are of samples of the unseen classes against strangers of five kinds:

left out   the same samples, without their class among the candidates; on training classes first, then on unseen ones
others     half of the unseen classes are candidates, the samples of the other half strangers
seen       training samples, where only unseen classes are candidates
noise      the same samples with the values of each feature shuffled: like none of the classes

The second table is of the thresholds themselves, among unseen, seen and all classes. Its last columns are shares of
samples that are rejected: known ones, strangers, and strangers by a threshold on the best score that rejects as many
known ones.
"""

import argparse
import sys
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accuracy import SETS, runs, standard_error
from jcmspl import ClassKFold
from jcmspl.data.class_folds import held_out_rows
from jcmspl.model import registry
from jcmspl.model.prediction import auto_temperature, rivals_for
from jcmspl.model.rejection import two_looks
from jcmspl.model.threshold import Evidence, Threshold, area
from jcmspl.support.scaling import unit_length

MOST = 4000  # samples of a part
LOST = 0.05  # the share of known samples that a threshold may reject
STRANGERS = ("left out, training", "left out", "others", "seen", "noise")
GROUPS = ("unseen", "seen", "all")
NEIGHBOURS = 5
FEW = ("best", "energy of training classes")
MANY = (*FEW, "second", "mean", "spread", "energy", "nearest mean", "five means", "neighbours", "length")
KEPT = "the threshold of jcmspl"


@dataclass
class Looks:
    """Features by name, of known samples and of the same as strangers."""

    known: dict[str, np.ndarray]
    strangers: dict[str, np.ndarray]


def features(model, vectors, X, candidates, own=None):
    """Return the features that measures are made of; the own class of each sample is left out where it is given."""
    state, temperature = model.state, auto_temperature(model, model.own_space)
    scores = np.asarray(model.decision_function(X, candidates=list(candidates)), dtype=np.float64)
    if own is not None:
        kept = np.arange(len(candidates)) != own[:, None]
        numbers = np.broadcast_to(candidates, scores.shape)[kept].reshape(len(X), -1)
        scores = scores[kept].reshape(len(X), -1)
    else:
        numbers = np.broadcast_to(candidates, scores.shape)
    ordered = -np.sort(-scores, axis=1)
    seen = np.asarray(model.decision_function(X, candidates="seen"), dtype=np.float64)
    Z = state.feature_normalisation.of_rows(np.asarray(X, dtype=np.float64))
    means = state.feature_normalisation.of_sums(state.class_means, np.ones(len(state.classes)))
    near = unit_length(Z) @ unit_length(means).T
    nearest = np.argsort(-near, axis=1)[:, :NEIGHBOURS]
    at_best = np.take_along_axis(np.array(numbers), scores.argmax(axis=1)[:, None], axis=1)[:, 0]
    described = unit_length(state.class_normalisation.of_rows(vectors))
    around = unit_length(described[state.classes[nearest]].mean(axis=1))
    return {
        "best": ordered[:, 0],
        "second": ordered[:, 1],
        "mean": scores.mean(axis=1),
        "spread": scores.std(axis=1),
        "energy": temperature * logsumexp(scores / temperature, axis=1),
        "energy of training classes": temperature * logsumexp(seen / temperature, axis=1),
        "nearest mean": near.max(axis=1),
        "five means": np.take_along_axis(near, nearest, axis=1).mean(axis=1),
        "neighbours": (around * described[at_best]).sum(axis=1),
        "length": np.linalg.norm(Z, axis=1),
    }


def single(name, measure):
    return name, lambda folds: measure


def logistic(name, names):
    """Return a measure that is fitted to training classes that play unseen ones and strangers."""

    def fitted(folds):
        columns = [stacked(side, names) for fold in folds for side in (fold.known, fold.strangers)]
        truth = [np.full(len(column), i % 2 == 0) for i, column in enumerate(columns)]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(np.concatenate(columns), np.concatenate(truth))
        return lambda found: model.decision_function(stacked(found, names))

    return name, fitted


def stacked(found, names):
    return np.column_stack([found[name] for name in names])


def evidence(found):
    return Evidence(found["best"], found["energy of training classes"])


def kept(folds):
    """Return the measure that jcmspl keeps."""
    chosen = Threshold.of([(evidence(fold.known), evidence(fold.strangers)) for fold in folds], LOST)
    return lambda found: chosen.confidence(evidence(found))


MEASURES = dict(
    [
        single("best score", lambda found: found["best"]),
        single("relative Mahalanobis distance", lambda found: found["best"] * found["length"]),
        single("energy of the candidates", lambda found: found["energy"]),
        single("best score less the nearest training mean", lambda found: found["best"] - found["nearest mean"]),
        single("best score less five training means", lambda found: found["best"] - found["five means"]),
        single("vectors of neighbouring training classes", lambda found: found["neighbours"]),
        single("best score less the energy of training classes", lambda found: found["best"] - found[FEW[1]]),
        logistic("logistic: best score, energy of training classes", FEW),
        logistic(f"logistic: {len(MANY)} features", MANY),
        (KEPT, kept),
    ]
)


def part_of(rng, X, y):
    rows = np.sort(rng.permutation(len(y))[:MOST])
    return X[rows], y[rows]


def looks(model, vectors, X, y):
    classes = np.unique(y)
    own = np.searchsorted(classes, y)
    return Looks(features(model, vectors, X, classes), features(model, vectors, X, classes, own))


def measured(run, method):
    """Return the areas of all measures: a row each, in the order of STRANGERS."""
    rng = np.random.default_rng(0)
    X, y = part_of(rng, *run.train)
    folds = []
    for rows, held_out in ClassKFold(4).split(X, y):
        twin = method(progress=False).fit(X[rows], y[rows], class_vectors=run.vectors)
        folds.append(looks(twin, run.vectors, X[held_out], y[held_out]))
    model = method(progress=False).fit(X, y, class_vectors=run.vectors)
    Z, z = part_of(rng, *run.test)
    test, half = looks(model, run.vectors, Z, z), np.sort(rng.permutation(run.unseen)[: len(run.unseen) // 2])
    is_known = np.isin(z, half)
    shuffled = np.column_stack([rng.permutation(column) for column in Z.T])
    pairs = [
        (test.known, test.strangers),
        tuple(features(model, run.vectors, Z[rows], half) for rows in (is_known, ~is_known)),
        *((test.known, features(model, run.vectors, other, run.unseen)) for other in (X, shuffled)),
    ]
    found = {}
    for name, fit in MEASURES.items():
        crossed = [fit(folds[:i] + folds[i + 1 :]) for i in range(len(folds))]
        on_training = [area(one(fold.known), one(fold.strangers)) for one, fold in zip(crossed, folds, strict=True)]
        measure = fit(folds)
        found[name] = [np.mean(on_training), *(area(*map(measure, pair)) for pair in pairs)]
    return found


def effects(run, method):
    """Return the area of the best score and of the threshold, and the shares that it rejects, by group."""
    rng = np.random.default_rng(0)
    X, y = part_of(rng, *run.train)
    tested = held_out_rows(y.tolist(), 0.2, rng)
    model = method(progress=False).fit(X[~tested], y[~tested], class_vectors=run.vectors)
    model.calibrate(X[~tested], y[~tested]).calibrate_rejection(X[~tested], y[~tested], max_false_rejection=LOST)
    Z, z = part_of(rng, *run.test)
    found = {}
    for group in GROUPS:
        chosen = model.rejection_[model.own_space, model.own_metric, group]
        labels = {"unseen": run.unseen, "seen": model.classes_, "all": [*model.classes_, *run.unseen]}[group]
        among = model.recogniser(candidates=labels)
        rivals = rivals_for(model, chosen, model.own_space)
        of_seen = Evidence(among.best(X[tested])[1][:, 0], rivals(X[tested]))
        if group == "seen":
            known, strangers = of_seen, Evidence(among.best(Z)[1][:, 0], rivals(Z))
        else:
            known, strangers = (Evidence(best, rivals(Z)) for best in two_looks(Z, z, among))
            if group == "all":
                known = Evidence(*map(np.concatenate, zip(known, of_seen, strict=True)))
        values = [chosen.confidence(side) for side in (known, strangers)]
        rejected = [float(np.mean(value < chosen.value)) for value in values]
        rejected.append(float(np.mean(strangers.best < np.quantile(known.best, rejected[0]))))
        found[group] = [area(known.best, strangers.best), area(*values), *rejected]
    return found


def print_measures(results):
    print("| area, mean of runs | " + " | ".join(STRANGERS) + " | worst left out |")
    print("|---" * (2 + len(STRANGERS)) + "|")
    reference = np.array([result["best score"] for result in results])
    for name in MEASURES:
        values = np.array([result[name] for result in results])
        gains = values - reference
        cells = [f"{value:.3f}" for value in values.mean(axis=0)]
        if name != "best score":
            errors = (f" ({gain.mean():+.3f} ± {standard_error(gain):.3f})" for gain in gains.T)
            cells = [cell + error for cell, error in zip(cells, errors, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + f" | {gains[:, 1].min():+.3f} |")


def print_effects(results):
    print("\n| among | area, best score | area, threshold | gain | worst | known | strangers | strangers, best score |")
    print("|---" * 8 + "|")
    for group in GROUPS:
        values = np.array([result[group] for result in results])
        gains = values[:, 1] - values[:, 0]
        means = values.mean(axis=0)
        shares = " | ".join(f"{100 * share:.1f} %" for share in means[2:])
        gain = f"{gains.mean():+.3f} ± {standard_error(gains):.3f} | {gains.min():+.3f}"
        print(f"| {group} | {means[0]:.3f} | {means[1]:.3f} | {gain} | {shares} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", nargs="?", default="JCMSPL", help="default: JCMSPL")
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="may be repeated; default: all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    method, areas, shares = registry.get(options.method), [], []
    for run in runs(options.sets or SETS):
        try:
            areas.append(measured(run, method))
            shares.append(effects(run, method))
        except ValueError as error:  # a method that is not for such data
            print(run.name, error, file=sys.stderr)
            continue
        print(run.name, *(f"{areas[-1][name][1]:.3f}" for name in ("best score", KEPT)), file=sys.stderr, flush=True)
    print_measures(areas)
    print_effects(shares)


if __name__ == "__main__":
    main()
