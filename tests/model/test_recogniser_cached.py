"""Cached recognisers, temperatures and explainers are never out of date."""

import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl import JCMSPL, load
from jcmspl.model import prediction
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, n_unseen=4, per_class=10, noise=0.8)


@pytest.fixture
def model():
    return JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def assert_up_to_date(model):
    for candidates in ("unseen", "seen", "all", None):
        fresh = model.recogniser(candidates=candidates).scores(ZOO.X_new)
        for _ in range(2):
            assert_array_equal(model.decision_function(ZOO.X_new, candidates=candidates), fresh)
        anew = without_memory(model)
        shares = anew.predict_proba(ZOO.X_new, candidates=candidates)
        contributions = contributions_of(anew, candidates)
        for _ in range(2):
            assert_array_equal(model.predict_proba(ZOO.X_new, candidates=candidates), shares)
            assert_array_equal(contributions_of(model, candidates), contributions)


def without_memory(model):
    return pickle.loads(pickle.dumps(model))  # which leaves out what is remembered


def contributions_of(model, candidates):
    return [one.contributions for one in model.explain(ZOO.X_new, candidates=candidates)]


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.set_params(space="semantic"),
        lambda model: setattr(model, "space", "concept"),
        lambda model: model.set_params(metric="euclidean"),
        lambda model: model.set_params(seen_mean_share=0.1),
        lambda model: model.set_params(temperature=0.7),
        lambda model: setattr(model, "prediction_count", 3.0),
        lambda model: model.set_params(init=np.eye(8)),
        lambda model: setattr(model, "seen_penalty", 0.3),
        lambda model: model.calibrate(ZOO.X, ZOO.y),
        lambda model: model.calibration_.update({("visual", "cosine"): 0.2}),
        lambda model: model.add_classes({"yeti": np.ones(ZOO.table.n_attributes)}),
        lambda model: model.add_classes(X=ZOO.X_new[:5], y=ZOO.y_new[:5]),
        lambda model: model.partial_fit(ZOO.X[:40] + 1, ZOO.y[:40]),
        lambda model: model.partial_fit(ZOO.X[:40] + 1, ZOO.y[:40], refit=False),
        lambda model: model.adapt(ZOO.X_new, candidates="unseen"),
        lambda model: model.adapt(ZOO.X_new, candidates="unseen").reset_adaptation(),
        lambda model: model.fit(ZOO.X[::2], ZOO.y[::2], class_vectors=ZOO.table),
    ],
)
def test_changes_hold_at_once(model, change):
    assert_up_to_date(model)
    change(model)
    assert_up_to_date(model)


def test_the_same_one_is_used_again(model, monkeypatch):
    calls = []
    made = prediction.recogniser_of

    def counted(*args, **kwargs):
        calls.append(args)
        return made(*args, **kwargs)

    monkeypatch.setattr(prediction, "recogniser_of", counted)
    for _ in range(3):
        model.predict(ZOO.X_new, candidates="unseen")
    assert len(calls) == 1
    model.predict(ZOO.X_new, class_vectors=ZOO.table)
    model.predict(ZOO.X_new, class_vectors=ZOO.table)
    assert len(calls) == 3  # vectors of a call are looked at each time


def test_one_sample_is_named_and_explained_with_nothing_made_anew(model, monkeypatch):
    calls = [lambda: model.predict_proba(ZOO.X_new[:1]), lambda: model.explain(ZOO.X_new[:1])]
    for call in calls:
        call()

    def made(*args, **kwargs):
        raise AssertionError("this was made before")

    for name in ("_readout", "_prototypes_of"):
        monkeypatch.setattr(JCMSPL, name, made)
    for name in ("recogniser_of", "_spread"):
        monkeypatch.setattr(prediction, name, made)
    for call in calls:
        call()
    with pytest.raises(AssertionError):
        model.explain(ZOO.X_new[:1], class_vectors=ZOO.table)  # vectors of a call are looked at each time


@pytest.mark.parametrize(
    "call",
    [lambda model: model.predict_proba(ZOO.X_new), lambda model: contributions_of(model, None)],
    ids=["predict_proba", "explain"],
)
def test_what_is_made_while_another_thread_changes_the_model(model, call, monkeypatch):
    before = call(without_memory(model))
    made, changed = JCMSPL._prototypes_of, []

    def slow(self, *args, **kwargs):
        if not changed:
            changed.append(True)
            thread = threading.Thread(target=lambda: model.partial_fit(ZOO.X[:40] + 1, ZOO.y[:40]))
            thread.start()
            thread.join()
        return made(self, *args, **kwargs)

    monkeypatch.setattr(JCMSPL, "_prototypes_of", slow)
    assert_array_equal(call(model), before)  # as the model was when the call began
    after = call(without_memory(model))
    assert not np.array_equal(after, before)
    assert_array_equal(call(model), after)


def test_is_not_stored(model, tmp_path):
    before = len(pickle.dumps(model))
    model.predict_proba(ZOO.X_new, candidates="unseen")
    model.explain(ZOO.X_new, candidates="unseen")
    assert len(pickle.dumps(model)) < before + 500
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.predict(ZOO.X_new), model.predict(ZOO.X_new))
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(ZOO.X_new), model.predict(ZOO.X_new))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (ZOO.X_new[:, :3], "3 features"),
        (ZOO.X_new[0], "1D array"),
        (ZOO.X_new[:0], "minimum of 1"),
        (ZOO.X_new.astype(complex), "[Cc]omplex"),
        (np.full((1, ZOO.X.shape[1]), np.nan), "NaN"),
    ],
)
def test_samples_are_still_looked_at(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.predict(X)
