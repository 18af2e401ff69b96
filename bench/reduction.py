"""Prints what ``whitening_components=256`` does to the accuracy on unseen classes, in Markdown.

Cheap methods with default parameters on whitened samples, all directions against the 256 leading ones, for several
choices of unseen classes of each data set: its own and drawn ones. Differences are paired.
"""

import argparse
import warnings

import numpy as np

from accuracy import SETS, difference, runs
from jcmspl import JCMSPL
from jcmspl.methods import RPL, SJE, ClassMeanRidge

WHITEN = {"feature_normalisation": "auto_power+sample_l2+center+whiten", "progress": False}
METHODS = {
    "ClassMeanRidge": lambda: ClassMeanRidge(metric="cosine", **WHITEN),
    "RPL": lambda: RPL(**WHITEN),
    "JCMSPL": lambda: JCMSPL(space="visual", cosine_share=0, **WHITEN),
    "SJE": lambda: SJE(**WHITEN),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS, action="append", help="some data sets (default: all)")
    parser.add_argument("--components", type=int, default=256, help="directions that are left (default: 256)")
    parser.add_argument("--splits", type=int, default=4, help="choices of unseen classes of a set (default: 4)")
    arguments = parser.parse_args()
    print("| set | method | all | reduced | difference |\n|---|---|---|---|---|")
    for place in arguments.set or SETS:
        splits = list(runs([place], range(1, arguments.splits + 1)))
        for name, method in METHODS.items():
            shares = np.array([[accuracy(run, method(), n) for n in (None, arguments.components)] for run in splits])
            means = [f"{mean:.1f}" for mean in 100 * shares.mean(axis=0)]
            print(
                f"| {place} | {name} | {' | '.join(means)} | {difference(100 * (shares[:, 1] - shares[:, 0]))} |",
                flush=True,
            )


def accuracy(run, model, n_components):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean(run.accuracies(run.fit(model.set_params(whitening_components=n_components)))))


if __name__ == "__main__":
    main()
