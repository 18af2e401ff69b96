import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from jcmspl import ClassSearchCV, ClassTable, load
from jcmspl.methods import AMP, COSMO, DAP, ConSE
from jcmspl.model import iterations
from jcmspl.model.posteriors import Affine, log_probabilities, most_likely
from support.linear import ZOO, ZOOS, explicit_data, fit

EXACT = {"posterior": "logistic", "tol": 1e-7, "max_iter": 2000}


def assert_posterior(model, decision, X, atol=1e-8):
    """Whether the log posteriors of the model are those, but for a term that all classes share."""
    found = Affine(model.arrays_["weights"], model.arrays_["offsets"]).of(X)
    assert_allclose(softmax(found, axis=1), softmax(decision, axis=1), rtol=0, atol=atol)


class TestDiscriminantAnalysis:
    @ZOOS
    @pytest.mark.parametrize("shrinkage", [1e-3, 0.3, 1.0])
    def test_is_that_of_scikit_learn(self, zoo, shrinkage):
        X, *_, codes = explicit_data(zoo)
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X.T, codes)
        model = fit(ConSE(shrinkage=shrinkage), zoo)
        assert_posterior(model, lda.decision_function(X.T), X.T)

    def test_classes_of_different_sizes(self):
        kept = np.sort(np.random.default_rng(0).permutation(len(ZOO.X))[:60])
        zoo = ZOO._replace(X=ZOO.X[kept], y=ZOO.y[kept])
        X, *_, codes = explicit_data(zoo, "none")
        lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(X.T, codes)
        model = fit(ConSE(shrinkage=0.1, feature_normalisation="none"), zoo)
        assert_posterior(model, lda.decision_function(X.T), X.T)

    def test_one_sample_of_each_class(self):
        zoo = ZOO._replace(X=ZOO.X[[list(ZOO.y).index(name) for name in ZOO.seen]], y=np.array(ZOO.seen))
        model = fit(ConSE(), zoo)
        assert_array_equal(model.predict(zoo.X, candidates="seen"), zoo.seen)

    @pytest.mark.parametrize("shrinkage", [0.0, 1e-12])
    def test_fewer_samples_than_features(self, shrinkage):
        zoo = ZOO._replace(X=np.hstack([ZOO.X, ZOO.X, ZOO.X]))  # of rank 20
        model = fit(ConSE(shrinkage=shrinkage), zoo)
        assert np.isfinite(model.arrays_["weights"]).all()
        assert model.score(zoo.X, zoo.y, candidates="seen") > 0.9


class TestLogisticRegression:
    @pytest.mark.parametrize("penalty", [0.01, 1.0])
    def test_is_that_of_scikit_learn(self, penalty):
        X, *_, codes = explicit_data(ZOO)
        expected = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=5000).fit(X.T, codes)
        model = fit(ConSE(penalty=penalty, **EXACT))
        assert model.converged_
        assert model.n_iter_ > 1
        assert_posterior(model, expected.decision_function(X.T), X.T, atol=1e-5)
        assert_allclose(model.arrays_["weights"], expected.coef_, atol=1e-3 * np.abs(expected.coef_).max())

    def test_of_attributes_is_that_of_scikit_learn(self):
        X, _, S, codes = explicit_data(ZOO)
        model = fit(DAP(penalty=0.3, **EXACT))
        for attribute, row in enumerate(S.mean(axis=1, keepdims=True) < S):
            expected = LogisticRegression(C=1 / 0.3, tol=1e-9, max_iter=5000).fit(X.T, row[codes])
            found = model.arrays_["weights"][attribute] @ X + model.arrays_["offsets"][attribute]
            assert_allclose(found, expected.decision_function(X.T), atol=1e-3)

    def test_weights_are_repetitions(self):
        counts = np.random.default_rng(1).integers(0, 3, len(ZOO.X))
        weighted = ConSE(**EXACT).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=counts)
        rows = np.repeat(np.arange(len(ZOO.X)), counts)
        repeated = ConSE(**EXACT).fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table)
        assert_allclose(
            *(model.decision_function(ZOO.X_new, seen_penalty=0) for model in (weighted, repeated)), atol=1e-5
        )

    def test_samples_that_are_not_kept_are_read_again(self, monkeypatch, tmp_path):
        np.save(tmp_path / "X.npy", ZOO.X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
        kept = ConSE(posterior="logistic").fit(X, ZOO.y, class_vectors=ZOO.table)
        monkeypatch.setattr(iterations, "_KEPT", 100)
        again = ConSE(posterior="logistic").fit(X, ZOO.y, class_vectors=ZOO.table)
        assert_allclose(again.arrays_["weights"], kept.arrays_["weights"], rtol=1e-10)

    def test_it_warns_where_it_has_not_converged_and_can_be_stopped(self, monkeypatch):
        with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
            assert not fit(ConSE(posterior="logistic", max_iter=2)).converged_

        def stop(self, done, text=""):
            raise KeyboardInterrupt

        monkeypatch.setattr("jcmspl.support.progress.Progress.update", stop)
        with pytest.raises(KeyboardInterrupt):
            fit(ConSE(posterior="logistic"))


class TestWhatIsRead:
    def test_a_parameter_decides(self, tmp_path):
        logistic, lda = fit(ConSE(posterior="logistic")), fit(ConSE())
        with pytest.raises(TypeError, match="needs all samples at once and does not support partial_fit"):
            logistic.partial_fit(ZOO.X, ZOO.y)
        with pytest.raises(TypeError, match="ConSE reads samples more than once"):
            ConSE(posterior="logistic").fit(iter([(ZOO.X, ZOO.y)]), class_vectors=ZOO.table)
        lda.partial_fit(ZOO.X, ZOO.y)
        logistic.calibrate(ZOO.X, ZOO.y).save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.n_iter_ == logistic.n_iter_
        assert_array_equal(again.predict(ZOO.X_new), logistic.predict(ZOO.X_new))

    @pytest.mark.parametrize(("fitted", "later"), [("lda", "logistic"), ("logistic", "lda")])
    def test_what_was_fitted_counts(self, fitted, later):
        model = fit(ConSE(posterior=fitted, posterior_temperature=30.0))
        before = model.decision_function(ZOO.X_new, candidates="all")
        assert_array_equal(model.set_params(posterior=later).decision_function(ZOO.X_new, candidates="all"), before)

    def test_a_search_tries_both(self):
        grid = {"posterior": ("lda", "logistic"), "posterior_temperature": (1.0, 10.0)}
        search = ClassSearchCV(ConSE(progress=False), grid, cv=3, extend=0, progress=False)
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        alone = ClassSearchCV(ConSE(posterior="logistic"), {}, cv=3, extend=0, progress=False)
        alone.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        rows = [row for row, one in enumerate(search.cv_results_["params"]) if one["posterior"] == "logistic"]
        assert_allclose(search.cv_results_["mean_test_score"][rows], alone.best_score_)


@pytest.mark.parametrize("method", [AMP, COSMO])
def test_a_row_number_that_names_another_class_than_in_training(method):
    """The labels of an array are its row numbers: those of training classes, too, but their vectors differ."""
    y = np.unique(ZOO.y, return_inverse=True)[1]
    vectors = ZOO.table.select([*np.unique(ZOO.y).tolist(), *ZOO.unseen]).vectors
    model = method().fit(ZOO.X, y, class_vectors=vectors)
    unseen = model.decision_function(ZOO.X_new, candidates="unseen")
    assert_array_equal(model.decision_function(ZOO.X_new, class_vectors=vectors[-len(ZOO.unseen) :]), unseen)


def test_likely_classes():
    P = np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
    classes = Affine(np.eye(3), np.zeros(3))
    assert_allclose(np.exp(log_probabilities(classes, np.log(P) + 7)), P)
    assert_allclose(most_likely(classes, 2, np.log(P))[0], [0.625, 0, 0.375])
    assert_allclose(most_likely(classes, 1, np.log(P)), [[1, 0, 0], [0, 0, 1]])
    assert_allclose(most_likely(classes, 9, np.log(P)), P)
    certain = most_likely(classes, 2, np.array([[1e9, -1e9, 0.0]]))
    assert_array_equal(certain, [[1, 0, 0]])
    # classes that are as likely as the last one, up to rounding, count as well: their order does not matter
    P = np.array([[0.2, 0.2 * (1 + 4e-16), 0.6], [0.2, 0.2 * (1 + 1e-9), 0.6 - 2e-10]])
    assert_allclose(most_likely(classes, 2, np.log(P)), [[0.2, 0.2, 0.6], [0, 0.25, 0.75]], atol=1e-8)
    assert_allclose(most_likely(classes, 1, np.zeros((1, 3))), np.full((1, 3), 1 / 3))


def test_a_parameter_that_is_set_after_fit_is_checked():
    with pytest.raises(ValueError, match="posterior_temperature must be above 0"):
        fit(ConSE()).set_params(posterior_temperature=-1).predict(ZOO.X_new)


@pytest.mark.parametrize("method", [ConSE(1), AMP()])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_samples_of_a_class_that_are_equal_and_far_from_the_origin(method, shrinkage):
    """Rounding errors that centring leaves of squares are no covariance, and not always positive."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, means, vectors = np.arange(48) % 6, 100 + rng.standard_normal((6, 16)), rng.standard_normal((9, 4))
        model = clone(method).set_params(shrinkage=shrinkage, feature_normalisation="center", progress=False)
        model.fit(means[y], y, class_vectors=vectors)
        assert model.predict(means, candidates="seen").tolist() == list(range(6))


def test_far_from_the_origin_log_posteriors_keep_their_digits():
    rng = np.random.default_rng(0)
    far, y = 2.0**12, np.repeat(np.arange(5), 12)
    X = rng.standard_normal((60, 4)) + y[:, None] + far
    T = rng.standard_normal((40, 4)) + far
    table = ClassTable(range(5), rng.standard_normal((5, 3)))
    model = ConSE(feature_normalisation="none", shrinkage=1.0).fit(X, y, class_vectors=table)
    found = model.decision_function(T, candidates=range(5))
    # a product of one row adds up in another order
    one_by_one = [model.decision_function(t[None], candidates=range(5)) for t in T]
    assert_allclose(np.concatenate(one_by_one), found, rtol=0, atol=1e-11)
