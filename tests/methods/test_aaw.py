"""Joint dictionaries of samples and class vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.stats import entropy
from sklearn.decomposition import sparse_encode

from jcmspl.core.constrained import sparse_codes
from jcmspl.methods import AAW
from jcmspl.methods.aaw import Entropy, aware_codes, best_atoms
from support.animals import make_zoo
from support.linear import explicit_data

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ZOO = make_zoo(n_seen=7)


def fit(model, zoo=ZOO, **options):
    return model.set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def problem(n=30, r=12, m=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.standard_normal((r, m))


def test_oracle_of_training():
    """Two iterations on samples in memory: codes by scikit-learn, then atoms one by one."""
    X, Y, S, y = explicit_data(ZOO)
    X, Y = X.T, Y.T
    m, d, c = X.shape[1], Y.shape[1], S.shape[1]
    mixing = np.vstack([np.eye(c), np.random.RandomState(0).standard_normal((3, c))])
    means = np.array([X[y == number].mean(axis=0) for number in range(c)])
    Dx, Dz = (D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True)) for D in (mixing @ means, mixing @ S.T))
    values = []
    for _ in range(2):
        stacked, targets = np.hstack([Dx / m**0.5, Dz / d**0.5]), np.hstack([X / m**0.5, Y / d**0.5])
        A = sparse_encode(targets, stacked, algorithm="lasso_cd", alpha=0.05 / m, max_iter=100_000)
        fits = ((X - A @ Dx) ** 2).sum() / m + ((Y - A @ Dz) ** 2).sum() / d
        values.append((fits + 2 * 0.05 / m * np.abs(A).sum()) / len(X))
        for D, target in ((Dx, X), (Dz, Y)):
            for _ in range(3):
                for j in range(len(D)):
                    if not A[:, j].any():
                        continue
                    rest = target - A @ D + np.outer(A[:, j], D[j])
                    atom = A[:, j] @ rest / (A[:, j] @ A[:, j])
                    D[j] = atom / max(1, np.linalg.norm(atom))
    model = fit(AAW(10, sparsity=0.05, max_iter=2, tol=0, refit=False))
    assert_allclose(model.objective_, values, rtol=1e-3)
    assert_allclose(model.visual_atoms_, Dx, atol=0.02)


def test_the_objective_never_rises():
    model = fit(AAW(12, max_iter=12, tol=0, refit=False))
    assert (np.diff(model.objective_) <= 1e-6 * model.objective_[:-1]).all()  # but for the gaps of codes
    assert model.objective_[-1] < model.objective_[0]
    for atoms in (model.visual_atoms_, model.semantic_atoms_):
        assert (np.linalg.norm(atoms, axis=1) <= 1 + 1e-12).all()


def test_the_last_step_is_least_squares_on_codes_of_samples():
    model, before = fit(AAW(10)), fit(AAW(10, refit=False))
    assert_array_equal(model.visual_atoms_, before.visual_atoms_)
    X, Y, *_ = explicit_data(ZOO)
    codes = sparse_encode(X.T, model.visual_atoms_, algorithm="lasso_cd", alpha=0.1, max_iter=100_000)
    expected = np.linalg.lstsq(codes, Y.T, rcond=1e-6)[0]
    assert_allclose(codes @ model.semantic_atoms_, codes @ expected, atol=1e-3)


def test_atoms_are_better_and_within_the_ball():
    X, D = problem()
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = np.random.default_rng(1).standard_normal((30, 12))
    A[:, 4] = 0
    new = best_atoms(D, A.T @ A, A.T @ X)
    assert np.linalg.norm(X - A @ new) < np.linalg.norm(X - A @ D)
    assert (np.linalg.norm(new, axis=1) <= 1 + 1e-12).all()
    assert_array_equal(new[4], D[4])


def test_without_sparsity_it_is_a_linear_map():
    model = fit(AAW(5, sparsity=0))
    Dx, Dz = model.visual_atoms_.T, model.semantic_atoms_.T
    Z = model.feature_normalisation_.of_rows(ZOO.X_new)
    assert_allclose(model.transform(ZOO.X_new), Z @ np.linalg.pinv(Dx, 1e-10).T @ Dz.T, atol=1e-8)


def test_where_codes_are_zero():
    """The paper's bound: λ of at least 2 |Dx'x|_inf r / m, which is a sparsity of |Dx'x|_inf."""
    model = fit(AAW())
    Z = model.feature_normalisation_.of_rows(ZOO.X_new)
    least = np.abs(Z @ model.visual_atoms_.T).max(axis=1)
    for factor, is_zero in ((1.0, True), (0.98, False)):
        model.arrays_ = model.arrays_ | {"penalty": np.array(factor * least[0])}
        assert (not model.transform(ZOO.X_new[:1]).any()) == is_zero


@pytest.mark.parametrize("parameters", [{"entropy_weight": 0}, {"sharpness": 0}])
def test_aware_without_an_entropy_is_agnostic(parameters):
    model = fit(AAW(sparsity=0.1))
    expected = model.decision_function(ZOO.X_new, candidates="unseen")
    model.set_params(prediction="aware", **parameters)
    scores = model.decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())


def test_one_candidate_leaves_nothing_unclear():
    _, D = problem()
    unclear = Entropy(D, D[:1], 3.0, 2.0)
    values, gradients = unclear.of(np.random.default_rng(0).standard_normal((4, 12)))
    assert_allclose(values, 0, atol=1e-12)
    assert_allclose(gradients, 0, atol=1e-12)


def test_entropies_and_their_gradients():
    rng = np.random.default_rng(0)
    atoms, U, a = rng.standard_normal((12, 5)), rng.standard_normal((4, 5)), rng.standard_normal(12) / 4
    unclear = Entropy(atoms, U, 3.0, 0.2)
    value, gradient = unclear.of(a[None])
    p = np.exp(-0.2 * ((a @ atoms - U) ** 2).sum(axis=1))
    assert_allclose(value, 3 * entropy(p / p.sum()))
    assert_allclose(gradient[0], approx_fprime(a, lambda b: unclear.of(b[None])[0][0], 1e-7), atol=1e-5)


def test_aware_codes_are_better_and_clearer():
    X, D = problem()
    rng = np.random.default_rng(3)
    atoms, U = rng.standard_normal((12, 5)), rng.standard_normal((4, 5))
    start = sparse_codes(D @ D.T, X @ D.T, (X**2).sum(axis=1), 0.3).codes

    def value(A, unclear):
        return ((X - A @ D) ** 2).sum(axis=1) / 2 + 0.3 * np.abs(A).sum(axis=1) + unclear.of(A)[0]

    for weight in (0.1, 30.0):
        unclear = Entropy(atoms, U, weight, 0.2)
        codes = aware_codes(start, X, D, 0.3, unclear)
        assert (value(codes, unclear) <= value(start, unclear)).all()
    assert (unclear.of(codes)[0] <= unclear.of(start)[0] + 1e-9).all()


def test_aware_prediction():
    model = fit(AAW(prediction="aware", entropy_weight=0.1))
    assert model.score(ZOO.X_new, ZOO.y_new) > 0.6
    for candidates in (ZOO.unseen[:1], ZOO.unseen, list(ZOO.table)):
        assert model.decision_function(ZOO.X_new, candidates=candidates).shape == (len(ZOO.X_new), len(candidates))


def test_samples_that_weigh_twice_are_there_twice():
    weights = np.where(np.arange(len(ZOO.X)) % 3 == 0, 2, 1)
    one = fit(AAW(), sample_weight=weights)
    two = fit(AAW(), ZOO._replace(X=np.repeat(ZOO.X, weights, axis=0), y=np.repeat(ZOO.y, weights)))
    assert_allclose(one.visual_atoms_, two.visual_atoms_, atol=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    whole = fit(AAW())
    monkeypatch.setattr("jcmspl.methods.aaw._BLOCK", 7)
    assert_allclose(fit(AAW()).visual_atoms_, whole.visual_atoms_, atol=1e-7)


def test_a_parameter_that_is_set_after_fit_is_checked():
    with pytest.raises(ValueError, match="prediction must be one of 'agnostic', 'aware'"):
        fit(AAW()).set_params(prediction="sometimes").predict(ZOO.X_new)
