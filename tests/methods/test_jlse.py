"""Codes of samples and classes on the simplex, and what matches them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.svm import LinearSVC

from jcmspl.methods import ESZSL, JLSE
from support.animals import make_zoo
from support.linear import explicit_data
from support.normalised import explicit

ZOO = make_zoo(n_seen=7, n_attributes=10)
PLAIN = {"feature_normalisation": "sample_l2+center"}


def fit(model, zoo=ZOO, **options):
    return model.set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def shares_of(points, atoms, ridge):
    """As the sum is one, what is least is the length of sum_y p_y (s_y - a): a ray that NNLS finds."""
    found = []
    for point in points:
        around = atoms - point
        R = np.linalg.cholesky(around @ around.T + ridge * np.eye(len(atoms))).T
        ray, _ = nnls(R, np.linalg.solve(R.T, np.ones(len(atoms))))
        found.append(ray / ray.sum())
    return np.array(found)


def coded(visual_ridge, semantic_ridge, zoo=ZOO):
    """Codes of samples, of new samples, of seen and of unseen classes, and the class numbers."""
    X, _, S, y = explicit_data(zoo)
    D = np.array([X[:, y == c].mean(axis=1) for c in range(S.shape[1])])
    X_new = explicit("sample_l2", zoo.X_new) - explicit("sample_l2", zoo.X).mean(axis=0)
    seen = explicit("sample_l2", zoo.table.select(zoo.seen).vectors)
    U = explicit("sample_l2", zoo.table.select(zoo.unseen).vectors) - seen.mean(axis=0)
    of_samples = (shares_of(rows, D, visual_ridge) for rows in (X.T, X_new))
    of_classes = (shares_of(rows, S.T, semantic_ridge) for rows in (S.T, U))
    return *of_samples, *of_classes, y


@pytest.mark.parametrize("ridges", [(0.1, 0.01), (1.0, 0.5)])
def test_oracle_eszsl_between_codes(ridges):
    Z, Z_new, S, U, y = coded(*ridges)
    options = {"feature_normalisation": "none", "class_normalisation": "none"}
    names = [*ZOO.seen, *ZOO.unseen]
    between = ESZSL(3.0, 0.2, **options).fit(
        Z, np.array(ZOO.seen)[y], class_vectors=dict(zip(names, np.vstack([S, U]), strict=True))
    )
    model = fit(
        JLSE(visual_penalty=3.0, semantic_penalty=0.2, visual_ridge=ridges[0], semantic_ridge=ridges[1], **PLAIN)
    )
    assert_allclose(model.matching_, between.visual_projection_, atol=1e-7)
    for candidates in ("seen", "unseen"):
        expected = between.decision_function(Z_new, candidates=candidates)
        assert_allclose(model.decision_function(ZOO.X_new, candidates=candidates), expected, atol=1e-7)


def test_oracle_support_vector_machines_of_scikit_learn():
    """Without a ridge the code of a seen class is a unit vector: then there is a machine for each class."""
    Z, *_, y = coded(0.1, 1e-9)
    machines = LinearSVC(C=1 / (2 * 0.5), fit_intercept=False, tol=1e-10, max_iter=100_000).fit(Z, y)
    model = fit(
        JLSE(
            loss="squared_hinge",
            visual_penalty=0.5,
            semantic_ridge=0,
            visual_ridge=0.1,
            max_iter=2000,
            tol=1e-15,
            **PLAIN,
        )
    )
    assert_allclose(model.matching_, machines.coef_, atol=1e-3 * np.abs(machines.coef_).max())


def test_the_hinge_between_codes():
    """The gradient of the objective, written out, vanishes."""
    Z, _, S, _, y = coded(0.1, 0.3)
    model = fit(
        JLSE(
            loss="squared_hinge",
            semantic_ridge=0.3,
            visual_penalty=2.0,
            visual_ridge=0.1,
            max_iter=2000,
            tol=1e-16,
            **PLAIN,
        )
    )
    W, T = model.matching_, np.where(np.arange(len(S)) == y[:, None], 1, -1)
    lacking = np.maximum(0, 1 - T * (Z @ W.T @ S.T))
    gradient = 2 * 2.0 * W - 2 * S.T @ (lacking * T).T @ Z
    assert np.abs(gradient).max() < 1e-4 * np.abs(S.T @ T.T @ Z).max()


def test_oracle_of_the_hinge_a_support_vector_machine_on_pairs():
    """Pairs of a sample and a class are the samples of one machine, whose features are the products of codes."""
    Z, _, S, _, y = coded(0.1, 0.3)
    T = np.where(np.arange(len(S)) == y[:, None], 1, -1)
    pairs = np.einsum("jk,il->ijkl", S, Z).reshape(T.size, -1)
    machine = LinearSVC(loss="hinge", C=1 / (2 * 0.02), fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    W = machine.fit(pairs, T.ravel()).coef_.reshape(len(S), -1)

    def objective(W):
        return np.maximum(0, 1 - T * (Z @ W.T @ S.T)).sum() + 0.02 * np.sum(W**2)

    options = {"visual_penalty": 0.02, "visual_ridge": 0.1, "semantic_ridge": 0.3, "max_iter": 2000, "tol": 1e-12}
    model = fit(JLSE(loss="hinge", **options, **PLAIN))
    found, least = objective(model.matching_), objective(W)
    assert model.objective_[-1] <= found <= model.objective_[-1] + 0.015 * T.size
    assert least * (1 - 1e-6) <= found < 1.01 * least


def test_the_objective_of_the_closed_form():
    Z, _, S, _, y = coded(0.1, 0.3)
    model = fit(JLSE(visual_penalty=2.0, semantic_penalty=0.5, visual_ridge=0.1, semantic_ridge=0.3, **PLAIN))
    T, W = np.where(np.arange(len(S)) == y[:, None], 1, -1), model.matching_
    value = np.sum((T - Z @ W.T @ S.T) ** 2) + np.sum(W**2) + 2 * np.sum((S @ W) ** 2) + 0.5 * np.sum((Z @ W.T) ** 2)
    assert model.objective_ == pytest.approx([value])


def test_progress_is_told_and_stops_the_fit(monkeypatch):
    told = []

    def update(self, done, note=""):
        if self.what == "coding":
            told.append((done, self.total))
            if done > 40:
                raise KeyboardInterrupt

    monkeypatch.setattr("jcmspl.methods.jlse._BLOCK", 20)
    monkeypatch.setattr("jcmspl.support.progress.Progress.update", update)
    with pytest.raises(KeyboardInterrupt):
        JLSE().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert told == [(20, len(ZOO.X)), (40, len(ZOO.X)), (60, len(ZOO.X))]


def test_a_seen_class_is_itself_without_a_ridge():
    model = fit(JLSE(semantic_ridge=0))
    vectors = model.arrays_["semantic_atoms"]
    weights = model._scorer(vectors, "own").function.args[1]
    assert_allclose(weights, model.matching_, atol=1e-6 * np.abs(weights).max())


def test_codes_that_are_classes_are_named_so():
    zoo = make_zoo(n_seen=7, n_attributes=10, noise=0)
    model = fit(JLSE(visual_ridge=0, semantic_ridge=0), zoo)
    model.arrays_ = model.arrays_ | {"matching": np.eye(7)}
    assert_array_equal(model.predict(zoo.X, candidates="seen"), zoo.y)


def test_samples_that_lie_close_together():
    """A common part of classes does not make all of their codes the same."""
    near = ZOO._replace(X=ZOO.X + 300.0, X_new=ZOO.X_new + 300.0)
    assert fit(JLSE(), near).score(near.X, near.y, candidates="seen") > 0.9


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_samples_that_weigh_twice_are_there_twice(loss):
    weights = np.where(np.arange(len(ZOO.X)) % 3 == 0, 2, 1)
    one = fit(JLSE(loss=loss, tol=1e-12), sample_weight=weights)
    two = fit(
        JLSE(loss=loss, tol=1e-12),
        ZOO._replace(X=np.repeat(ZOO.X, weights, axis=0), y=np.repeat(ZOO.y, weights)),
    )
    assert_allclose(one.matching_, two.matching_, atol=1e-5)


def test_blocks_do_not_matter(monkeypatch):
    expected = [fit(JLSE(loss=loss)).matching_ for loss in ("squared", "squared_hinge")]
    monkeypatch.setattr("jcmspl.methods.jlse._BLOCK", 7)
    for loss, matching in zip(("squared", "squared_hinge"), expected, strict=True):
        assert_allclose(fit(JLSE(loss=loss)).matching_, matching, atol=1e-6)


def test_what_was_fitted_counts():
    model = fit(JLSE())
    before = model.decision_function(ZOO.X_new)
    assert_array_equal(model.set_params(visual_ridge=5.0, semantic_ridge=5.0).decision_function(ZOO.X_new), before)
