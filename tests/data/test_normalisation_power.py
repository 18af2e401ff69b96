"""Signed roots of features, before anything else: against samples whose roots are taken by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, ClassSearchCV, load
from jcmspl.core import AffineScorer, Statistics
from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.methods import SAE, RidgeVS
from jcmspl.support.scaling import Scaling, signed_root
from support.animals import make_zoo

ZOO = make_zoo(noise=1.0)
POSITIVE, POSITIVE_NEW = np.abs(ZOO.X), np.abs(ZOO.X_new)
NAMES = ("none", "center", "sample_l2", "sample_l2+center", "zscore", "sample_l2+center+whiten")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("n", [50, 9000])
def test_statistics_equal_those_of_roots(n, unit_rows, dtype):
    rng = np.random.default_rng(0)
    X, labels = (9 * rng.standard_normal((n, 7))).astype(dtype), np.arange(n) % 3
    for layout in (np.asarray, np.asfortranarray):
        statistics = Statistics.from_samples(layout(X), labels, unit_rows=unit_rows, power=True)
        expected = Statistics.from_samples(signed_root(X.astype(np.float64)), labels, unit_rows=unit_rows)
        assert_allclose(statistics.gram, expected.gram, rtol=1e-12, atol=1e-10)
        assert_allclose(statistics.class_sums, expected.class_sums, rtol=1e-12, atol=1e-10)
        assert statistics.scaling == Scaling(unit_rows, True)


def test_statistics_that_differ_in_roots_do_not_merge():
    with pytest.raises(ValueError, match="signed roots"):
        Statistics(2, 2) + Statistics(2, 2, power=True)
    assert not Statistics(2, 2).allclose(Statistics(2, 2, power=True))


def test_values_whose_squares_overflow_have_roots_whose_squares_do_not():
    X = np.array([[1e280, -1e280], [4.0, 9.0]])
    assert_allclose(Statistics.from_samples(X, [0, 1], power=True).class_sums, [[1e140, -1e140], [2, 3]])
    with pytest.raises(ValueError, match="too large"):
        Statistics.from_samples(X, [0, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit_rows", [False, True])
def test_scores_of_roots(unit_rows, dtype):
    rng = np.random.default_rng(0)
    X, weights, bias = rng.standard_normal((40, 6)).astype(dtype), rng.standard_normal((5, 6)), rng.standard_normal(5)
    scorer = AffineScorer(weights, bias, unit_rows=unit_rows, power=True)
    plain = AffineScorer(weights, bias, unit_rows=unit_rows)
    roots, rtol = signed_root(X), 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(scorer.scores(X), plain.scores(roots), rtol=rtol, atol=rtol)
    assert_array_equal(scorer.top_k(X, 3)[0], plain.top_k(roots, 3)[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("method", [JCMSPL, RidgeVS, SAE])
def test_a_model_equals_one_of_roots_taken_by_hand(method, metric, name):
    options = {"metric": metric, "space": "visual"}
    model = method(feature_normalisation=f"power+{name}", **options).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    by_hand = method(feature_normalisation=name, **options).fit(signed_root(ZOO.X), ZOO.y, class_vectors=ZOO.table)
    roots = signed_root(ZOO.X_new)
    expected = by_hand.decision_function(roots, candidates="unseen")
    assert_allclose(model.decision_function(ZOO.X_new, candidates="unseen"), expected, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(ZOO.X_new, candidates="unseen"), by_hand.predict(roots, candidates="unseen"))
    assert_allclose(model.transform(ZOO.X_new), by_hand.transform(roots), rtol=1e-6, atol=1e-9)


def test_the_samples_decide():
    name = "auto_power+sample_l2+center"
    model = RidgeVS(feature_normalisation=name).fit(POSITIVE, ZOO.y, class_vectors=ZOO.table)
    assert model.feature_normalisation_.name == "power+sample_l2+center"
    assert model.statistics_.power
    model = RidgeVS(feature_normalisation=name).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert model.feature_normalisation_.name == "sample_l2+center"
    assert not model.statistics_.power
    plain = RidgeVS(feature_normalisation="sample_l2+center").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_array_equal(model.visual_projection_, plain.visual_projection_)


def test_what_the_first_samples_decided_holds_for_the_others():
    model = RidgeVS(feature_normalisation="auto_power+sample_l2+center")
    model.partial_fit(POSITIVE, ZOO.y, class_vectors=ZOO.table)
    with pytest.warns(RuntimeWarning, match="roots are negative"):
        model.partial_fit(ZOO.X, ZOO.y)
    assert model.statistics_.power
    both, labels = np.vstack([POSITIVE, ZOO.X]), np.concatenate([ZOO.y, ZOO.y])
    always = RidgeVS(feature_normalisation="power+sample_l2+center").fit(both, labels, class_vectors=ZOO.table)
    assert_allclose(model.visual_projection_, always.visual_projection_, rtol=1e-9)


def test_repr_tells():
    assert "power=True" in repr(Statistics(2, 2, power=True))
    assert "power" not in repr(Statistics(2, 2))


def test_a_later_negative_value_is_told_of():
    chunks = [(POSITIVE, ZOO.y), (ZOO.X, ZOO.y)]
    with pytest.warns(RuntimeWarning, match="roots are negative"):
        RidgeVS(feature_normalisation="auto_power+center").fit(iter(chunks), class_vectors=ZOO.table)


def test_a_stream_decides_by_its_first_block(tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, POSITIVE.shape)
    X[:] = POSITIVE
    model = RidgeVS(feature_normalisation="auto_power+center").fit(X, ZOO.y, class_vectors=ZOO.table)
    assert model.feature_normalisation_.scaling.power


def test_files_and_layers(tmp_path):
    model = JCMSPL(feature_normalisation="auto_power+sample_l2+center+whiten", space="visual")
    model.fit(POSITIVE, ZOO.y, class_vectors=ZOO.table).save(tmp_path / "m", statistics=True)
    expected = model.decision_function(POSITIVE_NEW, candidates="unseen")
    again = load(tmp_path / "m")
    assert_array_equal(again.decision_function(POSITIVE_NEW, candidates="unseen"), expected)
    assert again.statistics_.power
    assert again.feature_normalisation == "auto_power+sample_l2+center+whiten"
    onnx = pytest.importorskip("onnx.reference", reason="onnx is not installed")
    model.recogniser(candidates="unseen").to_onnx(tmp_path / "m.onnx")
    (scores, _) = onnx.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(
        None, {"features": POSITIVE_NEW.astype(np.float32)}
    )
    assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_a_search_over_roots_equals_plain_fits():
    names = ["sample_l2+center", "power+sample_l2+center", "auto_power+sample_l2+center"]
    search = ClassSearchCV(RidgeVS(), {"feature_normalisation": names}, cv=3, random_state=0)
    search.fit(POSITIVE, ZOO.y, class_vectors=ZOO.table)
    scores = dict(zip(names, search.cv_results_["mean_test_score"], strict=True))
    assert scores[names[1]] == scores[names[2]]
    best = RidgeVS(**search.best_params_).fit(POSITIVE, ZOO.y, class_vectors=ZOO.table)
    assert_allclose(search.best_estimator_.visual_projection_, best.visual_projection_, rtol=1e-9)


def test_names():
    assert parse_feature_normalisation("power+sample_l2 + center+whiten") == (True, True, "center", True)
    assert parse_feature_normalisation("auto_power") == (None, False, "none", False)
    with pytest.raises(ValueError, match="may start with 'power\\+'"):
        parse_feature_normalisation("power+l2")
    with pytest.raises(ValueError, match="class_normalisation must be one of"):
        JCMSPL(class_normalisation="power+center").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
