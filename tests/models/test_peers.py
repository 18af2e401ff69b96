"""Linear peers against independent implementations, sample by sample; presets against the full model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_sylvester
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from jcmspl import ESZSL, FPL, IPL, JCMSPL, JCMSPL0, JCMSPL1, RPL, SAE, ClassTable, RidgeVS, Statistics, load
from support.animals import make_zoo
from support.normalised import explicit

ZOO = make_zoo()
PEERS = [RidgeVS(0.3), FPL(), RPL(0.2), SAE(2.0), ESZSL(0.1, 0.5)]
# 12 attributes of 6 classes, 40 features: more unknowns than equations on both sides
WIDE = make_zoo(n_attributes=12, n_features=40, per_class=5)
ZOOS = pytest.mark.parametrize("zoo", [ZOO, WIDE], ids=["narrow", "wide"])


def by_class_name(peer):
    return type(peer).__name__


def explicit_data(zoo, normalisation="sample_l2+center"):
    """X (m x n), Y (d x n), S (d x c) and the class numbers, normalised by other means."""
    codes = np.array([zoo.seen.index(label) for label in zoo.y])
    vectors = explicit(normalisation, zoo.table.select(zoo.seen).vectors)
    return explicit(normalisation, zoo.X).T, vectors[codes].T, vectors.T, codes


def fit(peer, zoo=ZOO):
    return clone(peer).fit(zoo.X, zoo.y, class_vectors=zoo.table)


def assert_map(model, expected):
    assert_allclose(model.visual_projection_, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert_array_equal(model.semantic_projection_, np.eye(len(expected)))


@ZOOS
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none", "zscore"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
class TestAgainstRidge:
    def test_visual_to_semantic(self, zoo, normalisation, alpha):
        X, Y, *_ = explicit_data(zoo, normalisation)
        model = fit(RidgeVS(alpha, feature_normalisation=normalisation, class_normalisation=normalisation), zoo)
        assert_map(model, Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(X.T, Y.T).coef_)

    def test_semantic_to_visual(self, zoo, normalisation, alpha):
        X, Y, *_ = explicit_data(zoo, normalisation)
        model = fit(RPL(alpha, feature_normalisation=normalisation, class_normalisation=normalisation), zoo)
        assert_map(model, Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(Y.T, X.T).coef_.T)


@ZOOS
def test_least_squares(zoo):
    X, Y, *_ = explicit_data(zoo)
    assert_map(fit(FPL(), zoo), np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T)
    assert_map(fit(RidgeVS(0), zoo), Y @ np.linalg.pinv(X))
    assert_map(fit(RPL(0), zoo), (X @ np.linalg.pinv(Y)).T)
    assert_allclose(
        fit(RidgeVS(1e-9), zoo).visual_projection_, fit(FPL(), zoo).visual_projection_, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3])
def test_autoencoder_against_scipy(weight):
    zoo = make_zoo(n_seen=12)  # neither coefficient is singular
    X, Y, *_ = explicit_data(zoo, "none")
    model = fit(SAE(weight, feature_normalisation="none", class_normalisation="none"), zoo)
    assert_map(model, solve_sylvester(Y @ Y.T, weight * X @ X.T, (1 + weight) * Y @ X.T))


@ZOOS
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3])
def test_autoencoder_where_the_equation_is_singular(zoo, weight):
    """The gradient of |X - W'Y|^2 + weight |WX - Y|^2 vanishes, and W has no part in directions without data."""
    X, Y, *_ = explicit_data(zoo)
    W = fit(SAE(weight), zoo).visual_projection_
    gradient = Y @ (W.T @ Y - X).T + weight * (W @ X - Y) @ X.T
    assert np.abs(gradient).max() < 1e-10 * np.abs(Y @ X.T).max() * (1 + weight)
    assert_allclose(W @ X @ np.linalg.pinv(X), W, atol=1e-8 * np.abs(W).max())
    assert_allclose(Y @ np.linalg.pinv(Y) @ W, W, atol=1e-8 * np.abs(W).max())


@ZOOS
@pytest.mark.parametrize("negative", [-1.0, 0.0])
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none"])
def test_eszsl_as_published(zoo, normalisation, negative):
    X, _, S, codes = explicit_data(zoo, normalisation)
    L = np.where(np.eye(S.shape[1])[codes] == 1, 1.0, negative)
    gamma, lam = 0.3, 0.7
    V = np.linalg.inv(X @ X.T + gamma * np.eye(len(X))) @ X @ L @ S.T @ np.linalg.inv(S @ S.T + lam * np.eye(len(S)))
    parameters = {"feature_normalisation": normalisation, "class_normalisation": normalisation}
    model = fit(ESZSL(gamma, lam, negative_label=negative, **parameters), zoo)
    assert_map(model, V.T)
    assert_allclose(model.decision_function(zoo.X, candidates="seen"), X.T @ V @ S, atol=1e-9)
    assert_array_equal(model.predict(zoo.X, candidates="seen"), np.array(zoo.seen)[(X.T @ V @ S).argmax(axis=1)])


def test_labels_of_eszsl_make_no_difference_on_centred_samples():
    published, other = fit(ESZSL()), fit(ESZSL(negative_label=0))
    assert_allclose(published.visual_projection_, 2 * other.visual_projection_, atol=1e-10)
    assert_array_equal(published.predict(ZOO.X_new), other.predict(ZOO.X_new))


@pytest.mark.parametrize("peer", PEERS, ids=by_class_name)
@pytest.mark.parametrize("space", ["semantic", "visual"])
def test_recognition_in_both_directions(peer, space):
    model = fit(clone(peer).set_params(space=space, metric="cosine"))
    W, normalised = model.visual_projection_, model.feature_normalisation_.of_rows(ZOO.X_new)
    vectors = model.class_normalisation_.of_rows(ZOO.table.select(ZOO.unseen).vectors)
    distances = (
        cdist(normalised @ W.T, vectors, "cosine") if space == "semantic" else cdist(normalised, vectors @ W, "cosine")
    )
    assert_array_equal(model.predict(ZOO.X_new, candidates="unseen"), np.array(ZOO.unseen)[distances.argmin(axis=1)])
    assert model.score(ZOO.X_new, ZOO.y_new) > 0.6  # chance is 0.33


@pytest.mark.parametrize("peer", PEERS, ids=by_class_name)
class TestSameMethods:
    def test_parts_and_statistics(self, peer):
        expected = fit(peer).visual_projection_
        parts = clone(peer)
        for half in (slice(0, 40), slice(40, None)):
            parts.partial_fit(ZOO.X[half], ZOO.y[half], class_vectors=ZOO.table)
        assert_allclose(parts.visual_projection_, expected, atol=1e-9 * np.abs(expected).max())
        names = list(ZOO.table)
        codes = [names.index(label) for label in ZOO.y]
        statistics = Statistics.from_samples(ZOO.X, codes, len(names), unit_rows=True)
        merged = clone(peer).fit_from_statistics(statistics, names, class_vectors=ZOO.table)
        assert_allclose(merged.visual_projection_, expected, atol=1e-9 * np.abs(expected).max())

    def test_files(self, peer, tmp_path):
        model = fit(peer)
        model.save(tmp_path / "model", statistics=True)
        again = load(tmp_path / "model")
        assert type(again) is type(model)
        assert again.get_params() == model.get_params()
        assert_array_equal(again.decision_function(ZOO.X_new), model.decision_function(ZOO.X_new))
        again.partial_fit(ZOO.X, ZOO.y)
        with pytest.raises(ValueError, match=f"holds a {type(model).__name__}, not a JCMSPL"):
            JCMSPL.load(tmp_path / "model")

    def test_the_rest(self, peer):
        model = fit(peer).calibrate(ZOO.X, ZOO.y)
        assert np.isfinite(model.seen_bias_)
        scores = model.decision_function(ZOO.X_new, candidates="unseen")
        for explanation, row in zip(model.explain(ZOO.X_new, candidates="unseen"), scores, strict=True):
            top = np.sort(row)[::-1]
            assert explanation.contributions.sum() == pytest.approx(top[0] - top[1], abs=1e-9)
        assert model.transform(ZOO.X_new).shape == (len(ZOO.X_new), ZOO.table.n_attributes)
        linear = model.recogniser(candidates="unseen")
        assert_array_equal(linear.predict(ZOO.X_new), model.predict(ZOO.X_new, candidates="unseen"))


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        (RidgeVS(-1), "alpha must be a finite number of at least 0"),
        (RPL(np.inf), "alpha must be a finite number"),
        (SAE(np.nan), "weight must be"),
        (ESZSL(1, -1), "semantic_penalty must be"),
        (ESZSL(negative_label=1), "negative_label must be a number below 1"),
        (FPL(space="audio"), "space must be one of"),
    ],
)
def test_bad_parameters(peer, message):
    with pytest.raises(ValueError, match=message):
        fit(peer)


@pytest.mark.parametrize(
    ("preset", "zero"),
    [
        (IPL, ("class_match", "visual_reconstruction", "semantic_reconstruction")),
        (JCMSPL0, ("visual_reconstruction", "semantic_reconstruction")),
        (JCMSPL1, ("class_match",)),
    ],
)
def test_presets_are_settings_of_the_full_model(preset, zero):
    given = {"semantic_match": 0.3, "max_iter": 20, "tol": 0}
    model, full = fit(preset(**given)), fit(JCMSPL(**given, **dict.fromkeys(zero, 0.0)))
    assert_array_equal(model.visual_projection_, full.visual_projection_)
    assert_array_equal(model.semantic_projection_, full.semantic_projection_)
    assert type(model) is JCMSPL
    others = {"semantic_match", "class_match", "visual_reconstruction", "semantic_reconstruction"} - set(zero)
    assert all(getattr(preset(), name) == getattr(JCMSPL(), name) for name in others)
    with pytest.raises(TypeError, match=f"{zero[0]} is 0 in this preset"):
        preset(**{zero[0]: 1.0})


def test_jcmspl_with_codes_pinned_ranks_as_eszsl():
    """With λ2 large, C = H: A and B are least squares onto the codes, and x'A'By is ESZSL's score for 0/1 labels."""
    zoo = make_zoo(n_attributes=4, n_seen=10)
    plain = {"feature_normalisation": "none", "class_normalisation": "none"}
    pinned = JCMSPL(
        semantic_match=1,
        class_match=1e9,
        max_iter=5,
        tol=0,
        visual_reconstruction=0,
        semantic_reconstruction=0,
        space="concept",
        metric="dot",
        **plain,
    )
    model = fit(pinned, zoo)
    eszsl = fit(ESZSL(0, 0, negative_label=0, **plain), zoo)
    assert_allclose(
        model.decision_function(zoo.X_new, candidates="unseen"),
        eszsl.decision_function(zoo.X_new, candidates="unseen"),
        rtol=1e-4,
        atol=1e-6,
    )


def test_class_vectors_under_other_names_are_the_same():
    table = ClassTable([f"no. {i}" for i in range(9)], ZOO.table.vectors)
    names = dict(zip(ZOO.table, table, strict=True))
    model = RidgeVS().fit(ZOO.X, [names[label] for label in ZOO.y], class_vectors=table)
    # the classes are now sorted otherwise, and the map is a sum over them
    assert_allclose(model.visual_projection_, fit(RidgeVS()).visual_projection_, atol=1e-12)


# All checks pass: there are no exceptions to justify.
@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(PEERS)
def test_estimator(estimator, check):
    check(estimator)
