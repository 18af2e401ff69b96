"""Prints how well samples of classes that are no candidates are told from others, by several measures, in Markdown.

Only training classes are looked at: some are held out, a model is fitted to the others, and each sample of the held-out
ones is looked at twice, with its class among the candidates (known) and without it (a stranger). A figure is the area
under the ROC curve of known samples against strangers, in the mean over folds; 0.5 is a guess. The last column is that
of the best score on the unseen classes of the data: what is to be expected, not to be chosen by. These measures need
the scores of the candidates alone; bench/strangers.py has those that look at training classes as well.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from accuracy import OWN_SETS, read_own
from jcmspl import ClassKFold
from jcmspl.model import registry
from jcmspl.model.threshold import area


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", metavar="METHOD", nargs="*", help="some methods (default: all)")
    parser.add_argument("--set", choices=OWN_SETS, action="append", help="some data sets (default: all)")
    parser.add_argument("--json", type=Path, help="keep results in this file, and go on from what it has")
    arguments = parser.parse_args()
    done = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    names = arguments.methods or sorted(registry.names(), key=lambda name: registry.cost(registry.get(name)))
    places = arguments.set or OWN_SETS
    for place in places:
        data = read_own(place)
        for name in names:
            key = f"{place} {name}"
            if key not in done:
                try:
                    done[key] = measured(*data, name)
                except ValueError as error:  # a method that is not for such data
                    print(key, error, flush=True)
                    continue
                print(key, done[key], flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(done, indent=1))
    print(table(done, names, places))


def measures(scores: np.ndarray, unit: float) -> dict[str, np.ndarray]:
    """Return measures of how sure a name is, from scores of candidates (n, c) and the unit of scores."""
    ordered = np.sort(scores, axis=1)[:, ::-1]
    shifted = (scores - ordered[:, :1]) / unit
    return {
        "best score": ordered[:, 0],
        "margin": ordered[:, 0] - ordered[:, 1],
        "share": 1 / np.exp(shifted).sum(axis=1),
        "above the mean": ordered[:, 0] - scores.mean(axis=1),
        "standardised": (ordered[:, 0] - scores.mean(axis=1)) / np.maximum(scores.std(axis=1), 1e-300),
    }


def measured(X, y, vectors, unseen, name: str) -> dict[str, float]:
    """Return the area of each measure on training classes, and that of the chosen one on unseen classes."""
    train = ~np.isin(y, unseen)
    found: dict[str, list[float]] = {}
    for rows, held_out in ClassKFold(4).split(X[train], y[train]):
        result = areas(X[train], y[train], vectors, rows, held_out, name)
        for measure, value in result.items():
            found.setdefault(measure, []).append(value)
    areas_ = {measure: float(np.mean(values)) for measure, values in found.items()}
    rows = np.flatnonzero(train)
    areas_["unseen classes"] = areas(X, y, vectors, rows, np.flatnonzero(~train), name)["best score"]
    return areas_


def areas(X, y, vectors, rows, held_out, name: str) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = registry.get(name)(progress=False).fit(X[rows], y[rows], class_vectors=vectors)
    candidates = np.unique(y[held_out]).tolist()
    scores = np.asarray(model.decision_function(X[held_out], candidates=candidates), dtype=np.float64)
    own = np.searchsorted(candidates, y[held_out])
    others = np.arange(len(candidates)) != own[:, None]
    without, unit = scores[others].reshape(len(own), -1), model._temperature("auto")
    known, strangers = measures(scores, unit), measures(without, unit)
    return {measure: area(known[measure], strangers[measure]) for measure in known}


def table(done: dict[str, dict[str, float]], names: list[str], places: list[str]) -> str:
    """Return the results as Markdown: a row for each data set and method, and the means."""
    columns = list(next(one for one in done.values() if one))
    lines = [["data", "method", *columns], ["---"] * (2 + len(columns))]
    for place in places:
        found = [(name, done[f"{place} {name}"]) for name in names if f"{place} {name}" in done]
        means = {measure: np.mean([one[measure] for _, one in found]) for measure in columns}
        for name, one in [*found, ("mean", means)]:
            lines.append([place, name, *(f"{one[measure]:.3f}" for measure in columns)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
