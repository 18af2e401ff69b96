import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.methods import LESD, RPL
from support.animals import make_zoo
from support.linear import ZOO, ZOOS, explicit_data, fit, new_classes, new_samples

WHOLE = {"class_share": 1.0}


def textbook(X, Y, alpha, rank):
    """By a Cholesky factor and the full regression, on samples."""
    gram = Y @ Y.T + alpha * np.eye(len(Y))
    W = X @ Y.T @ np.linalg.inv(gram)
    P = np.linalg.svd(W @ np.linalg.cholesky(gram))[0][:, :rank]
    return P, P.T @ W


@ZOOS
@pytest.mark.parametrize(("alpha", "rank"), [(0.01, 2), (1.0, 4), (50.0, 1)])
def test_oracle_textbook_on_samples(zoo, alpha, rank):
    X, Y, *_ = explicit_data(zoo)
    P, D = textbook(X, Y, alpha, rank)
    model = fit(LESD(alpha, n_components=rank, **WHOLE), zoo)
    assert_allclose(model.visual_projection_.T @ model.semantic_projection_, P @ D, atol=1e-10)
    assert_allclose(np.abs(model.visual_projection_ @ P), np.eye(rank), atol=1e-8)


def test_oracle_the_mean_of_squared_distances_over_members():
    X, Y, _, codes = explicit_data(ZOO)
    model = LESD(2.0, n_components=2, n_members=4, class_share=0.6, metric="euclidean")
    Z, vectors, expected = new_samples(ZOO), new_classes(ZOO), 0.0
    for classes in model._classes_of_members(6):
        own = np.isin(codes, classes)
        P, D = textbook(X[:, own], Y[:, own], 2.0, 2)
        expected = expected - (((Z @ P)[:, None] - vectors @ D.T) ** 2).sum(axis=2) / 4
    found = 2 * fit(model).decision_function(ZOO.X_new, candidates=ZOO.unseen)
    found, expected = (scores - scores.mean(axis=1, keepdims=True) for scores in (found, expected))
    assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@ZOOS
def test_of_full_rank_it_is_rpl(zoo):
    """And so it is of the rank that classes give, by default."""
    rpl = fit(RPL(3.0), zoo)
    for rank in (None, 100):
        model = fit(LESD(3.0, n_components=rank, space="visual", **WHOLE), zoo)
        A, B = model.visual_projection_, model.semantic_projection_
        assert_allclose(A.T @ B, rpl.visual_projection_.T, atol=1e-11)
        assert_array_equal(model.predict(zoo.X_new), rpl.predict(zoo.X_new))


def test_no_map_of_the_same_rank_has_a_lower_error():
    X, Y, *_ = explicit_data(ZOO)
    alpha, rng = 0.5, np.random.default_rng(0)
    model = fit(LESD(alpha, n_components=2, **WHOLE))
    A, B = model.visual_projection_, model.semantic_projection_
    assert np.linalg.matrix_rank(A.T @ B) == 2

    def error(A, B):
        return np.sum((X - A.T @ B @ Y) ** 2) + alpha * np.sum((A.T @ B) ** 2)

    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            others = (matrix + size * rng.standard_normal(matrix.shape) * np.abs(matrix).max() for matrix in (A, B))
            assert error(*others) >= error(A, B)


def test_members():
    one, two = (fit(LESD(random_state=seed)) for seed in (0, 0))
    assert_array_equal(one.visual_projection_, two.visual_projection_)
    assert not np.allclose(one._readout(), fit(LESD(random_state=1))._readout())
    whole = [fit(LESD(n_members=n, random_state=n, **WHOLE)) for n in (1, 7)]
    assert_array_equal(whole[0].visual_projection_, whole[1].visual_projection_)


def test_a_linear_world_is_recovered():
    zoo = make_zoo(n_seen=12, noise=0)
    plain = {"feature_normalisation": "none", "class_normalisation": "none"}
    model = fit(LESD(0, n_components=8, metric="euclidean", **plain), zoo)
    assert model.score(zoo.X_new, zoo.y_new) == 1


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same")
def test_samples_that_are_all_the_same():
    zoo = ZOO._replace(X=np.ones_like(ZOO.X))
    assert_allclose(fit(LESD(), zoo).decision_function(ZOO.X_new), 0)
