import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

from jcmspl.methods import LAD
from support.linear import ZOO, ZOOS, explicit_data, fit, new_classes, new_samples

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def columns(F, A, L):
    """One column after the other, each projected into the unit ball, from samples."""
    for j in range(F.shape[1]):
        rest = A - F @ L + np.outer(F[:, j], L[j])
        best = rest @ L[j] / (L[j] @ L[j])
        F[:, j] = best / max(1, np.linalg.norm(best))
    return F


def within(F):
    return F / np.maximum(1, np.linalg.norm(F, axis=0))


def textbook(zoo, alpha, beta, k, rounds):
    """All of it on samples, with L in full."""
    X, Y, _, codes = explicit_data(zoo)
    H = np.eye(len(zoo.seen))[:, codes]
    D = np.linalg.svd(X)[0][:, :k]
    L = D.T @ X
    W = within(L @ Y.T @ np.linalg.inv(Y @ Y.T + np.eye(len(Y))))
    U = within(H @ L.T @ np.linalg.inv(L @ L.T + np.eye(k))) * (beta > 0)
    values = []
    for _ in range(rounds):
        L = np.linalg.solve(D.T @ D + alpha * np.eye(k) + beta * U.T @ U, D.T @ X + alpha * W @ Y + beta * U.T @ H)
        D, W = columns(D, X, L), columns(W, L, Y)
        U = columns(U, H, L) if beta else U
        parts = np.sum((X - D @ L) ** 2), np.sum((L - W @ Y) ** 2), np.sum((H - U @ L) ** 2)
        values.append(np.dot((1, alpha, beta), parts))
    return D, W, U, L, values


@ZOOS
@pytest.mark.parametrize(("alpha", "beta", "k"), [(0.1, 0.01, 4), (2.0, 0.5, 5), (0.01, 3.0, 2), (1.0, 0.0, 3)])
def test_oracle_textbook_on_samples(zoo, alpha, beta, k):
    D, W, U, _, values = textbook(zoo, alpha, beta, k, 5)
    model = fit(LAD(alpha, beta, n_latent=k, max_iter=5, tol=0), zoo)
    assert_allclose(model.objective_, values, rtol=1e-9)
    arrays = model.arrays_
    encoder = np.linalg.solve(D.T @ D + 0.01 * np.eye(k), D.T)
    assert_allclose(np.abs(arrays["encoder"]), np.abs(encoder), atol=1e-7)  # columns of D have a sign of their own
    assert_allclose(arrays["similarity_map"] @ arrays["semantic_map"], U @ W, atol=1e-8)

    Z, vectors = new_samples(zoo) @ encoder.T, new_classes(zoo)
    expected = {"latent": 1 - cdist(Z, vectors @ W.T, "cosine")}
    expected["attribute"] = 1 - cdist(
        Z @ np.linalg.solve(W.T @ W + 0.01 * np.eye(len(vectors.T)), W.T).T, vectors, "cosine"
    )
    if beta:
        expected["similarity"] = 1 - cdist(Z @ U.T, vectors @ W.T @ U.T, "cosine")
        expected["both"] = expected["latent"] + expected["similarity"]
    for compare, scores in expected.items():
        found = model.set_params(compare=compare).decision_function(zoo.X_new, candidates=zoo.unseen)
        assert_allclose(found, scores, atol=1e-7)


@ZOOS
@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.01), (1.0, 1.0), (100.0, 0.1), (0.1, 100.0)])
def test_the_objective_falls(zoo, alpha, beta):
    objective = fit(LAD(alpha, beta, tol=0, max_iter=20), zoo).objective_
    assert np.all(np.diff(objective) <= 1e-12 * objective[0])


@pytest.mark.parametrize("k", [1, 3, 6])
def test_samples_alone_are_reconstructed_as_by_principal_components(k):
    X, *_ = explicit_data(ZOO)
    oracle = PCA(k).fit(X.T)
    residual = np.sum((X.T - oracle.inverse_transform(oracle.transform(X.T))) ** 2)
    assert_allclose(fit(LAD(0, 0, n_latent=k)).objective_[-1], residual, rtol=1e-8)


def test_a_large_match_makes_latent_attributes_those_of_class_vectors():
    _, Y, *_ = explicit_data(ZOO)
    _, W, _, L, values = textbook(ZOO, 1e6, 0.1, 4, 30)
    assert_allclose(L, W @ Y, atol=1e-4)
    assert_allclose(fit(LAD(1e6, 0.1, n_latent=4, max_iter=30, tol=0)).objective_[-1], values[-1], rtol=1e-6)


def test_without_a_match_of_classes_there_are_no_similarities():
    model = fit(LAD(class_match=0))
    assert not model.arrays_["similarity_map"].any()
    both, latent = (model.set_params(compare=name).decision_function(ZOO.X_new) for name in ("both", "latent"))
    assert_allclose(both, latent, atol=1e-12)


def test_latent_attributes_are_at_most_as_many_as_directions():
    assert fit(LAD(n_latent=1000)).arrays_["encoder"].shape == (20, 20)


def test_it_stops_when_nothing_is_gained():
    assert fit(LAD(tol=0.5)).converged_
    assert not fit(LAD(tol=0, max_iter=3)).converged_
    assert fit(LAD(tol=0.5)).n_iter_ < fit(LAD(tol=0, max_iter=12)).n_iter_ == 12


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same")
def test_samples_that_are_all_the_same():
    zoo = ZOO._replace(X=np.ones_like(ZOO.X))
    assert_array_equal(fit(LAD(), zoo).decision_function(zoo.X), 0)


def test_a_parameter_that_is_set_after_fit_is_checked():
    model = fit(LAD()).set_params(compare="all")
    with pytest.raises(ValueError, match="compare must be one of"):
        model.predict(ZOO.X)
