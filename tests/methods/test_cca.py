import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA as CCAOfScikitLearn

from jcmspl.methods import CCA
from support.animals import make_zoo
from support.linear import ZOO, ZOOS, explicit_data, fit

LOW = make_zoo(n_seen=12, n_attributes=5, n_features=9, per_class=10, noise=0.8)  # nothing is singular


def projected(model, zoo):
    X, Y, *_ = explicit_data(zoo)
    return model.visual_projection_ @ X, model.semantic_projection_ @ Y


@ZOOS
@pytest.mark.parametrize(("visual", "semantic"), [(1e-3, 10.0), (10.0, 0.1)])
def test_oracle_generalised_eigenproblem_of_scipy(zoo, visual, semantic):
    X, Y, *_ = explicit_data(zoo)
    of_samples, of_classes = X @ X.T + visual * np.eye(len(X)), Y @ Y.T + semantic * np.eye(len(Y))
    both = X @ Y.T @ np.linalg.solve(of_classes, Y @ X.T)
    squares, directions = eigh(both, of_samples)
    model = fit(CCA(visual, semantic, n_components=3), zoo)
    A, B = model.visual_projection_, model.semantic_projection_
    assert_allclose(A @ X @ Y.T @ B.T, np.diag(np.sqrt(squares[::-1][:3])), atol=1e-9)
    signs = np.sign((A * directions.T[::-1][:3]).sum(axis=1, keepdims=True))
    assert_allclose(signs * A, directions.T[::-1][:3], atol=1e-7 * np.abs(A).max())


def test_oracle_scikit_learn_has_the_same_correlations():
    X, Y, *_ = explicit_data(LOW)
    oracle = CCAOfScikitLearn(n_components=3, scale=False, tol=1e-12, max_iter=10000).fit(X.T, Y.T)
    both = np.hstack(oracle.transform(X.T, Y.T))
    expected = np.diag(np.corrcoef(both.T)[:3, 3:])
    P, Q = projected(fit(CCA(0, 0, n_components=3), LOW), LOW)
    assert_allclose(np.diag(P @ Q.T), expected, atol=1e-6)


@ZOOS
def test_projections_are_uncorrelated_but_for_their_pairs(zoo):
    P, Q = projected(fit(CCA(0, 0), zoo), zoo)
    for one in (P @ P.T, Q @ Q.T):
        assert_allclose(one, np.eye(len(P)), atol=1e-7)
    pairs = P @ Q.T
    assert_allclose(pairs, np.diag(pairs.diagonal()), atol=1e-7)
    assert np.all(np.diff(pairs.diagonal()) <= 1e-9)
    assert 0 < pairs.diagonal().min() <= pairs.diagonal().max() <= 1 + 1e-9


def test_class_vectors_for_samples_correlate_wholly():
    zoo = LOW._replace(X=np.array([LOW.table[name] for name in LOW.y]))
    P, Q = projected(fit(CCA(0, 0), zoo), zoo)
    assert_allclose(np.diag(P @ Q.T), 1, atol=1e-9)


def test_fewer_components_are_the_first_ones():
    all_of_them, few = fit(CCA()), fit(CCA(n_components=2))
    assert_allclose(few.visual_projection_, all_of_them.visual_projection_[:2])
    assert len(fit(CCA(n_components=1000)).visual_projection_) == len(all_of_them.visual_projection_) == 5


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same")
def test_samples_that_are_all_the_same():
    zoo = ZOO._replace(X=np.ones_like(ZOO.X))
    assert_allclose(fit(CCA(), zoo).decision_function(ZOO.X_new), 0)


def test_no_more_pairs_than_classes_allow():
    """Class vectors are not centred: of their rank, one more than samples have, rounding errors would make a pair."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_seen = int(rng.integers(4, 8))
        V, M = rng.random((n_seen + 3, 14)), rng.standard_normal((14, 40))
        y = np.arange(80) % n_seen
        X, new = V[y] @ M + rng.standard_normal((80, 40)), rng.standard_normal((20, 40))
        model = CCA(1.0, feature_normalisation="zscore", class_normalisation="sample_l2", metric="dot")
        scores, again = (
            model.fit(X[rows], y[rows], class_vectors=V).decision_function(new, candidates="unseen")
            for rows in (np.arange(80), rng.permutation(80))
        )
        assert len(model.visual_projection_) == n_seen - 1
        assert_allclose(again, scores, atol=1e-9 * np.abs(scores).max())
