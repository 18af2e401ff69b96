"""Prints how well classes never seen are recognised on CUB, each method tuned alike on the training classes.

Every method is fitted to "trainval" of the benchmark's proposed split with its parameters chosen by 5-fold
cross-validation over these 150 classes, and recognises "test_unseen" among its 50 classes: mean per-class accuracy.
"""

import argparse
import os
import time
from pathlib import Path

from jcmspl import ESZSL, FPL, JCMSPLCV, RPL, SAE, ClassSearchCV, RidgeVS
from jcmspl.datasets import load_dataset

DATA = Path(os.environ.get("JCMSPL_DATA", Path(__file__).parents[2] / "shared" / "data"))

METHODS = {
    "JCMSPL": lambda: JCMSPLCV(),
    "IPL": lambda: JCMSPLCV(class_match=0, visual_reconstruction=0, semantic_reconstruction=0),
    "JCMSPL0": lambda: JCMSPLCV(visual_reconstruction=0, semantic_reconstruction=0),
    "JCMSPL1": lambda: JCMSPLCV(class_match=0),
    "FPL": lambda: ClassSearchCV(FPL(), {}),
    "RidgeVS": lambda: ClassSearchCV(RidgeVS()),
    "RPL": lambda: ClassSearchCV(RPL()),
    "SAE": lambda: ClassSearchCV(SAE()),
    "ESZSL": lambda: ClassSearchCV(ESZSL()),
    "ESZSL-published": lambda: ClassSearchCV(ESZSL(), {"visual_penalty": _DECADES, "semantic_penalty": _DECADES}),
    "ESZSL-cosine": lambda: ClassSearchCV(
        ESZSL(metric="cosine"), {"visual_penalty": _DECADES, "semantic_penalty": _DECADES}
    ),
}
_DECADES = tuple(10.0**power for power in range(-2, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"of {', '.join(METHODS)}; default: all")
    chosen = parser.parse_args().methods or list(METHODS)
    cub = load_dataset(DATA / "cub")
    train, test, table = cub.part("trainval"), cub.part("test_unseen"), cub.classes
    print(f"{'method':<16} {'unseen':>6}  {'training classes':>16}  {'settings':>8}  {'seconds':>7}  chosen")
    for name in chosen:
        started = time.perf_counter()
        model = METHODS[name]().fit(*train, class_vectors=table)
        seconds = time.perf_counter() - started
        accuracy = model.score(*test, candidates="unseen")
        validated = f"{100 * model.best_score_:.1f} +- {100 * model.best_score_std_:.1f}"
        varied = {name: value for name, value in model.best_params_.items() if len(_tried(model, name)) > 1}
        n = len(model.cv_results_["params"])
        print(f"{name:<16} {100 * accuracy:>6.1f}  {validated:>16}  {n:>8}  {seconds:>7.0f}  {varied}", flush=True)


def _tried(model, name):
    return set(model.cv_results_[f"param_{name}"])


if __name__ == "__main__":
    main()
