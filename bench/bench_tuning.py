"""A whole search, 81 settings on 5 folds of classes in 35 iterations each, against one fit of the textbook."""

from functools import lru_cache, partial

import numpy as np

from bench_fit import ITERATIONS, textbook
from jcmspl import JCMSPL, JCMSPLCV, ClassKFold
from jcmspl.cli.bench import SHAPES
from question import Contestants, Question, Target
from samples import assert_equal, labelled_samples

# As users call it, but for a grid that stays as it is and iterations that do not end early.
SEARCH = {"extend": 0, "max_iter": ITERATIONS, "tol": 0, "progress": False}
# The textbook takes as long for every iteration, so that few tell what all would take.
TIMED_ITERATIONS = 2


def search(dataset: str, **parameters) -> JCMSPLCV:
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    return JCMSPLCV(**SEARCH, **parameters).fit(X, labels, class_vectors=class_vectors)


@lru_cache
def check_against_plain_fits(dataset: str) -> None:
    """Compare the scores of one setting on all folds with those of fits to the samples of the other classes."""
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    setting = {
        "semantic_match": 0.01,
        "class_match": 1.0,
        "visual_reconstruction": 0.1,
        "semantic_reconstruction": 0.01,
        "space": "semantic",
        "feature_normalisation": "sample_l2+center",
        "class_normalisation": "sample_l2+center",
    }
    results = search(dataset, **setting).cv_results_
    model = JCMSPL(**setting, max_iter=ITERATIONS, tol=0, progress=False)
    scores = []
    for train, test in ClassKFold(5).split(X, labels):
        model.fit(X[train], labels[train], class_vectors=class_vectors)
        scores.append(model.score(X[test], labels[test], candidates=np.unique(labels[test])))
    assert_equal("scores of folds", [results[f"split{i}_test_score"][0] for i in range(5)], np.array(scores), 1e-3)


def against_textbook(dataset: str) -> Contestants:
    return Contestants(
        ours=partial(search, dataset),
        peer=partial(textbook, dataset, iterations=TIMED_ITERATIONS),
        peer_share=TIMED_ITERATIONS / ITERATIONS,
        check=partial(check_against_plain_fits, dataset),
        caveat=f"{TIMED_ITERATIONS} iterations of the textbook were timed and scaled up to {ITERATIONS}",
    )


QUESTIONS = [
    Question(
        f"tuning-{dataset.lower()}",
        f"JCMSPLCV, {dataset} shape, 81 settings x 5 folds / ONE fit of the textbook",
        Target("time", bound),
        partial(against_textbook, dataset),
        rounds=2,
    )
    for dataset, bound in (("AwA", 0.5), ("CUB", 1.0))
]


def test_tuning(time_side):
    time_side()
