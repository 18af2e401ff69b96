import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from jcmspl.methods import EXEM, GDA
from support.linear import ZOO, ZOOS, assert_same_but_for_a_shared_term, class_means, explicit_data, fit

PLAIN = {"feature_normalisation": "none", "class_normalisation": "none", "class_kernel": "linear"}


@pytest.mark.parametrize("shrinkage", [0.0, 1e-3, 0.2, 1.0])
def test_oracle_linear_discriminant_analysis_of_scikit_learn(shrinkage):
    """Seen classes by their true means; scikit-learn's scores have the priors of the classes in them."""
    kept = np.arange(len(ZOO.X)) % 7 > 0  # not as many of each class
    zoo = ZOO._replace(X=ZOO.X[kept], y=ZOO.y[kept])
    oracle = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(zoo.X, zoo.y)
    expected = oracle.decision_function(zoo.X_new) - np.log(oracle.priors_)
    model = fit(GDA(shrinkage=shrinkage, seen_mean_share=1.0, feature_normalisation="none"), zoo)
    found = model.decision_function(zoo.X_new, candidates="seen")
    assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("shrinkage", [1e-4, 0.3])
def test_oracle_mahalanobis_distances_of_scipy(shrinkage):
    """Unseen classes: the distance of SciPy to means by least squares with a penalty, as in textbooks."""
    X, _, S, codes = explicit_data(ZOO, "none")
    means = class_means(X, codes)
    within = X - means.T[:, codes]
    covariance = within @ within.T / len(codes)
    shrunk = (1 - shrinkage) * covariance + shrinkage * covariance.trace() / len(covariance) * np.eye(len(covariance))
    V = np.linalg.solve(S @ S.T + 0.2 * np.eye(len(S)), S @ means)
    predicted = ZOO.table.select(ZOO.unseen).vectors @ V
    expected = -(cdist(ZOO.X_new, predicted, "mahalanobis", VI=np.linalg.inv(shrunk)) ** 2) / 2
    found = fit(GDA(0.2, shrinkage=shrinkage, **PLAIN)).decision_function(ZOO.X_new, candidates=ZOO.unseen)
    assert_same_but_for_a_shared_term(found, expected, rtol=1e-8)


@ZOOS
def test_the_identity_as_covariance_means_the_nearest_mean(zoo):
    model, nearest = fit(GDA(shrinkage=1.0), zoo), fit(EXEM(), zoo)
    assert_array_equal(model.predict(zoo.X_new), nearest.predict(zoo.X_new))


def test_whitened_samples_and_euclidean_distances_say_the_same():
    """S + b w I, by which samples are whitened, is the shrunk covariance for shrinkage b / (1 + b), times 1 + b."""
    shrinkage = 5.0
    whitened = EXEM(feature_normalisation="sample_l2+center+whiten", whitening_shrinkage=shrinkage)
    model = fit(GDA(shrinkage=shrinkage / (1 + shrinkage)))
    assert_array_equal(model.predict(ZOO.X_new), fit(whitened).predict(ZOO.X_new))


def test_seen_classes_by_true_or_by_predicted_means():
    model = fit(GDA(10.0, seen_mean_share=0.0))
    fitted, unseen = (
        model.decision_function(ZOO.X, candidates="seen"),
        model.decision_function(ZOO.X_new, candidates="unseen"),
    )
    true = model.set_params(seen_mean_share=1.0).decision_function(ZOO.X, candidates="seen")
    assert not np.allclose(fitted, true)
    assert model.score(ZOO.X, ZOO.y, candidates="seen") == 1
    assert_array_equal(model.decision_function(ZOO.X_new, candidates="unseen"), unseen)
    # another vector: it is not the class that the model was trained on
    other = {name: ZOO.table[name] for name in ZOO.seen}
    other[ZOO.seen[0]] = ZOO.table[ZOO.unseen[0]]
    found = model.decision_function(ZOO.X, class_vectors=other)
    assert_allclose(found[:, 1:], true[:, 1:])
    assert not np.allclose(found[:, 0], true[:, 0])
    with pytest.raises(ValueError, match="seen_mean_share must be from 0 to 1"):
        model.set_params(seen_mean_share=2.0).predict(ZOO.X)


def test_one_sample_of_each_class_has_no_covariance():
    one_each = [int(np.flatnonzero(ZOO.y == label)[0]) for label in ZOO.seen]
    alone = ZOO._replace(X=ZOO.X[one_each], y=ZOO.y[one_each])
    assert_array_equal(fit(GDA(), alone).predict(ZOO.X_new), fit(EXEM(), alone).predict(ZOO.X_new))


def test_samples_that_do_not_differ_within_classes_have_no_covariance_but_rounding():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        means, y = 1 + 9 * rng.random((4, 4)), np.repeat(np.arange(4), rng.integers(5, 30, 4))
        model = GDA(shrinkage=1e-4, feature_normalisation="power+center", class_kernel="linear")
        model.fit(means[y], y, class_vectors=rng.random((6, 5)))
        assert np.abs(model.decision_function(means)).max() < 1e3
