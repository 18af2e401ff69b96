import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_sylvester

from jcmspl.methods import LESAE, RPL, SAE, RidgeVS
from support.animals import make_zoo
from support.linear import ZOO, ZOOS, assert_map, explicit_data, fit

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FULL = make_zoo(n_seen=12, n_features=10)  # neither coefficient is singular
PLAIN = {"feature_normalisation": "none", "class_normalisation": "none"}


def objective(W, X, Y, weight, low_rank, rank):
    tail = np.linalg.svd(W)[1][rank:]
    return np.sum((X - W.T @ Y) ** 2) + weight * np.sum((W @ X - Y) ** 2) + low_rank * np.sum(tail**2)


@pytest.mark.parametrize(("weight", "low_rank", "rank"), [(0.1, 5.0, 3), (1.0, 100.0, 1), (10.0, 0.1, 5)])
def test_oracle_sylvester_solver_of_scipy_by_turns(weight, low_rank, rank):
    X, Y, *_ = explicit_data(FULL, "none")
    W = solve_sylvester(Y @ Y.T, weight * X @ X.T, (1 + weight) * Y @ X.T)
    values = [objective(W, X, Y, weight, low_rank, rank)]
    for _ in range(6):
        T = np.linalg.eigh(W @ W.T)[1][:, : len(Y) - rank]
        W = solve_sylvester(Y @ Y.T + low_rank * T @ T.T, weight * X @ X.T, (1 + weight) * Y @ X.T)
        values.append(objective(W, X, Y, weight, low_rank, rank))
    model = fit(LESAE(weight, low_rank, rank=rank, max_iter=7, tol=0, **PLAIN), FULL)
    assert_map(model, W)
    assert_allclose(model.objective_, values, rtol=1e-8)


@ZOOS
@pytest.mark.parametrize("rank", [8, 12, 100])
def test_with_full_rank_it_is_the_semantic_autoencoder(zoo, rank):
    model = fit(LESAE(0.7, rank=rank), zoo)
    assert_allclose(model.visual_projection_, fit(SAE(0.7), zoo).visual_projection_, atol=1e-13)
    assert model.n_iter_ == 1


@ZOOS
@pytest.mark.parametrize("low_rank", [0.1, 10.0, 1e4])
def test_the_objective_falls(zoo, low_rank):
    X, Y, *_ = explicit_data(zoo)
    model = fit(LESAE(0.5, low_rank, rank=2, tol=0), zoo)
    assert np.all(np.diff(model.objective_) <= 1e-12 * model.objective_[0])
    assert_allclose(model.objective_[-1], objective(model.visual_projection_, X, Y, 0.5, low_rank, 2), rtol=1e-9)


@ZOOS
def test_a_large_penalty_leaves_the_rank(zoo):
    values = np.linalg.svd(fit(LESAE(low_rank=1e8, rank=2), zoo).visual_projection_)[1]
    assert values[1] > 1e-2
    assert values[2] < 1e-6


def test_limits_of_the_weight():
    for weight, peer in ((1e9, RidgeVS(0, **PLAIN)), (1e-9, RPL(0, **PLAIN))):
        model = fit(LESAE(weight, 0.0, **PLAIN), FULL)
        expected = fit(peer, FULL).visual_projection_
        assert_allclose(model.visual_projection_, expected, atol=1e-5 * np.abs(expected).max())


def test_by_default_the_rank_is_half_of_what_class_vectors_span():
    found, expected = (fit(LESAE(rank=rank)) for rank in (None, 2))  # 6 classes, centred: 5
    assert_array_equal(found.visual_projection_, expected.visual_projection_)


def test_it_stops_when_nothing_is_gained():
    assert fit(LESAE(tol=0.5)).converged_
    assert not fit(LESAE(tol=0, max_iter=3)).converged_
    assert 1 < fit(LESAE(tol=0.5), ZOO).n_iter_ < fit(LESAE(tol=0, max_iter=20), ZOO).n_iter_ == 20
