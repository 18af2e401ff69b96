"""Real features and attributes: CUB in the layout of the xlsa17 benchmark files."""

import numpy as np
import pytest
from scipy.io import loadmat

from jcmspl import AffineScorer, Spectrum, Statistics, solve
from reference import class_codes, jcmspl_iterations

LAMBDAS = {"l1": 0.01, "l2": 1.0, "l3": 0.1, "l4": 0.01}


@pytest.fixture(scope="module")
def cub(data_folder):
    if not (data_folder / "cub").is_dir():
        pytest.skip("no cub/ in the folder of benchmark data")
    features, splits = loadmat(data_folder / "cub" / "efflite2.mat"), loadmat(data_folder / "cub" / "att_splits.mat")
    X = np.ascontiguousarray(features["features"].T)
    labels = features["labels"].ravel().astype(np.int64) - 1  # the files count from 1
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train, test = (splits[name].ravel().astype(np.int64) - 1 for name in ("trainval_loc", "test_unseen_loc"))
    seen, y = np.unique(labels[train], return_inverse=True)
    vectors = splits["att"].T.astype(np.float64)
    vectors = vectors - vectors[seen].mean(axis=0)
    X = X - X[train].mean(axis=0)
    return {"X": X[train], "y": y, "vectors": vectors, "seen": seen, "X_new": X[test], "y_new": labels[test]}


def test_equals_the_textbook(cub):
    # the first 300 features: the textbook takes a minute with all of them
    X, vectors = cub["X"][:, :300].astype(np.float64), cub["vectors"][cub["seen"]]
    start = np.random.default_rng(0).standard_normal((150, 150))
    spectrum = Spectrum(Statistics.from_samples(X, cub["y"]), vectors)
    H, C = class_codes(150, 150)[:, cub["y"]], start[:, cub["y"]]
    reference = jcmspl_iterations(X.T, vectors[cub["y"]].T, H, C, tuple(LAMBDAS.values()), 3)
    for t, (A, B, _, terms) in enumerate(reference):
        solution = solve(spectrum, **LAMBDAS, start=start, tol=0, max_iter=t + 1)
        assert np.linalg.norm(solution.visual_projection - A) < 1e-8 * np.linalg.norm(A)
        # centring makes the class vectors dependent, which SciPy's solver does not notice: compare what B does to them
        expected = B @ vectors.T
        assert np.linalg.norm(solution.semantic_projection @ vectors.T - expected) < 1e-7 * np.linalg.norm(expected)
        assert solution.objective[-1] == pytest.approx(terms.sum(), rel=1e-9)


def test_birds_never_seen_are_recognised(cub):
    spectrum = Spectrum(Statistics.from_samples(cub["X"], cub["y"]), cub["vectors"][cub["seen"]])
    solution = solve(spectrum, **LAMBDAS, random_state=0, max_iter=100)
    assert solution.converged
    unseen = np.unique(cub["y_new"])
    for space in ("semantic", "concept"):
        scorer = AffineScorer.fold(
            solution.visual_projection, solution.semantic_projection, cub["vectors"][unseen], space=space
        )
        best, _ = scorer.top_k(cub["X_new"])
        right = unseen[best[:, 0]] == cub["y_new"]
        per_class = np.mean([right[cub["y_new"] == cls].mean() for cls in unseen])
        assert per_class > 0.60  # chance is 0.02
