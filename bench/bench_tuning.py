"""A whole search over 5 folds of classes against ONE fit of the textbook: as users call it, and over a named grid."""

from functools import lru_cache, partial

import numpy as np

from bench_fit import ITERATIONS, textbook
from jcmspl import JCMSPL, JCMSPLCV, ClassKFold
from jcmspl.cli.bench import SHAPES
from jcmspl.model_selection.path import FEATURES, SHRINKAGES
from question import Contestants, Question, Target
from samples import assert_equal, labelled_samples

# 81 settings of weights in three spaces: a grid that stays as it is, and iterations that do not end early.
GRID = {
    **JCMSPL.GRID,
    "feature_normalisation": "sample_l2+center",
    "class_normalisation": "sample_l2+center",
    "extend": 0,
    "max_iter": ITERATIONS,
    "tol": 0,
}
SETTING = {
    "semantic_match": 0.01,
    "class_match": 1.0,
    "visual_reconstruction": 0.1,
    "semantic_reconstruction": 0.01,
    "space": "semantic",
}
SEARCHES = {"": {}, "-grid": GRID}
COMPARES = {"": "JCMSPLCV()", "-grid": "JCMSPLCV over 81 settings"}
BOUNDS = {("", "AwA"): 0.5, ("", "CUB"): 0.3, ("-grid", "AwA"): 0.5, ("-grid", "CUB"): 1.0}
# The textbook takes as long for every iteration, so that few tell what all would take.
TIMED_ITERATIONS = 2


def search(dataset: str, **parameters) -> JCMSPLCV:
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    return JCMSPLCV(**parameters, progress=False).fit(X, labels, class_vectors=class_vectors)


@lru_cache
def check_grid(dataset: str) -> None:
    """Compare the scores of one setting on all folds with those of fits to the samples of the other classes."""
    results = search(dataset, **GRID | SETTING).cv_results_
    fixed = {name: value for name, value in GRID.items() if name in JCMSPL().get_params() and name not in JCMSPL.GRID}
    compare_with_plain_fits(dataset, results, 0, JCMSPL(**SETTING, **fixed, progress=False))


@lru_cache
def check_path(dataset: str) -> None:
    """Compare the scores of the chosen setting in the same way, where only the path is searched."""
    found = search(dataset, feature_normalisation=FEATURES[0], whitening_shrinkage=SHRINKAGES[0], class_kernel="linear")
    setting = found.cv_results_["params"][found.best_index_]
    compare_with_plain_fits(dataset, found.cv_results_, found.best_index_, JCMSPL(**setting, progress=False))


def compare_with_plain_fits(dataset: str, results: dict, row: int, model: JCMSPL) -> None:
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    scores = []
    for train, test in ClassKFold(5).split(X, labels):
        model.fit(X[train], labels[train], class_vectors=class_vectors)
        scores.append(model.score(X[test], labels[test], candidates=np.unique(labels[test])))
    # folds that are drawn again, where classes are few, follow these five
    assert_equal("scores of folds", [results[f"split{i}_test_score"][row] for i in range(5)], np.array(scores), 1e-3)


def against_textbook(dataset: str, kind: str) -> Contestants:
    return Contestants(
        ours=partial(search, dataset, **SEARCHES[kind]),
        peer=partial(textbook, dataset, iterations=TIMED_ITERATIONS),
        peer_share=TIMED_ITERATIONS / ITERATIONS,
        check=partial(check_grid if kind else check_path, dataset),
        caveat=f"{TIMED_ITERATIONS} iterations of the textbook were timed and scaled up to {ITERATIONS}",
    )


QUESTIONS = [
    Question(
        f"tuning{kind}-{dataset.lower()}",
        f"{COMPARES[kind]}, {dataset} shape, 5 folds / ONE fit of the textbook",
        Target("time", bound),
        partial(against_textbook, dataset, kind),
        rounds=2,
    )
    for (kind, dataset), bound in BOUNDS.items()
]


def test_tuning(time_side):
    time_side()
