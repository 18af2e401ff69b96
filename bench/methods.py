"""Prints the table of all methods of docs/methods.md, in Markdown: accuracy on unseen and on all classes, seconds.

Three data sets at their own splits. A fifth of the samples of seen classes is held out for generalized recognition (cub
has such a part of its own). Everything is chosen on the training part: the bias against seen classes by ``calibrate``,
and with ``--tuned`` the parameters by ``ClassSearchCV``.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from accuracy import DATA, OWN_SETS, runs
from jcmspl import evaluate
from jcmspl.data.class_table import ClassTable
from jcmspl.datasets import Dataset, load_dataset
from jcmspl.datasets.splits import draw_per_class
from jcmspl.model import registry
from jcmspl.model_selection.jcmspl_cv import search_for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", metavar="METHOD", nargs="*", help="some methods (default: all)")
    parser.add_argument("--set", choices=OWN_SETS, action="append", help="some data sets (default: all)")
    parser.add_argument("--tuned", action="store_true", help="choose parameters by cross-validation over classes")
    parser.add_argument("--json", type=Path, help="keep results in this file, and go on from what it has")
    arguments = parser.parse_args()
    done = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    names = arguments.methods or sorted(registry.names(), key=lambda name: registry.cost(registry.get(name)))
    kind = "tuned" if arguments.tuned else "untuned"
    for place in arguments.set or OWN_SETS:
        dataset = dataset_of(place)
        for name in names:
            key = f"{kind} {place} {name}"
            if key not in done:
                done[key] = measured(dataset, name, arguments.tuned)
                print(key, done[key], flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(done, indent=1))
    print(table(done, kind, names, arguments.set or OWN_SETS))


def dataset_of(place: str) -> Dataset:
    """Return a data set with a part of samples of seen classes that are not trained on.

    Unseen classes are its own ones, or a first half of the classes in random order.
    """
    if place == "cub":
        return load_dataset(DATA / "cub")
    run = next(runs([place]))
    classes = list(range(len(run.vectors)))
    seen, first, last = ~np.isin(run.y, run.unseen), run.part == run.part.min(), run.part == run.part.max()
    test_seen = np.flatnonzero(seen & last & ~first)
    if not len(test_seen):
        test_seen = np.sort(draw_per_class(np.flatnonzero(seen), run.y, classes, 0.2, 0))
    parts = {
        "train": np.setdiff1d(np.flatnonzero(seen & first), test_seen),
        "test_seen": test_seen,
        "test_unseen": np.flatnonzero(~seen & last),
    }
    return Dataset(place, run.X, run.y, ClassTable(classes, run.vectors), parts)


def measured(dataset: Dataset, name: str, tuned: bool) -> dict[str, float | str]:
    """Fit a method and test it; the seconds are those of the processor, in all threads."""
    method = registry.get(name)
    made = search_for(method, {}, progress=False) if tuned else method(progress=False)
    X, y = dataset.part("trainval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        try:
            made.fit(X, y, class_vectors=dataset.classes)
        except ValueError as error:
            return {"refused": str(error)}
        seconds = time.process_time() - started
        model = made.best_estimator_ if tuned else made
        model.calibrate(X, y, random_state=0)
        by_cosine = getattr(model, "metric", None) == "cosine" and model.own_space == "visual"
        adapt = hasattr(model, "adapt") and by_cosine
        results = evaluate(model, dataset, spaces=[model.own_space], adapt=adapt, progress=False).results
    found = {
        "unseen": results[0].standard.per_class,
        "H": results[0].generalized.harmonic_mean,
        "ausuc": results[0].generalized.ausuc,
        "seconds": seconds,
    }
    return found | ({"adapted": results[1].standard.per_class} if adapt else {})


def table(done: dict[str, dict[str, float]], kind: str, names: list[str], places: list[str]) -> str:
    """Return the results as Markdown, the best mean first."""
    columns = ("unseen", "H", "ausuc", "adapted")
    header = ["method", *(f"{place} {what}" for place in places for what in columns), "CPU seconds"]
    rows = []
    for name in names:
        found = [done.get(f"{kind} {place} {name}", {}) for place in places]
        cells = ["" if what not in one else f"{100 * one[what]:.1f}" for one in found for what in columns]
        mean = np.mean([one.get("unseen", 0.0) for one in found])
        seconds = " / ".join(f"{one['seconds']:.1f}" if "seconds" in one else "-" for one in found)
        rows.append((-mean, [name, *cells, seconds]))
    lines = [header, ["---"] * len(header), *(cells for _, cells in sorted(rows))]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
