import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from jcmspl import ClassKFold, load
from jcmspl.methods import COSMO, RPL
from jcmspl.model.gate import BOTH, halves
from support.animals import make_zoo
from support.linear import explicit_data, fit, refuses
from support.posteriors import left_out_by_hand

ZOO = make_zoo(n_seen=8, noise=0.6)
PLAIN = {"feature_normalisation": "sample_l2+center", "class_normalisation": "sample_l2+center"}
SHRINKAGE, RNG = 0.3, np.random.default_rng(0)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def experts(X, numbers, S, U, Z):
    """Log posteriors of training classes, and scores of these and of others by ridge regression, for samples Z."""
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE).fit(X, numbers)
    V = Ridge(alpha=1.0, fit_intercept=False).fit(S[numbers], X).coef_.T
    return lda.decision_function(Z), Z @ unit(S @ V).T, Z @ unit(U @ V).T


def sureness(posterior, of_seen, of_unseen):
    best = -np.sort(-posterior, axis=1)
    return np.column_stack([best[:, 0] - best[:, 1], of_seen.max(axis=1) - of_unseen.max(axis=1)])


def loss(logits, numbers, temperature):
    return -log_softmax(logits / temperature, axis=1)[np.arange(len(logits)), numbers].sum()


def by_hand_fitted(X, numbers, S):
    """The gate and the sums of losses with temperatures, from models without some of the classes."""
    features, is_seen, weights, seen_losses, unseen_losses = [], [], [], [], []
    for held_out in ClassKFold(4).split_classes(len(S)):
        held_out = np.sort(held_out)
        kept = np.setdiff1d(np.arange(len(S)), held_out)
        own = np.isin(numbers, kept)
        codes = np.searchsorted(kept, numbers[own])
        posterior, of_seen, of_unseen = experts(X[own], codes, S[kept], S[held_out], X)
        posterior[own] = [left_out_by_hand(X[own], codes, row, SHRINKAGE) for row in range(own.sum())]
        features.append(sureness(posterior, of_seen, of_unseen))
        is_seen.append(own)
        weights.append(np.where(own, 1 / own.sum(), 1 / (~own).sum()))
        seen_losses.append(lambda t, logits=posterior[own], codes=codes: loss(logits, codes, t))
        others = np.searchsorted(held_out, numbers[~own])
        unseen_losses.append(lambda t, logits=of_unseen[~own], codes=others: loss(logits, codes, t))
    features, is_seen, weights = (np.concatenate(part) for part in (features, is_seen, weights))
    weights *= len(weights) / weights.sum()
    scaler = StandardScaler().fit(features, sample_weight=weights)
    gate = LogisticRegression(tol=1e-10, max_iter=1000).fit(scaler.transform(features), is_seen, weights)
    slopes = gate.coef_[0] / scaler.scale_
    losses = [lambda t, parts=parts: sum(part(t) for part in parts) for parts in (seen_losses, unseen_losses)]
    return np.append(slopes, gate.intercept_[0] - slopes @ scaler.mean_), losses


@pytest.fixture(scope="module")
def model():
    return fit(COSMO("RPL", shrinkage=SHRINKAGE, **PLAIN), ZOO)


def test_oracle_gate_and_temperatures_from_models_without_some_classes_and_samples(model):
    X, _, S, codes = explicit_data(ZOO)
    gate, losses = by_hand_fitted(X.T, codes, S.T)
    assert_allclose(model.arrays_["gate"], gate, rtol=1e-4)
    for temperature, total in zip(model.arrays_["temperatures"], losses, strict=True):
        limits = np.log(temperature) + np.array([-5, 5])
        best = minimize_scalar(lambda log, total=total: total(np.exp(log)), bounds=limits, method="bounded")
        assert_allclose(np.log(temperature), best.x, atol=0.1)


@pytest.mark.parametrize("smoothing", [True, False])
def test_oracle_mixed_probabilities(model, smoothing):
    X, _, S, codes = explicit_data(ZOO)
    Z = model.feature_normalisation_.of_rows(ZOO.X_new)
    U = model.class_normalisation_.of_rows(ZOO.table.select(ZOO.unseen).vectors)
    posterior, of_seen, of_unseen = experts(X.T, codes, S.T, U, Z)
    *slopes, offset = model.arrays_["gate"]
    gate = expit(sureness(posterior, of_seen, of_unseen) @ slopes + offset)[:, None]
    of_training, of_others = model.arrays_["temperatures"]
    seen, unseen = softmax(posterior / of_training, axis=1), softmax(of_unseen / of_others, axis=1)
    if smoothing:
        seen, unseen = gate * seen + (1 - gate) / 8, (1 - gate) * unseen + gate / 3
    expected = np.hstack([gate * seen, (1 - gate) * unseen])
    assert_allclose(expected.sum(axis=1), 1)
    found = (
        copy.copy(model)
        .set_params(smoothing=smoothing)
        .decision_function(ZOO.X_new, candidates=[*ZOO.seen, *ZOO.unseen])
    )
    assert_allclose(np.exp(found), expected, atol=1e-7)


class TestLogistic:
    """A logistic regression tells training classes apart; half of the samples is left out at a time."""

    @staticmethod
    def posterior(X, numbers, Z):
        found = LogisticRegression(C=10, tol=1e-8, max_iter=10_000).fit(X, numbers)
        return Z @ found.coef_.T + found.intercept_

    def cosmo(self, **parameters):
        made = COSMO("RPL", posterior="logistic", tol=1e-8, max_iter=1000, **PLAIN).set_params(**parameters)
        return fit(made, ZOO)

    def test_oracle_of_what_was_fitted_to_the_other_half(self):
        X, _, S, numbers = explicit_data(ZOO)
        X, S = X.T, S.T
        half_of = halves([(X, numbers, np.ones(len(X)))], X.shape[1])
        features, is_seen, weights = [], [], []
        for held_out in map(np.sort, ClassKFold(4).split_classes(len(S))):
            kept = np.setdiff1d(np.arange(len(S)), held_out)
            own = np.isin(numbers, kept)
            codes = np.searchsorted(kept, numbers)
            _, of_seen, of_unseen = experts(X[own], codes[own], S[kept], S[held_out], X)
            logits = self.posterior(X[own], codes[own], X)
            for half in (0, 1):
                ours, others = own & (half_of == half), own & (half_of != half)
                logits[ours] = self.posterior(X[others], codes[others], X[ours])
            features.append(sureness(logits, of_seen, of_unseen))
            is_seen.append(own)
            weights.append(np.where(own, 1 / own.sum(), 1 / (~own).sum()))
        features, is_seen, weights = (np.concatenate(part) for part in (features, is_seen, weights))
        weights *= len(weights) / weights.sum()
        scaler = StandardScaler().fit(features, sample_weight=weights)
        gate = LogisticRegression(tol=1e-10, max_iter=1000).fit(scaler.transform(features), is_seen, weights)
        model = self.cosmo()
        assert model.converged_
        assert_allclose(model.arrays_["gate"][:2], gate.coef_[0] / scaler.scale_, rtol=1e-3)
        whole = self.posterior(X, numbers, X)
        found = X @ model.arrays_["weights"].T + model.arrays_["offsets"]
        assert_allclose(log_softmax(found, axis=1), log_softmax(whole, axis=1), atol=1e-4)

    def test_halves(self):
        Z = RNG.standard_normal((9, 4))
        Z[1] = Z[0]
        numbers = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2])
        found = halves([(Z, numbers, np.ones(9))], 4)
        assert found[0] == found[1]
        assert sorted(found[[0, 2, 3, 4, 5]]) in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
        assert sorted(found[6:8]) == [0, 1]
        assert found[8] == BOTH  # alone in its class
        turned = RNG.permutation(9)
        assert_array_equal(halves([(Z[turned], numbers[turned], np.ones(9))], 4), found[turned])
        parts = [(Z[:4], numbers[:4], np.ones(4)), (Z[4:], numbers[4:], np.ones(5))]
        assert_array_equal(halves(parts, 4), found)

    def test_where_it_stops_too_soon_it_says_so(self):
        with pytest.warns(ConvergenceWarning, match="raise max_iter, tol or penalty"):
            assert not self.cosmo(max_iter=2).converged_

    def test_files(self, tmp_path):
        model = self.cosmo()
        model.save(tmp_path / "m.safetensors")
        assert_array_equal(load(tmp_path / "m.safetensors").predict(ZOO.X_new), model.predict(ZOO.X_new))


def test_it_knows_seen_from_unseen_without_a_bias(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # UncalibratedWarning
        new = np.isin(model.predict(ZOO.X_new), ZOO.unseen)
        old = np.isin(model.predict(ZOO.X), ZOO.unseen)
    assert new.mean() > 0.6 > 0.3 > old.mean()


def test_unseen_classes_alone_are_named_as_the_expert_names_them(model):
    expert = fit(RPL(**PLAIN), ZOO)
    names = [one.predict(ZOO.X_new, candidates="unseen") for one in (model, expert)]
    assert_array_equal(*names)


def test_scores_do_not_depend_on_which_training_classes_are_candidates(model):
    names = [*ZOO.seen, *ZOO.unseen]
    both = model.decision_function(ZOO.X_new, candidates=names)
    for candidates in (ZOO.seen[3:5], ZOO.unseen, [*ZOO.unseen, ZOO.seen[0]]):
        some = model.decision_function(ZOO.X_new, candidates=candidates)
        assert_allclose(some, both[:, [names.index(name) for name in candidates]], atol=1e-12)


def test_weights_are_repetitions():
    counts = RNG.integers(1, 3, len(ZOO.X))
    rows = np.repeat(np.arange(len(ZOO.X)), counts)
    weighted = COSMO("RPL").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=counts)
    repeated = COSMO("RPL").fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table)
    for name, array in weighted.arrays_.items():
        assert_allclose(array, repeated.arrays_[name], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("n_seen", [2, 3])
def test_too_few_classes_for_a_gate(n_seen):
    few = make_zoo(n_seen=n_seen)
    few_fitted = fit(COSMO(), few)
    assert_array_equal(few_fitted.arrays_["gate"], np.zeros(3))
    assert np.isfinite(few_fitted.decision_function(few.X_new)).all()


def test_the_expert_that_was_fitted_counts(tmp_path):
    model = fit(COSMO("RPL", **PLAIN), ZOO)
    before = model.decision_function(ZOO.X_new, candidates="all")
    model.set_params(expert="FPL").save(tmp_path / "model")  # which compares in another space
    for one in (model, load(tmp_path / "model")):
        assert_array_equal(one.decision_function(ZOO.X_new, candidates="all"), before)
    model.set_params(smoothing="no")
    with pytest.raises(TypeError, match="smoothing must be True or False"):
        model.predict(ZOO.X_new)


def test_an_expert_is_a_bilinear_method_on_statistics():
    refuses(COSMO("JCMSPLL"), "there is no method 'JCMSPLL'")
    refuses(COSMO("ConSE"), "expert must be a bilinear method on statistics")
    refuses(COSMO("COSMO"), "expert must be a bilinear method on statistics")
    with pytest.raises(TypeError, match="expert must be the name of a method"):
        fit(COSMO(RPL()), ZOO)


def test_the_gate_takes_two_folds_or_more():
    refuses(COSMO(n_splits=1), "n_splits must be")
