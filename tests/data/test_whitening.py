"""Whitening: against eigenvectors of the scatter, computed from the samples themselves."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from jcmspl import JCMSPL, ClassSearchCV, ClassTable, load
from jcmspl.core import Statistics
from jcmspl.data.normalisation import Normalisation
from jcmspl.methods import EXEM, GFZSL, SAE, IdentityRidge, RidgeVS, TextPrototypes
from support.animals import make_zoo
from support.normalised import explicitly_whitened
from support.samples import make_samples

NAMES = ("center+whiten", "sample_l2+center+whiten")
ZOO = make_zoo(noise=1.0)


def products(Z):
    """Facts that a rotation does not change."""
    return Z @ Z.T


@given(st.integers(0, 99), st.sampled_from([0.1, 5.0, 100.0]), st.booleans(), st.sampled_from([3, 8, 60, 150]))
def test_equals_the_definition_up_to_a_rotation(seed, shrinkage, unit_rows, m):
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(4), rng.integers(4, size=26)]
    X = rng.standard_normal((4, m))[labels] + rng.standard_normal((30, m)) * 10.0 ** rng.integers(-2, 2, m)
    raw = Statistics.from_samples(X, labels, unit_rows=unit_rows)
    normalisation, statistics = Normalisation.of_training(NAMES[unit_rows], raw, shrinkage)
    Z = normalisation.of_rows(X)
    assert_allclose(
        products(Z), products(explicitly_whitened(X, labels, shrinkage, unit_rows=unit_rows)), rtol=1e-7, atol=1e-9
    )
    assert statistics.allclose(Statistics.from_samples(Z, labels), rtol=1e-7)
    assert normalisation.of_statistics(raw).allclose(statistics, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_folded_and_undone(name):
    X, labels, _ = make_samples()
    units = normalize(X) if name.startswith("sample_l2") else X
    raw = Statistics.from_samples(X, labels, unit_rows=name.startswith("sample_l2"))
    normalisation = Normalisation.of_training(name, raw)[0]
    Z, rng = normalisation.of_rows(X), np.random.default_rng(0)
    assert_allclose(normalisation.undone(Z), units, rtol=1e-8)
    weights, bias = rng.standard_normal((3, X.shape[1])), rng.standard_normal(3)
    folded, offsets = normalisation.folded(weights, bias)
    assert_allclose(units @ folded.T + offsets, Z @ weights.T + bias, rtol=1e-8, atol=1e-9)
    stretch, shift = normalisation.reach()
    assert (np.linalg.norm(Z, axis=1) <= stretch * np.linalg.norm(units, axis=1) + shift).all()
    assert normalisation.of_rows(X.astype(np.float32)).dtype == np.float32


def test_without_scatter_nothing_is_whitened():
    X, labels = np.random.default_rng(0).standard_normal((5, 3)), np.arange(5)
    with pytest.warns(RuntimeWarning, match="no scatter within classes"):
        model = RidgeVS(feature_normalisation="center+whiten").fit(X, labels, class_vectors=np.eye(5))
    plain = RidgeVS(feature_normalisation="center").fit(X, labels, class_vectors=np.eye(5))
    assert_allclose(model.visual_projection_, plain.visual_projection_, rtol=1e-12)


def test_constant_features_do_no_harm():
    X, labels, _ = make_samples()
    X = np.hstack([X, np.full((len(X), 2), 7.0)])
    raw = Statistics.from_samples(X, labels)
    Z = Normalisation.of_training("center+whiten", raw)[0].of_rows(X)
    alone = Normalisation.of_training("center+whiten", Statistics.from_samples(X[:, :-2], labels))[0]
    assert np.isfinite(Z).all()
    assert_allclose(Z[:, -2:], 0, atol=1e-12)
    assert alone.of_rows(X[:, :-2]).shape[1] == Z.shape[1] - 2


@pytest.mark.parametrize("method", [JCMSPL, RidgeVS, SAE])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_equals_one_of_samples_whitened_by_hand(method, name):
    model = method(feature_normalisation=name, space="visual").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    Z, new = (model.feature_normalisation_.of_rows(X) for X in (ZOO.X, ZOO.X_new))
    by_hand = method(feature_normalisation="none", space="visual").fit(Z, ZOO.y, class_vectors=ZOO.table)
    assert_allclose(
        model.decision_function(ZOO.X_new, candidates="unseen"),
        by_hand.decision_function(new, candidates="unseen"),
        rtol=1e-6,
        atol=1e-9,
    )


def test_streams_files_and_layers(tmp_path):
    model = JCMSPL(feature_normalisation=NAMES[1], space="visual").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    parts = JCMSPL(feature_normalisation=NAMES[1], space="visual")
    for rows in np.array_split(np.arange(len(ZOO.X)), 3):
        parts.partial_fit(ZOO.X[rows], np.asarray(ZOO.y)[rows], class_vectors=ZOO.table)
    expected = model.decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(parts.decision_function(ZOO.X_new, candidates="unseen"), expected, rtol=1e-6, atol=1e-10)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_array_equal(again.decision_function(ZOO.X_new, candidates="unseen"), expected)
    assert_allclose(again.transform(ZOO.X_new), model.transform(ZOO.X_new), rtol=1e-12)
    layer = model.recogniser(candidates="unseen")
    units = normalize(ZOO.X_new)
    assert_allclose(units @ layer.weights.T + layer.bias, expected, rtol=1e-9, atol=1e-12)


def test_the_shrinkage_is_part_of_a_search():
    axes = {"feature_normalisation": ["sample_l2+center", NAMES[1]], "whitening_shrinkage": [1.0, 10.0]}
    search = ClassSearchCV(RidgeVS(space="visual"), axes, cv=3, random_state=0).fit(
        ZOO.X, ZOO.y, class_vectors=ZOO.table
    )
    scores = dict(
        zip(
            (tuple(one[name] for name in axes) for one in search.cv_results_["params"]),
            search.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    assert len(scores) == 4
    assert scores["sample_l2+center", 1.0] == scores["sample_l2+center", 10.0]
    assert search.best_params_["whitening_shrinkage"] in (1.0, 10.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"whitening_shrinkage": 0}, "whitening_shrinkage must be above 0"),
        ({"class_normalisation": "center+whiten"}, "for samples only"),
        ({"feature_normalisation": "whiten"}, "feature_normalisation must be one of"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        JCMSPL(**parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_however_little_it_is_shrunk():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((20, 60)), np.repeat(np.arange(10), 2)  # of less than full rank
    model = RidgeVS(feature_normalisation="center+whiten", whitening_shrinkage=1e-300).fit(X, labels)
    assert np.isfinite(model.decision_function(X)).all()


def low_rank(rng, n_features=20, rank=4):
    V, B = rng.standard_normal((9, 7)), rng.standard_normal((rank, n_features))
    y = np.arange(90) % 6
    X, new = ((V[numbers][:, :rank] + 0.7 * rng.standard_normal((90, rank))) @ B for numbers in (y, np.arange(90) % 9))
    return X, y, V, new


@pytest.mark.parametrize("shrinkage", [1e-8, 1e-12])
@pytest.mark.parametrize("method", [RidgeVS, JCMSPL, GFZSL])
def test_rounding_errors_of_dependent_features_are_no_signal(method, shrinkage):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y, V, new = low_rank(rng)
        model = method(feature_normalisation="center+whiten", whitening_shrinkage=shrinkage)
        scores, moved = (
            model.fit(X[:, order], y, class_vectors=V).decision_function(new[:, order], candidates="unseen")
            for order in (np.arange(20), rng.permutation(20))
        )
        assert_allclose(moved, scores, atol=1e-4 * np.ptp(scores))


def test_independent_features_are_shrunk_as_little_as_asked_for():
    X, labels, _ = make_samples()
    raw = Statistics.from_samples(X, labels)
    Z = Normalisation.of_training("center+whiten", raw, 1e-12)[0].of_rows(X)
    assert_allclose(products(Z), products(explicitly_whitened(X, labels, 0.0)), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", [GFZSL(variance_floor=0.05), EXEM(distance="standardised")])
def test_methods_with_a_variance_per_axis_do_not_depend_on_the_order_of_features(method):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        order, model = rng.permutation(ZOO.X.shape[1]), method.set_params(feature_normalisation="center+whiten")
        scores, moved = (
            model.fit(ZOO.X[:, features], ZOO.y, class_vectors=ZOO.table).decision_function(
                ZOO.X_new[:, features], candidates="unseen"
            )
            for features in (np.arange(len(order)), order)
        )
        assert_allclose(moved, scores, atol=1e-9 * np.ptp(scores))


@pytest.mark.parametrize("method", [IdentityRidge(), TextPrototypes()])
def test_methods_that_take_class_vectors_for_samples_do_not_depend_on_the_order_of_features(method):
    zoo = make_zoo(n_seen=8, n_attributes=20, aligned=True)
    order, model = np.random.default_rng(0).permutation(20), method.set_params(feature_normalisation="center+whiten")

    def scores_with(columns):
        table = ClassTable(list(zoo.table), zoo.table.vectors[:, columns])
        fitted = model.fit(zoo.X[:, columns], zoo.y, class_vectors=table)
        return fitted.decision_function(zoo.X_new[:, columns], candidates="unseen")

    scores, moved = scores_with(np.arange(20)), scores_with(order)
    assert_allclose(moved, scores, atol=1e-9 * np.ptp(scores))


@pytest.mark.parametrize("shrinkage", [5.0, 1e-10])
def test_samples_of_a_class_that_are_equal_are_not_whitened_by_rounding_errors(shrinkage):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            y, means, vectors = np.arange(48) % 4, 30 + rng.standard_normal((4, 6)), rng.standard_normal((6, 3))
            options = {"feature_normalisation": "center+whiten", "whitening_shrinkage": shrinkage, "progress": False}
            model = RidgeVS(**options).fit(means[y], y, class_vectors=vectors)
            assert model.feature_normalisation_.whitening is None


@pytest.mark.parametrize("n_features", [12, 150])  # the core works on panels of 128
def test_the_symmetric_whitening_is_a_rotation_of_the_other(n_features):
    X, labels, _ = make_samples(n=400, m=n_features)
    raw = Statistics.from_samples(X, labels)
    plain, _ = Normalisation.of_training("center+whiten", raw)
    symmetric, statistics = Normalisation.of_training("center+whiten", raw, symmetric=True)
    Z, rng = symmetric.of_rows(X), np.random.default_rng(0)
    assert_array_equal(symmetric.whitening, symmetric.whitening.T)
    assert_allclose(products(Z), products(plain.of_rows(X)), rtol=1e-9, atol=1e-12)
    assert statistics.allclose(Statistics.from_samples(Z, labels), rtol=1e-9)
    assert symmetric.of_statistics(raw).allclose(statistics, rtol=1e-12)
    assert_allclose(symmetric.undone(Z), X, rtol=1e-8)
    weights = rng.standard_normal((3, X.shape[1]))
    back, offsets = symmetric.unfolded(weights)
    assert_allclose(Z @ back.T + offsets, X @ weights.T, rtol=1e-8)


@pytest.mark.parametrize("symmetric", [False, True])
def test_statistics_are_whitened_in_the_core_and_stay_as_they_are(symmetric):
    X, labels, _ = make_samples(n=400, m=150)
    raw = Statistics.from_samples(X - X.mean(axis=0), labels)
    noise = np.full(150, 1e-12)
    T, statistics = raw.whitened(5.0, noise, symmetric=symmetric)
    assert raw.allclose(Statistics.from_samples(X - X.mean(axis=0), labels), rtol=0)
    assert_allclose(statistics.gram, T @ raw.gram @ T.T, rtol=1e-9, atol=1e-10)
    assert_allclose(statistics.class_sums, raw.class_sums @ T.T, rtol=1e-9, atol=1e-10)
    assert raw.whitened_by(T, noise).allclose(statistics, rtol=1e-12)
    assert_array_equal(T, T.T if symmetric else np.tril(T))


def test_columns_within_the_noise_become_zero():
    X, labels, _ = make_samples()
    raw = Statistics.from_samples(X, labels)
    noise = np.zeros(X.shape[1])
    noise[3] = np.inf
    shifted = raw.shifted_and_scaled(np.full(X.shape[1], 0.5), np.full(X.shape[1], 2.0), noise)
    Z = (X - 0.5) / 2
    Z[:, 3] = 0
    assert shifted.allclose(Statistics.from_samples(Z, labels), rtol=1e-12)
    assert_array_equal(shifted.squares, shifted.gram.diagonal())
    T, noise = np.eye(X.shape[1]), np.zeros(X.shape[1])
    noise[2] = 1e9
    Z[:, 2] = 0
    assert shifted.whitened_by(T, noise).allclose(Statistics.from_samples(Z, labels), rtol=1e-12)


def test_a_search_whitens_anew_for_each_kind(monkeypatch):
    made = []
    original = Normalisation.of_training

    def noted(*args, **options):
        made.append(options["symmetric"])
        return original(*args, **options)

    monkeypatch.setattr(Normalisation, "of_training", noted)
    model = EXEM(feature_normalisation="center+whiten")
    search = ClassSearchCV(model, {"distance": ["euclidean", "standardised"]}, cv=2, random_state=0)
    search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert made[:-1].count(True) == made[:-1].count(False) == 2  # the last is the fit of the chosen model
    assert made[-1] == (search.best_params_["distance"] == "standardised")


def test_files_have_either_kind_and_no_other(tmp_path):
    model = GFZSL(feature_normalisation="center+whiten").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    model.save(tmp_path / "m")
    assert_array_equal(load(tmp_path / "m").decision_function(ZOO.X_new), model.decision_function(ZOO.X_new))
    T = model.feature_normalisation_.whitening
    T[0, 1] += 1e-3
    model.save(tmp_path / "bad")
    with pytest.raises(ValueError, match="neither lower triangular nor symmetric"):
        load(tmp_path / "bad")
