"""Binary codes of samples and classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.methods import BZSL
from jcmspl.methods.bzsl import orthogonal_factor
from support.animals import make_zoo
from support.linear import explicit_data

ZOO = make_zoo(n_seen=12)
PLAIN = {"feature_normalisation": "sample_l2+center", "n_bits": 6, "max_iter": 8, "tol": 0}


def fit(model, zoo=ZOO):
    return model.fit(zoo.X, zoo.y, class_vectors=zoo.table)


def sign(values):
    return np.where(values >= 0, 1.0, -1.0)


def polar(A):
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > 1e-6 * s[0]
    return U[:, kept] @ Vt[kept]


def textbook(zoo, n_bits, alpha, beta, n_iterations, seed=0):
    """The objective with all matrices written out, samples in columns; returns P, Q, B, C and values."""
    X, _, S, codes = explicit_data(zoo)
    n = len(codes)
    Z = np.eye(S.shape[1])[codes].T
    A = S - S.mean(axis=1, keepdims=True)
    X = X * np.sqrt(n_bits / np.mean(np.sum(X**2, axis=0)))
    A = A * np.sqrt(n_bits / np.mean(np.sum((A @ Z) ** 2, axis=0)))
    C = sign(A.T @ np.random.RandomState(seed).standard_normal((len(A), n_bits))).T
    P, Q = np.zeros((len(X), n_bits)), polar(A @ Z @ (C @ Z).T)
    values = []
    for _ in range(n_iterations):
        B = sign(C @ Z + alpha * P.T @ X)
        C = sign(B @ Z.T + beta * Q.T @ A @ Z @ Z.T)
        P, Q = polar(X @ B.T), polar(A @ Z @ (C @ Z).T)
        value = np.trace(B.T @ C @ Z) + alpha * np.trace(B.T @ P.T @ X) + beta * np.trace((C @ Z).T @ Q.T @ A @ Z)
        values.append(value / (n * n_bits))
    return P, Q, B, C, values


@pytest.mark.parametrize(("n_bits", "alpha", "beta"), [(6, 1.0, 1.0), (6, 3.0, 0.3), (30, 2.0, 5.0), (3, 0.0, 0.0)])
def test_oracle_of_the_textbook(n_bits, alpha, beta):
    P, Q, *_, values = textbook(ZOO, n_bits, alpha, beta, 8)
    model = fit(BZSL(**PLAIN | {"n_bits": n_bits}, visual_weight=alpha, semantic_weight=beta))
    n = len(model.objective_)  # it may end earlier, where nothing changes
    assert_allclose(model.objective_, values[:n], rtol=1e-9)
    P, Q, *_ = textbook(ZOO, n_bits, alpha, beta, n)
    assert_allclose(model.visual_projection_, P.T, atol=1e-8)
    assert_allclose(model.semantic_projection_, Q.T, atol=1e-8)
    names = list(ZOO.table)
    samples = sign(model.feature_normalisation_.of_rows(ZOO.X_new) @ P)
    vectors = model.class_normalisation_.of_rows(ZOO.table.vectors)
    seen = model.class_normalisation_.of_rows(ZOO.table.select(ZOO.seen).vectors)
    classes = sign((vectors - seen.mean(axis=0)) @ Q)
    expected = (samples @ classes.T - n_bits) / 2
    assert_array_equal(model.decision_function(ZOO.X_new, candidates=names), expected)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (10.0, 0.1), (0.1, 10.0)])
def test_the_objective_never_falls(weights):
    model = fit(BZSL(n_bits=64, max_iter=15, tol=0, visual_weight=weights[0], semantic_weight=weights[1]))
    assert (np.diff(model.objective_) >= -1e-12).all()


@pytest.mark.parametrize("n_bits", [4, 200])
def test_projections_are_orthogonal(n_bits):
    model = fit(BZSL(n_bits=n_bits, visual_weight=3.0))
    for projection in (model.visual_projection_, model.semantic_projection_):
        values = np.linalg.svd(projection, compute_uv=False)
        assert (np.isclose(values, 1, atol=1e-6) | (values < 1e-6)).all()  # 0 where there is no data
    if n_bits == 4:
        P = model.visual_projection_
        assert_allclose(P @ P.T, np.eye(4), atol=1e-8)


def test_without_weights_codes_are_those_of_the_class():
    *_, B, C, _ = textbook(ZOO, 6, 0.0, 0.0, 5)
    codes = explicit_data(ZOO)[3]
    assert_array_equal(B, C[:, codes])


def test_a_bit_that_is_flipped_everywhere_changes_nothing():
    model = fit(BZSL(n_bits=64))
    before = model.decision_function(ZOO.X_new)
    for name in ("visual_projection", "semantic_projection"):
        model.arrays_[name] = model.arrays_[name] * np.where(np.arange(64) == 5, -1.0, 1.0)[:, None]
    model.arrays_ = dict(model.arrays_)
    assert_array_equal(model.decision_function(ZOO.X_new), before)


def test_samples_that_weigh_twice_are_there_twice():
    weights = np.where(np.arange(len(ZOO.X)) % 3 == 0, 2, 1)
    one = BZSL(n_bits=32).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=weights)
    two = BZSL(n_bits=32).fit(np.repeat(ZOO.X, weights, axis=0), np.repeat(ZOO.y, weights), class_vectors=ZOO.table)
    assert_allclose(one.visual_projection_, two.visual_projection_, atol=1e-8)


def test_blocks_do_not_matter(monkeypatch):
    whole = fit(BZSL(n_bits=32))
    scores = whole.decision_function(ZOO.X_new)
    best = whole.predict_topk(ZOO.X_new, 3)
    monkeypatch.setattr("jcmspl.methods.bzsl._BLOCK", 7)
    again = fit(BZSL(n_bits=32))
    assert_allclose(again.visual_projection_, whole.visual_projection_, atol=1e-10)
    assert_array_equal(again.decision_function(ZOO.X_new), scores)
    assert_array_equal(again.predict_topk(ZOO.X_new, 3), best)


def test_accuracy_grows_with_the_length_of_codes():
    zoo = make_zoo(n_seen=30, n_unseen=10, n_attributes=12, n_features=30)
    short, long = (fit(BZSL(n_bits=n), zoo).score(zoo.X_new, zoo.y_new) for n in (4, 512))
    assert long > short + 0.2


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (6, 6)])
def test_orthogonal_factors(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    assert_allclose(orthogonal_factor(A), polar(A), atol=1e-10)
    low = A[:, :2] @ A[:2]
    assert_allclose(orthogonal_factor(low), polar(low), atol=1e-8)
    assert_array_equal(orthogonal_factor(np.zeros(shape)), np.zeros(shape))
