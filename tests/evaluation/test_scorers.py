"""Scorers for scikit-learn, against plain loops."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jcmspl import ClassKFold, ClassSearchCV
from jcmspl.exceptions import UncalibratedWarning
from jcmspl.methods import RidgeVS
from jcmspl.metrics import HarmonicMeanScorer, ZeroShotScorer, harmonic_mean
from support.animals import make_zoo

ZOO = make_zoo(n_seen=10, noise=1.2)
TABLE = {"class_vectors": ZOO.table}


def share(model, X, y, labels, candidates, average, k=1):
    """The accuracy on samples of some classes, one class and one sample at a time."""
    hits = {label: [] for label in labels}
    for sample, label in zip(X, y, strict=True):
        if label in hits:
            scores = model.decision_function(sample[None], candidates=candidates, seen_penalty=model.seen_penalty_)[0]
            hits[label].append(label in [candidates[i] for i in np.argsort(-scores)[:k]])
    hits = [found for found in hits.values() if found]
    return np.mean([np.mean(found) for found in hits] if average == "class" else np.concatenate(hits))


@pytest.mark.parametrize("average", ["class", "sample"])
@pytest.mark.parametrize("k", [1, 2])
def test_zero_shot(average, k):
    cv = ClassKFold(3, test_seen=0.2)  # the samples of seen classes are left out
    found = cross_val_score(RidgeVS(), ZOO.X, ZOO.y, cv=cv, scoring=ZeroShotScorer(average, k), params=TABLE)
    expected = []
    for train, test in cv.split(ZOO.X, ZOO.y):
        model = RidgeVS().fit(ZOO.X[train], ZOO.y[train], **TABLE)
        unseen = sorted(set(ZOO.y[test]) - set(ZOO.y[train]))
        expected.append(share(model, ZOO.X[test], ZOO.y[test], unseen, unseen, average, k))
    assert_allclose(found, expected)
    assert 0.2 < found.mean() < 1


@pytest.mark.filterwarnings("error:seen and unseen classes compete")
def test_an_uncalibrated_model_is_told_of():
    model, y = RidgeVS().fit(ZOO.X, ZOO.y, **TABLE), np.concatenate([ZOO.y, ZOO.y_new])
    with pytest.raises(UncalibratedWarning):
        HarmonicMeanScorer()(model, np.vstack([ZOO.X, ZOO.X_new]), y)


@pytest.mark.parametrize("average", ["class", "sample"])
@pytest.mark.parametrize("seen_penalty", [0.0, 0.3])
def test_harmonic_mean(average, seen_penalty):
    cv = ClassKFold(3, test_seen=0.3)
    model, scoring = RidgeVS(seen_penalty=seen_penalty), HarmonicMeanScorer(average)
    found = cross_val_score(model, ZOO.X, ZOO.y, cv=cv, scoring=scoring, params=TABLE)
    expected = []
    for train, test in cv.split(ZOO.X, ZOO.y):
        model.fit(ZOO.X[train], ZOO.y[train], **TABLE)
        seen, unseen = model.classes_.tolist(), sorted(set(ZOO.y[test]) - set(ZOO.y[train]))
        parts = [share(model, ZOO.X[test], ZOO.y[test], kind, [*seen, *unseen], average) for kind in (seen, unseen)]
        expected.append(harmonic_mean(*parts))
    assert_allclose(found, expected)


def test_a_bias_is_worth_something():
    """Facts that scikit-learn's own balanced accuracy, of predictions among all classes, does not show."""
    grid = {"seen_penalty": [0.0, 0.1, 0.2, 0.3]}
    cv = ClassKFold(3, test_seen=0.3)
    search = GridSearchCV(RidgeVS(), grid, cv=cv, scoring=HarmonicMeanScorer()).fit(ZOO.X, ZOO.y, **TABLE)
    assert search.best_params_["seen_penalty"] > 0
    assert search.best_score_ > 0.1 + search.cv_results_["mean_test_score"][0]


def test_several_at_once_of_pipelines_and_searches():
    scoring = {"zero_shot": ZeroShotScorer(), "hit@2": ZeroShotScorer(k=2), "both": HarmonicMeanScorer()}
    cv, scaled = ClassKFold(2, test_seen=0.2), StandardScaler().fit(ZOO.X)
    pipeline = make_pipeline(StandardScaler(), RidgeVS())
    found = cross_validate(pipeline, ZOO.X, ZOO.y, cv=cv, scoring=scoring, params={"ridgevs__class_vectors": ZOO.table})
    assert (found["test_hit@2"] >= found["test_zero_shot"]).all()
    pipeline.fit(ZOO.X, ZOO.y, ridgevs__class_vectors=ZOO.table)
    expected = RidgeVS().fit(scaled.transform(ZOO.X), ZOO.y, **TABLE)
    score = ZeroShotScorer()
    assert score(pipeline, ZOO.X_new, ZOO.y_new) == score(expected, scaled.transform(ZOO.X_new), ZOO.y_new)
    search = ClassSearchCV(RidgeVS(), {"alpha": (1.0, 2.0)}, cv=2).fit(ZOO.X, ZOO.y, **TABLE)
    assert score(search, ZOO.X_new, ZOO.y_new) == search.score(ZOO.X_new, ZOO.y_new)


def test_with_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(RidgeVS(), ZOO.X, ZOO.y, cv=ClassKFold(2), scoring=ZeroShotScorer(), params=TABLE)
    assert_allclose(found, cross_val_score(RidgeVS(), ZOO.X, ZOO.y, cv=ClassKFold(2), params=TABLE))


@pytest.mark.parametrize("scorer", [ZeroShotScorer(), ZeroShotScorer("sample", k=5), HarmonicMeanScorer("sample")])
def test_copies(scorer):
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert eval(repr(scorer)) == scorer


def test_mistakes():
    model = RidgeVS().fit(ZOO.X, ZOO.y, **TABLE)
    with pytest.raises(ValueError, match=r"y holds only training classes.*ClassKFold"):
        ZeroShotScorer()(model, ZOO.X, ZOO.y)
    with pytest.raises(ValueError, match=r"y holds no samples of training classes.*test_seen"):
        HarmonicMeanScorer()(model, ZOO.X_new, ZOO.y_new)
    one = ZOO.y_new == ZOO.y_new[0]
    with pytest.raises(ValueError, match="single unseen class"):
        ZeroShotScorer()(model, ZOO.X_new[one], ZOO.y_new[one])
    with pytest.raises(ValueError, match="average must be one of"):
        ZeroShotScorer("classes")
    with pytest.raises(ValueError, match="k must be from 1"):
        ZeroShotScorer(k=0)
    with pytest.raises(ValueError, match="test_seen must be a share"):
        ClassKFold(test_seen=1.5)
    with pytest.raises(ValueError, match="leave test_seen out"):
        ClassSearchCV(RidgeVS(), cv=ClassKFold(2, test_seen=0.2)).fit(ZOO.X, ZOO.y, **TABLE)
