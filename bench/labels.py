"""Prints how many labels that were changed at random are found again by ``find_label_issues``, in Markdown.

Labels of training samples are replaced by other classes of the same data set, 5 or 10 % of them. Figures are means over
three draws: the share of the changed labels among the tenth of the samples that is listed first, the share of the
probable issues that were changed, the share of the changed labels among the probable issues, and how often the true
class is suggested for these.
"""

import argparse
import warnings

import numpy as np

from accuracy import SETS, read, standard_error
from jcmspl.checks import find_label_issues
from jcmspl.model import registry

MOST = 4000  # samples of a data set
FIRST = 0.1
SHARES = (0.05, 0.1)
DRAWS = 3


def changed(y, share, rng):
    """Return labels of which a share is replaced by other classes, and the rows of these."""
    rows = rng.permutation(len(y))[: int(share * len(y))]
    classes, wrong = np.unique(y), y.copy()
    for row in rows:
        wrong[row] = rng.choice(classes[classes != y[row]])
    return wrong, rows


def measured(X, y, vectors, share, seed, model):
    """Return the four shares of a draw."""
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(len(y))[:MOST])
    X, y = X[kept], y[kept]
    wrong, rows = changed(y, share, rng)
    issues = find_label_issues(X, wrong, class_vectors=vectors, model=model)
    first = issues.indices[: int(FIRST * len(y))]
    found = np.array(list(issues), dtype=np.int64)
    right = issues.suggested[: len(issues)] == y[found]
    is_changed = np.isin(found, rows)
    return np.isin(rows, first).mean(), is_changed.mean(), np.isin(rows, found).mean(), right[is_changed].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", nargs="?", default="JCMSPL", help="the judge (default: JCMSPL)")
    parser.add_argument("--set", action="append", choices=SETS, dest="sets", help="may be repeated; default: all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | changed | among the first 10 % | issues that are changed | changed that are issues | true class |")
    print("|---|---|---|---|---|---|")
    for name in options.sets or SETS:
        X, y, part, vectors, _ = read(name)
        train = part == part.min()
        for share in SHARES:
            model = registry.get(options.method)(progress=False)
            found = 100 * np.array([measured(X[train], y[train], vectors, share, seed, model) for seed in range(DRAWS)])
            cells = " | ".join(f"{column.mean():.1f} ± {standard_error(column):.1f} %" for column in found.T)
            print(f"| {name} | {100 * share:.0f} % | {cells} |", flush=True)


if __name__ == "__main__":
    main()
