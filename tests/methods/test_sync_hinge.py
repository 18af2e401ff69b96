import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from jcmspl.data.training import TrainingData
from jcmspl.methods import SynC, SynCHinge, sync_hinge
from jcmspl.model import iterations
from support.linear import ZOO, fit, refuses
from support.normalised import explicit

X, CODES = explicit("sample_l2", ZOO.X), np.array([ZOO.seen.index(label) for label in ZOO.y])
N, C = len(X), len(ZOO.seen)


@pytest.mark.parametrize("penalty", [1e-4, 0.1])
def test_oracle_support_vector_machines_of_scikit_learn(penalty):
    oracle = LinearSVC(C=1 / (N * C * penalty), fit_intercept=False, dual=False, tol=1e-10).fit(X, CODES)
    W = fit(SynCHinge(penalty, tol=1e-14)).arrays_["classifiers"]
    assert_allclose(W, oracle.coef_, atol=1e-4 * np.abs(W).max())


def largest_violations(W, margins):
    scores = X @ W.T
    violations = scores - scores[np.arange(N), CODES][:, None] + margins[CODES]
    return violations.max(axis=1).mean()


def distances():
    seen = explicit("sample_l2", ZOO.table.select(ZOO.seen).vectors)
    return cdist(seen, seen) / np.median(pdist(seen))


@pytest.mark.parametrize("loss", ["crammer_singer", "structured"])
def test_oracle_the_largest_violation_as_a_program_with_constraints(loss):
    """min t + penalty/2 |W|^2 by cutting planes on the mean loss, each step solved by SciPy in the dual."""
    penalty = 0.03
    margins = 1 - np.eye(C) if loss == "crammer_singer" else distances()
    model = fit(SynCHinge(penalty, loss=loss, tol=1e-10, max_iter=500))
    W = model.arrays_["classifiers"]
    found = largest_violations(W, margins) + penalty / 2 * np.sum(W**2)
    bound = lower_bound(margins, penalty)
    slack = 0.03 * np.log(C) * margins.max()
    assert bound - 1e-9 < found < bound + slack
    assert found <= model.objective_[-1] < found + slack


def lower_bound(margins, penalty, rounds=10):
    """Return the value of the best piecewise linear model of the loss: cutting planes, never above the minimum."""
    slopes, offsets, W = [], [], np.zeros((C, X.shape[1]))
    for _ in range(rounds):
        scores = X @ W.T
        violations = scores - scores[np.arange(N), CODES][:, None] + margins[CODES]
        worst = violations.argmax(axis=1)
        slope = np.zeros_like(W)
        np.add.at(slope, worst, X / N)
        np.add.at(slope, CODES, -X / N)
        slopes.append(slope.ravel())
        offsets.append(margins[CODES, worst].mean())
        A, b = np.array(slopes), np.array(offsets)
        # the dual: max b'a - |A'a|^2 / (2 penalty) over the simplex
        shares, value = simplex_programme(A @ A.T / penalty, b)
        W = -(A.T @ shares / penalty).reshape(W.shape)
    return -value


def simplex_programme(gram, b):
    """Return the point of the simplex with the least a'(gram)a / 2 - b'a, and that value."""
    found = minimize(
        lambda a: (a @ gram @ a / 2 - b @ a, gram @ a - b),
        np.full(len(b), 1 / len(b)),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * len(b),
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12},
    )
    return found.x, found.fun


def test_classifiers_of_seen_classes_are_those_that_were_learnt():
    model = fit(SynCHinge(1e-3))
    expected = explicit("sample_l2", ZOO.X_new) @ model.arrays_["classifiers"].T
    assert_allclose(model.decision_function(ZOO.X_new, candidates="seen"), expected, atol=1e-10)


def test_a_large_penalty_leaves_all_margins_violated_so_that_the_squared_loss_says_the_same():
    hinge, squared = (fit(method(100.0)) for method in (SynCHinge, SynC))
    assert_allclose(hinge.arrays_["classifiers"], squared.arrays_["classifiers"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("loss", sync_hinge.LOSSES)
def test_blocks_and_samples_that_are_read_again(loss, monkeypatch):
    """Larger than memory: the same but for rounding."""
    kept = fit(SynCHinge(1e-2, loss=loss))
    monkeypatch.setattr(iterations, "_KEPT", 0)
    reread = fit(SynCHinge(1e-2, loss=loss))
    assert_array_equal(reread.arrays_["classifiers"], kept.arrays_["classifiers"])


def test_light_samples_take_as_much_memory_as_heavy_ones(monkeypatch):
    read = []
    samples = TrainingData.samples
    monkeypatch.setattr(TrainingData, "samples", lambda *args: read.append(1) or samples(*args))
    monkeypatch.setattr(iterations, "_KEPT", 8 * ZOO.X.size - 1)
    SynCHinge(1e-2).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=np.full(N, 1e-3))
    assert len(read) > 1


@pytest.mark.parametrize("loss", sync_hinge.LOSSES)
def test_weights_are_repetitions(loss):
    weights = np.arange(N) % 3
    weighed = SynCHinge(1e-2, loss=loss).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=weights)
    repeated = SynCHinge(1e-2, loss=loss).fit(
        np.repeat(ZOO.X, weights, axis=0), np.repeat(ZOO.y, weights), class_vectors=ZOO.table
    )
    assert_allclose(weighed.arrays_["classifiers"], repeated.arrays_["classifiers"], atol=1e-6)


@pytest.mark.parametrize("smoothness", [0.3, 0.01])
def test_slopes_of_losses(smoothness):
    rng = np.random.default_rng(0)
    scores, numbers = rng.standard_normal((5, C)), rng.integers(C, size=5)
    for loss in (sync_hinge._one_versus_other, sync_hinge._LargestViolation(distances(), smoothness)):
        slopes, step = loss(scores, numbers)[1], 1e-6
        for j in range(C):
            ahead, behind = (loss(scores + sign * step * np.eye(C)[j], numbers)[0] for sign in (1, -1))
            assert_allclose((ahead - behind) / (2 * step), slopes[:, j], atol=1e-6)


def test_it_says_when_it_stops_early():
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
        model = fit(SynCHinge(max_iter=2))
    assert not model.converged_
    assert fit(SynCHinge(0.1)).converged_


def test_what_is_raised_at_an_iteration_stops_the_fit():
    class Stopped(Exception):
        pass

    def stop(done, value):
        assert np.isfinite(value)
        raise Stopped

    model = fit(SynCHinge())
    with pytest.raises(Stopped):
        model._fit(sync_hinge._Prepared(_training()), sync_hinge.Monitor(stop))


def _training():
    kept = []

    class Spy(SynCHinge):
        def _prepare(self, training):
            kept.append(training)
            return super()._prepare(training)

    fit(Spy())
    return kept[0]


def test_hinge_losses_need_a_penalty():
    refuses(SynCHinge(0), "penalty must be above 0 for hinge losses")
