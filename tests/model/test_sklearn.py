"""The conventions of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from jcmspl import JCMSPL, ClassKFold
from support.animals import make_zoo
from support.sklearn_checks import expected_failures, run_check

ZOO = make_zoo(n_seen=10, noise=0.8)
SEEN_TABLE = ZOO.table.select(ZOO.seen)


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [  # test_contract.py has the default settings
        JCMSPL(feature_normalisation="zscore", class_normalisation="none", space="concept", metric="euclidean"),
        JCMSPL(init="random", random_state=0, space="visual", feature_normalisation="center"),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimator(estimator, check):
    run_check(check, estimator)


def test_clone_and_parameters():
    model = JCMSPL(space="visual", init=np.eye(10), metric=np.subtract)
    twin = clone(model)
    assert twin.space == "visual"
    assert_array_equal(twin.init, np.eye(10))
    assert model.set_params(space="concept").get_params()["space"] == "concept"
    assert repr(JCMSPL(space="concept")) == "JCMSPL(space='concept')"
    assert "JCMSPL" in JCMSPL()._repr_html_()


def test_pipeline():
    model = make_pipeline(StandardScaler(), JCMSPL(feature_normalisation="none"))
    model.fit(ZOO.X, ZOO.y, jcmspl__class_vectors=ZOO.table)
    expected = JCMSPL(feature_normalisation="zscore").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_allclose(model.decision_function(ZOO.X_new), expected.decision_function(ZOO.X_new), atol=1e-9)
    given = make_pipeline(StandardScaler(), JCMSPL(feature_normalisation="none"))
    given.fit(ZOO.X, ZOO.y, jcmspl__class_vectors=SEEN_TABLE)
    unseen = ZOO.table.select(ZOO.unseen)
    assert set(given.predict(ZOO.X_new, class_vectors=unseen)) <= set(ZOO.unseen)


@pytest.mark.parametrize("routing", [False, True])
def test_a_pipeline_can_be_scored(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        model = make_pipeline(StandardScaler(), JCMSPL())
        assert model.fit(ZOO.X, ZOO.y).score(ZOO.X, ZOO.y) > 0.9
        scores = cross_val_score(model, ZOO.X, ZOO.y, cv=3, error_score="raise")
        assert np.mean(scores) > 0.7


def test_labels_as_matlab_has_them():
    """Whole numbers in float64, while the class vectors are an array."""
    numbers = {name: float(i) for i, name in enumerate(ZOO.table)}
    y = np.array([numbers[name] for name in ZOO.y])
    model = JCMSPL().fit(ZOO.X, y, class_vectors=ZOO.table.vectors)
    assert accuracy_score(y, model.predict(ZOO.X)) > 0.3
    assert model.predict(ZOO.X).dtype.kind == "i"
    bools = JCMSPL().fit(ZOO.X, ZOO.y == ZOO.seen[0], class_vectors=ZOO.table.vectors[:3])
    assert bools.predict(ZOO.X).dtype.kind == "i"


def plain_loop(model, cv):
    scores = []
    for train, test in cv.split(ZOO.X, ZOO.y):
        fold = clone(model).fit(ZOO.X[train], ZOO.y[train], class_vectors=SEEN_TABLE)
        held_out = sorted(set(ZOO.y[test].tolist()))
        scores.append(fold.score(ZOO.X[test], ZOO.y[test], candidates=held_out))
    return scores


def test_cross_validation_over_classes():
    cv = ClassKFold(5)
    scores = cross_val_score(JCMSPL(), ZOO.X, ZOO.y, cv=cv, params={"class_vectors": SEEN_TABLE}, error_score="raise")
    assert_allclose(scores, plain_loop(JCMSPL(), cv))
    assert np.mean(scores) > 0.6  # of two held-out classes each


@pytest.mark.filterwarnings("ignore:there is one sample of each class")
def test_a_table_as_long_as_the_data_is_not_sliced():
    one_each = make_zoo(n_seen=10, per_class=1, noise=0.01)
    table = one_each.table.select(one_each.seen)
    scores = cross_val_score(
        JCMSPL(), one_each.X, one_each.y, cv=ClassKFold(5), params={"class_vectors": table}, error_score="raise"
    )
    assert np.isfinite(scores).all()


def test_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(JCMSPL(), {"space": ["semantic", "concept"]}, cv=ClassKFold(3), error_score="raise")
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert set(search.best_estimator_.unseen_classes_) == set(ZOO.unseen)
        routed = make_pipeline(StandardScaler(), JCMSPL(feature_normalisation="none"))
        routed.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert set(routed.predict(ZOO.X_new, candidates="unseen")) <= set(ZOO.unseen)
        scored = JCMSPL().set_score_request(candidates=True, average=True)
        params = {"class_vectors": ZOO.table, "candidates": "all", "average": "sample"}
        assert len(cross_val_score(scored, ZOO.X, ZOO.y, cv=ClassKFold(3), params=params, error_score="raise")) == 3


def test_feature_names_and_output():
    frame = pd.DataFrame(ZOO.X, columns=[f"pixel {i}" for i in range(20)])
    model = JCMSPL().set_output(transform="pandas").fit(frame, ZOO.y, class_vectors=ZOO.table)
    codes = model.transform(frame)
    assert list(codes.columns) == [f"jcmspl{i}" for i in range(10)] == model.get_feature_names_out().tolist()
    assert_array_equal(model.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"pixel 0": "other"}))
    assert model.score(frame, ZOO.y, candidates="seen") > 0.8  # without a warning of missing names
    fresh = JCMSPL()
    codes = fresh.fit_transform(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_array_equal(codes, fresh.transform(ZOO.X))
