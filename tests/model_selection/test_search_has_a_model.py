"""A search has a model: it is stored, calls are handed on to it, and whatever takes a model takes the search."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, ClassTable, evaluate, load
from jcmspl.datasets import Dataset
from jcmspl.methods import RPL, RidgeVS
from jcmspl.model.classifier import ZeroShotClassifier
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, noise=0.6)
SMALL = {"class_match": (0.1, 1.0), "semantic_match": 0.01, "visual_reconstruction": 0.1, "cv": 3, "extend": 0}
SMALL |= {"semantic_reconstruction": 0.01, "progress": False}


def searches():
    return [JCMSPLCV(**SMALL), ClassSearchCV(RidgeVS(), {"alpha": (0.1, 1.0)}, cv=3, extend=0, progress=False)]


@pytest.fixture(params=[0, 1], ids=["JCMSPLCV", "ClassSearchCV"])
def search(request):
    return searches()[request.param].fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def as_dataset(zoo):
    X, y = np.vstack([zoo.X, zoo.X_new]), np.concatenate([zoo.y, zoo.y_new])
    n, rng = len(zoo.X), np.random.default_rng(0)
    held_out = np.sort(rng.permutation(n)[: n // 5])
    parts = {"train": np.setdiff1d(np.arange(n), held_out), "test_seen": held_out, "test_unseen": np.arange(n, len(X))}
    return Dataset("animals", X, y, zoo.table, parts)


def test_evaluate_takes_a_search(search):
    data = as_dataset(ZOO)
    search.fit(*data.part("trainval"), class_vectors=data.classes)
    report, plain = evaluate(search, data, progress=False), evaluate(search.best_estimator_, data, progress=False)
    assert report.accuracy == plain.accuracy
    assert report.data["results"] == plain.data["results"]


def test_what_is_done_to_the_model_stays(search):
    assert search.best_estimator_ is search.best_estimator_
    search.best_estimator_.calibrate(ZOO.X, ZOO.y)
    assert search.best_estimator_.calibration_
    assert search.seen_penalty_ == search.best_estimator_.seen_penalty_ != 0
    search.best_estimator_.add_classes({"yeti": np.ones(8)})
    assert "yeti" in search.unseen_classes_


def test_parameters_of_comparison_can_be_changed_after_the_fit(search):
    prefix = "" if isinstance(search, JCMSPLCV) else "estimator__"
    expected = {}
    for space in ("semantic", "visual", "concept"):
        recogniser = search.best_estimator_.recogniser(space=space, candidates="unseen")
        expected[space] = recogniser.scores(ZOO.X_new)
    for space, scores in expected.items():
        search.set_params(**{f"{prefix}space": space})
        assert_array_equal(search.decision_function(ZOO.X_new, candidates="unseen"), scores)
        assert search.best_estimator_.space == space
    assert not np.array_equal(expected["semantic"], expected["visual"])
    with pytest.raises(ValueError, match="space must be one of"):
        search.set_params(**{f"{prefix}space": "audio"})
    assert search.best_estimator_.space == "concept"


def test_what_needs_another_fit_does_not_change_the_model(search):
    before = search.decision_function(ZOO.X_new)
    if isinstance(search, JCMSPLCV):
        search.set_params(class_match=(5.0,), space=("semantic", "visual"), cv=4)
    else:
        search.set_params(estimator=RPL(), param_grid={"alpha": (3.0,)}, cv=4)
    assert_array_equal(search.decision_function(ZOO.X_new), before)


def test_a_search_is_no_model(search):
    assert not isinstance(search, ZeroShotClassifier)
    assert isinstance(search.best_estimator_, ZeroShotClassifier)


def test_calls_are_handed_on(search, tmp_path):
    model = search.best_estimator_
    for method in (
        "predict",
        "decision_function",
        "predict_proba",
        "predict_topk",
        "transform",
        "reconstruct_semantic",
    ):
        assert_array_equal(getattr(search, method)(ZOO.X_new), getattr(model, method)(ZOO.X_new))
    assert search.score(ZOO.X_new, ZOO.y_new) == model.score(ZOO.X_new, ZOO.y_new)
    assert str(search.explain(ZOO.X_new[:1])[0]) == str(model.explain(ZOO.X_new[:1])[0])
    assert_array_equal(search.reconstruct_visual(), model.reconstruct_visual())
    assert_array_equal(search.reconstruct_semantic(ZOO.X), model.reconstruct_semantic(ZOO.X))
    assert search.calibrate(ZOO.X, ZOO.y) is search
    assert model.calibration_ == search.calibration_
    assert search.add_classes({"yeti": np.ones(8)}) is search
    search.recogniser(candidates="unseen").to_onnx(tmp_path / "model.onnx")
    search.save(tmp_path / "model")
    assert type(load(tmp_path / "model")) is type(model)
    for name in ("classes_", "class_table_", "unseen_classes_", "visual_projection_", "statistics_", "timings_"):
        assert hasattr(search, name)
        assert name in dir(search)
    assert isinstance(search.class_table_, ClassTable)


def test_methods_and_docs_are_those_of_the_model():
    assert JCMSPLCV.predict.__doc__ == JCMSPL.predict.__doc__
    assert not hasattr(JCMSPLCV(), "classes_")
    assert hasattr(JCMSPLCV(), "transform")
    assert not hasattr(ClassSearchCV(Plain()), "transform")
    for name in ("magic_", "cv_results_table_", "classes_"):
        with pytest.raises(NotFittedError):
            getattr(JCMSPLCV(), name)
    with pytest.raises(NotFittedError):
        JCMSPLCV().calibrate(ZOO.X, ZOO.y)


class Plain(ZeroShotClassifier):
    """Of no kind: it neither projects nor explains."""


def test_copies(search):
    twin = pickle.loads(pickle.dumps(search))
    assert_array_equal(twin.decision_function(ZOO.X_new), search.decision_function(ZOO.X_new))
    assert twin.best_estimator_ is not search.best_estimator_
    assert not hasattr(clone(search), "best_params_")


def test_a_failed_fit_leaves_the_search_as_it_was(search):
    before = search.decision_function(ZOO.X_new)
    bad = ZOO.X.copy()
    bad[3, 3] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        search.fit(bad, ZOO.y, class_vectors=ZOO.table)
    assert_array_equal(search.decision_function(ZOO.X_new), before)


def test_an_attribute_that_the_model_does_not_have(search):
    with pytest.raises(AttributeError, match="magic_"):
        _ = search.magic_


def test_output_of_transform(search):
    unfitted = clone(search).set_output(transform="pandas").set_output(transform=None)
    again = clone(unfitted).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert list(again.transform(ZOO.X_new).columns) == list(again.get_feature_names_out())
    assert isinstance(search.set_output(transform="pandas").transform(ZOO.X_new), pd.DataFrame)
    for method in ("transform", "fit_transform", "set_output"):
        assert not hasattr(ClassSearchCV(Plain()), method)


def test_refitting_with_other_features(search, tmp_path):
    """A search asks its own memory of the samples, and not that of the model before."""
    frame = pd.DataFrame(ZOO.X, columns=[f"pixel {i}" for i in range(20)])
    search.fit(frame, ZOO.y, class_vectors=ZOO.table)
    assert list(search.feature_names_in_) == list(search.best_estimator_.feature_names_in_) == list(frame.columns)
    for _ in range(2):
        search.fit(ZOO.X[:, :7], ZOO.y, class_vectors=ZOO.table)
        assert not hasattr(search, "feature_names_in_")
        assert not hasattr(search.best_estimator_, "feature_names_in_")
    search.save(tmp_path / "model")
    assert load(tmp_path / "model").n_features_in_ == search.n_features_in_ == 7


def test_parameters_that_are_refused_change_nothing(search):
    before = search.decision_function(ZOO.X_new)
    prefix = "" if isinstance(search, JCMSPLCV) else "estimator__"
    with pytest.raises(ValueError, match="Invalid parameter 'bogus'"):
        search.set_params(**{f"{prefix}space": "visual", "bogus": 1})
    if prefix:
        with pytest.raises(ValueError, match="Invalid parameter 'space'"):
            search.set_params(space="visual")
        search.set_params(estimator=RPL(), estimator__space="concept")  # for the next fit, of another model
    assert_array_equal(search.decision_function(ZOO.X_new), before)


def test_a_copy_has_a_model_of_its_own(search):
    before, twin = search.decision_function(ZOO.X_new), copy.copy(search)
    twin.partial_fit(ZOO.X + 1, ZOO.y).calibrate(ZOO.X, ZOO.y)
    assert_array_equal(search.decision_function(ZOO.X_new), before)
    assert search.calibration_ == {}


def test_looking_at_a_search_draws_no_random_numbers():
    state = np.random.RandomState(3)
    search = JCMSPLCV(init="random", random_state=state)
    before = state.get_state()[2]
    repr(search), dir(search), hasattr(search, "transform"), search._repr_html_()
    assert state.get_state()[2] == before
