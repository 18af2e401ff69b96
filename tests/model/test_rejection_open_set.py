"""Samples that are of none of the candidates."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import logsumexp

from jcmspl import JCMSPL, ClassKFold, ClassSearchCV, load
from jcmspl.data.class_folds import held_out_rows
from jcmspl.model.prediction import auto_temperature, namer_for
from jcmspl.model.rejection import two_looks
from jcmspl.model.threshold import Evidence, Threshold
from support.animals import make_zoo

BAD = {"value": "x", "floor": "x", "weight": -1.0, "temperature": 0.0}  # of a threshold; shares are at most 1
ZOO = make_zoo(n_seen=12, n_unseen=4, noise=0.8)


def fitted(**parameters):
    return JCMSPL(progress=False, **parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(scope="module")
def calibrated():
    return fitted().calibrate(ZOO.X, ZOO.y).calibrate_rejection(ZOO.X, ZOO.y)


def excess(model, X, group, **options):
    """Return by how much best scores exceed the score that the calibrated threshold asks for, from its definition."""
    threshold = model.rejection_[model.own_space, "cosine", group]
    scores = model.decision_function(X, candidates="seen") / threshold.temperature
    rival = threshold.temperature * np.log(np.exp(scores).sum(axis=1))
    rise = threshold.weight * np.maximum(rival - threshold.floor, 0)
    return model.decision_function(X, **options).max(axis=1) - threshold.value - rise


def test_two_looks_are_two_sets_of_candidates():
    model = fitted()
    known, strangers = two_looks(ZOO.X_new, ZOO.y_new, model.recogniser(candidates="unseen"))
    expected = model.decision_function(ZOO.X_new, candidates="unseen").max(axis=1)
    np.testing.assert_allclose(known, expected, rtol=1e-12, atol=1e-12)
    for label in ZOO.unseen:
        own, others = ZOO.y_new == label, [other for other in ZOO.unseen if other != label]
        expected = model.decision_function(ZOO.X_new[own], candidates=others).max(axis=1)
        np.testing.assert_allclose(strangers[own], expected, rtol=1e-12, atol=1e-12)


def test_calibration_is_a_plain_loop_over_folds_of_classes(calibrated):
    """The same, with nothing shared: models fitted by fit, candidates named, scores of all of them."""
    model, space = calibrated, calibrated.own_space
    rng = np.random.RandomState(0)  # what random_state=0 means
    classes = sorted(set(ZOO.y.tolist()))
    n_splits = 4  # 16 classes, 4 of them unseen
    folds = [[classes[i] for i in fold] for fold in ClassKFold(n_splits, random_state=rng).split_classes(len(classes))]
    testing = held_out_rows(ZOO.y.tolist(), 0.2, rng)
    pairs, temperature = {"seen": [], "unseen": [], "all": []}, auto_temperature(model, space)
    for fold in folds:
        is_unseen = np.isin(ZOO.y, fold)
        train = ~is_unseen & ~testing
        one = JCMSPL(progress=False).fit(ZOO.X[train], ZOO.y[train], class_vectors=ZOO.table)
        trained = one.classes_.tolist()

        def best(rows, candidates, one=one):
            scores = one.decision_function(ZOO.X[rows], candidates=candidates, seen_penalty=model.seen_penalty_)
            rival = temperature * logsumexp(one.decision_function(ZOO.X[rows], candidates="seen") / temperature, axis=1)
            return Evidence(scores.max(axis=1), rival)

        def without_own(candidates, fold=fold, best=best):
            of_classes = [best(ZOO.y == label, [one for one in candidates if one != label]) for label in fold]
            return Evidence(*map(np.concatenate, zip(*of_classes, strict=True)))

        known_seen = ~is_unseen & testing
        pairs["unseen"].append((best(is_unseen, fold), without_own(fold)))
        pairs["seen"].append((best(known_seen, trained), best(is_unseen, trained)))
        pairs["all"].append((best(is_unseen | known_seen, [*trained, *fold]), without_own([*trained, *fold])))
    for group, expected in pairs.items():
        found, own = model.rejection_[space, "cosine", group], Threshold.of(expected, 0.05, temperature)
        assert found.value == pytest.approx(own.value, rel=1e-8)
        assert (found.weight, found.temperature) == (own.weight, pytest.approx(own.temperature))
        assert found.floor == pytest.approx(own.floor, rel=1e-8)
        assert (found.lost, found.rejected) == pytest.approx((own.lost, own.rejected))
        assert found.auroc == pytest.approx(own.auroc, abs=1e-3)


@pytest.mark.parametrize("candidates", ["seen", "unseen", "all", ZOO.unseen[:2], [*ZOO.seen[:3], *ZOO.unseen]])
def test_auto_takes_the_threshold_for_such_candidates(calibrated, candidates):
    group = candidates if isinstance(candidates, str) else "unseen" if len(candidates) == 2 else "all"
    assert_array_equal(
        calibrated.predict(ZOO.X_new, candidates=candidates, reject="auto", reject_label="") == "",
        excess(calibrated, ZOO.X_new, group, candidates=candidates) < 0,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_that_rise(calibrated, dtype, tmp_path):
    model = copy.copy(calibrated).set_params(space="semantic")
    threshold, X = model.rejection_["semantic", "cosine", "seen"], ZOO.X_new.astype(dtype)
    assert threshold.weight > 0
    threshold = replace(threshold, value=0.45)  # high enough for its rise to matter
    model.rejection_ = {("semantic", "cosine", "seen"): threshold}
    above = excess(model, X, "seen", candidates="seen")
    found = model.predict(X, candidates="seen", reject="auto", reject_label="")
    assert_array_equal(found == "", above < 0)
    best = model.decision_function(X, candidates="seen").max(axis=1)
    assert ((best >= threshold.value) & (above < 0)).any()  # the best score alone would have named these
    namer = namer_for(model, 1, proba=False, reject="auto", candidates="seen")
    assert_array_equal(namer(X).rejected, above < 0)
    model.save(tmp_path / "m")
    assert_array_equal(load(tmp_path / "m").predict(X, candidates="seen", reject="auto", reject_label=""), found)
    dask = pytest.importorskip("dask.array")
    assert_array_equal(namer.best(dask.from_array(X, chunks=(7, -1))).rejected, above < 0)
    lazy = model.predict(dask.from_array(X, chunks=(7, -1)), candidates="seen", reject="auto", reject_label="")
    assert_array_equal(lazy.compute(), found)


def test_a_rejected_sample_is_one_whose_best_score_is_low(calibrated):
    named = calibrated.predict(ZOO.X_new, candidates="unseen")
    scores = calibrated.decision_function(ZOO.X_new, candidates="unseen").max(axis=1)
    threshold = float(np.median(scores))
    found = calibrated.predict(ZOO.X_new, candidates="unseen", reject=threshold)
    assert found.dtype == object
    assert [label is None for label in found] == (scores < threshold).tolist()
    assert_array_equal(found[scores >= threshold], named[scores >= threshold])
    as_text = calibrated.predict(ZOO.X_new, candidates="unseen", reject=threshold, reject_label="")
    assert as_text.dtype.kind == "U"
    assert_array_equal(as_text == "", scores < threshold)


def test_strangers_are_rejected_more_often_than_known_samples(calibrated):
    candidates = ZOO.unseen[:2]
    is_stranger = ~np.isin(ZOO.y_new, candidates)
    found = calibrated.predict(ZOO.X_new, candidates=candidates, reject="auto", reject_label="")
    assert np.mean(found[is_stranger] == "") > np.mean(found[~is_stranger] == "") + 0.1


def test_labels_that_are_numbers():
    numbers = {name: number for number, name in enumerate(ZOO.table)}
    y = np.array([numbers[name] for name in ZOO.y])
    model = JCMSPL(progress=False).fit(ZOO.X, y, class_vectors=ZOO.table.vectors)
    found = model.predict(ZOO.X_new, candidates="unseen", reject=1e9, reject_label=-1)
    assert found.dtype.kind == "i"
    assert set(found.tolist()) == {-1}
    assert set(model.predict(ZOO.X_new, candidates="unseen", reject=1e9).tolist()) == {None}
    assert None not in model.predict(ZOO.X_new, candidates="unseen", reject=-1e9).tolist()


def test_one_candidate_is_enough(calibrated):
    found = calibrated.predict(ZOO.X_new, candidates=ZOO.unseen[:1], reject="auto")
    assert set(found.tolist()) == {None, ZOO.unseen[0]}


def test_files_and_pickles(calibrated, tmp_path):
    calibrated.save(tmp_path / "m")
    for again in (load(tmp_path / "m"), pickle.loads(pickle.dumps(calibrated))):
        assert again.rejection_ == calibrated.rejection_
        assert_array_equal(
            again.predict(ZOO.X_new, reject="auto", reject_label=""),
            calibrated.predict(ZOO.X_new, reject="auto", reject_label=""),
        )


def test_what_makes_thresholds_stale(calibrated, tmp_path):
    calibrated.save(tmp_path / "m", statistics=True)
    model = load(tmp_path / "m").partial_fit(ZOO.X, ZOO.y)
    assert model.rejection_ == calibrated.rejection_  # still the best there is
    model.calibrate(ZOO.X, ZOO.y)
    assert {group for _, _, group in model.rejection_} == {"seen", "unseen"}  # the bias is another one
    model.set_params(metric="euclidean")
    with pytest.raises(ValueError, match="no threshold was chosen for candidates among unseen classes"):
        model.predict(ZOO.X_new, candidates="unseen", reject="auto")
    assert model.set_params(metric="cosine").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).rejection_ == {}


def test_a_search_hands_it_on():
    grid = {"class_match": [1.0, 100.0]}
    search = ClassSearchCV(JCMSPL(progress=False), grid, cv=2, extend=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert search.calibrate_rejection(ZOO.X, ZOO.y, max_false_rejection=0.2) is search
    assert None in search.predict(ZOO.X_new, candidates="unseen", reject="auto").tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reject": "auto"}, "no threshold was chosen for candidates among unseen classes in the visual space"),
        ({"reject": "often"}, "reject must be"),
        ({"reject": [1]}, "reject must be"),
        ({"reject": np.nan}, "reject must be"),
        ({"reject": 0.0, "reject_label": ZOO.unseen[0]}, "which is a candidate: choose another one"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted().predict(ZOO.X_new, candidates="unseen", **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_false_rejection": 1.0}, "max_false_rejection must be a share"),
        ({"max_false_rejection": -0.1}, "max_false_rejection must be a share"),
        ({"max_false_rejection": "many"}, "max_false_rejection must be"),
        ({"n_splits": 7}, "12 classes, too few for 7 folds of 2 classes at least"),
        ({"held_out": 0.0}, "held_out must be"),
    ],
)
def test_bad_calibrations_are_refused(arguments, message):
    model = fitted()
    with pytest.raises((ValueError, TypeError), match=message):
        model.calibrate_rejection(ZOO.X, ZOO.y, **arguments)
    assert model.rejection_ == {}


def test_too_few_classes_and_none_at_all():
    few = np.isin(ZOO.y, ZOO.seen[:3])
    with pytest.raises(ValueError, match="3 classes, but two folds of 2 classes"):
        fitted().calibrate_rejection(ZOO.X[few], ZOO.y[few])
    with pytest.raises(ValueError, match="without class_vectors"):
        JCMSPL(progress=False).fit(ZOO.X, ZOO.y).calibrate_rejection(ZOO.X, ZOO.y)


@pytest.mark.parametrize("name", ["value", "lost", "auroc", "weight", "floor", "temperature"])
def test_damaged_thresholds_in_files_are_refused(name, calibrated, tmp_path, monkeypatch):
    bad = Threshold(**{**vars(calibrated.rejection_["visual", "cosine", "all"]), name: BAD.get(name, 7.0)})
    twin = pickle.loads(pickle.dumps(calibrated))
    twin.rejection_ = {("visual", "cosine", "all"): bad}
    twin.save(tmp_path / "m")
    with pytest.raises(ValueError, match="threshold"):
        load(tmp_path / "m")
