import copy
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import recall_score

from jcmspl import JCMSPL, ClassSearchCV
from jcmspl.methods import RidgeVS
from jcmspl.model import calibration
from jcmspl.model.calibration import SeenUnseenCurve, best_bias, generalized_curve
from support.animals import make_zoo

ZOO = make_zoo(n_seen=12, n_unseen=4, noise=0.8)


def brute_force(gaps, right, classes, is_seen, bias):
    """Accuracies sample by sample: the class of the sample's own kind must be chosen, and be the right one."""
    gaps, right, classes, is_seen = map(np.asarray, (gaps, right, classes, is_seen))
    chosen_seen = gaps >= bias
    hit = right & (chosen_seen == is_seen)
    return [np.mean([hit[classes == cls].mean() for cls in np.unique(classes[side])]) for side in (is_seen, ~is_seen)]


@given(st.integers(0, 1000), st.floats(-3, 3))
def test_accuracies_equal_brute_force(seed, bias):
    rng = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(5), rng.integers(0, 5, 20)])
    is_seen = classes < 3
    gaps, right = rng.integers(-3, 4, 25).astype(float), rng.random(25) < 0.7  # whole numbers: many ties
    curve = SeenUnseenCurve.of(gaps, right, classes, is_seen)
    for value in (bias, round(bias)):
        seen, unseen = curve.accuracies(value)
        assert_allclose([seen, unseen], brute_force(gaps, right, classes, is_seen, value), atol=1e-12)
    harmonic = curve.harmonic_mean(curve.biases())
    assert best_bias([curve]) in curve.biases()
    assert curve.harmonic_mean(best_bias([curve])) == pytest.approx(harmonic.max())


def test_area_of_a_worked_case():
    # one sample of each kind, both right; the unseen one has the lower gap: every bias between gets both
    assert SeenUnseenCurve.of([1.0, -1.0], [True, True], [0, 1], [True, False]).area() == pytest.approx(1)
    # the other way round: never both; the curve goes (1, 0) -> (0, 0) -> (0, 1)
    assert SeenUnseenCurve.of([-1.0, 1.0], [True, True], [0, 1], [True, False]).area() == pytest.approx(0)
    # at the same gap both change at once: a straight line
    assert SeenUnseenCurve.of([0.0, 0.0], [True, True], [0, 1], [True, False]).area() == pytest.approx(0.5)


def test_needs_both_kinds():
    with pytest.raises(ValueError, match="seen and of unseen"):
        SeenUnseenCurve.of([1.0], [True], [0], [True])


@pytest.fixture(scope="module")
def fitted():
    return JCMSPL(space="semantic").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)


def test_curve_of_a_model_is_that_of_its_predictions(model):
    X, y = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])
    kinds = [model.recogniser(candidates=kind) for kind in ("seen", "unseen")]
    curve = generalized_curve(*kinds, [(X[:50], y[:50]), (X[50:], y[50:])])
    for bias in (-0.1, 0.0, 0.05, 0.2):
        predicted = model.predict(X, seen_penalty=bias)
        expected = [
            recall_score(y, predicted, labels=names, average="macro", zero_division=0)
            for names in (ZOO.seen, ZOO.unseen)
        ]
        assert_allclose(curve.accuracies(bias), expected)


def test_calibrate_helps_generalized_recognition(model):
    def harmonic(bias):
        seen, unseen = (
            model.score(X, y, candidates="all", seen_penalty=bias) for X, y in ((ZOO.X, ZOO.y), (ZOO.X_new, ZOO.y_new))
        )
        return 2 * seen * unseen / (seen + unseen)

    before = harmonic(0)
    assert model.calibrate(ZOO.X, ZOO.y) is model
    assert model.seen_penalty_ > 0
    assert set(model.calibration_) == {(space, "cosine") for space in ("semantic", "visual", "concept")}
    assert harmonic(None) > before + 0.03
    first = model.seen_penalty_
    order = np.random.default_rng(0).permutation(len(ZOO.X))
    assert model.calibrate(ZOO.X, ZOO.y).seen_penalty_ == first
    assert model.calibrate(ZOO.X[order], ZOO.y[order]).seen_penalty_ > 0
    assert model.calibrate(ZOO.X, ZOO.y, random_state=1).seen_penalty_ != first


def test_calibrate_sees_nothing_of_the_unseen_classes(model):
    one = model.calibrate(ZOO.X, ZOO.y).seen_penalty_
    other = JCMSPL(space="semantic").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    other.add_classes({name: np.random.default_rng(0).random(8) for name in ZOO.unseen}, replace=True)
    assert other.calibrate(ZOO.X, ZOO.y).seen_penalty_ == one


def test_calibration_belongs_to_a_space_and_a_metric():
    model = JCMSPL(seen_penalty=0.5).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert model.set_params(seen_penalty=0.25).seen_penalty_ == 0.25  # takes effect at once, as space and metric do
    model.calibrate(ZOO.X, ZOO.y)
    for space in ("semantic", "visual", "concept"):
        alone = JCMSPL(space=space).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).calibrate(ZOO.X, ZOO.y)
        assert model.set_params(space=space).seen_penalty_ == alone.seen_penalty_ != 0.25
        mixed = [*ZOO.seen, *ZOO.unseen]
        assert_array_equal(
            JCMSPL.recogniser(model, candidates=mixed, space="visual").bias,
            model.set_params(space="visual").recogniser(candidates=mixed).bias,
        )
    assert model.set_params(metric="euclidean").seen_penalty_ == 0.25
    model.set_params(metric="cosine", space="semantic")
    before = model.seen_penalty_
    assert model.partial_fit(ZOO.X[:1], ZOO.y[:1]).seen_penalty_ == before
    assert model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).seen_penalty_ == 0.25


def test_folds_train_on_every_class_they_do_not_hold_out(monkeypatch):
    zoo = make_zoo(n_seen=40, n_unseen=10, per_class=3)
    model = JCMSPL(init=np.eye(40)).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    seen = []
    original = calibration.learnt

    def spy(model, collected, *args):
        seen.append(len(collected.labels))
        return original(model, collected, *args)

    monkeypatch.setattr(calibration, "learnt", spy)
    model.calibrate(zoo.X, zoo.y, random_state=np.random.default_rng(0))
    assert seen == [32] * 5 * 3  # of 40 classes folds are drawn three times


def test_bad_input(model):
    with pytest.raises(ValueError, match="not trained"):
        model.calibrate(ZOO.X_new, ZOO.y_new)
    with pytest.raises(ValueError, match="held_out must be between 0 and 1"):
        model.calibrate(ZOO.X, ZOO.y, held_out=1)
    with pytest.raises(ValueError, match="180 samples in X, 3 labels"):
        model.calibrate(ZOO.X, ZOO.y[:3])
    with pytest.raises(ValueError, match="too few for 13 folds"):
        model.calibrate(ZOO.X, ZOO.y, n_splits=13)
    rows = np.isin(ZOO.y, ZOO.seen[:2])
    with pytest.raises(ValueError, match="2 classes, too few to hold some out"):
        model.calibrate(ZOO.X[rows], ZOO.y[rows])
    first = [ZOO.y.tolist().index(name) for name in ZOO.seen]
    with pytest.raises(ValueError, match="one sample only"):
        model.calibrate(ZOO.X[first], ZOO.y[first])
    second = np.flatnonzero(ZOO.y == ZOO.seen[0])[1]
    for calibrate in (model.calibrate, model.calibrate_sets, model.calibrate_rejection):
        with pytest.raises(ValueError, match="too few classes in y have two samples or more"):
            calibrate(ZOO.X[[*first, second]], ZOO.y[[*first, second]])
    X = ZOO.X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"first at index \(3, 1\)"):
        model.calibrate(X, ZOO.y)
    with pytest.raises(ValueError, match="no unseen classes"):
        JCMSPL().fit(ZOO.X, ZOO.y).calibrate(ZOO.X, ZOO.y)
    assert_array_equal(model.seen_penalty_, 0)


def assigned(model, **parameters):
    for name, value in parameters.items():
        setattr(model, name, value)


@pytest.mark.parametrize("change", [JCMSPL.set_params, assigned])
@pytest.mark.parametrize("name", ["adaptation_pull", "adaptation_temperature"])
def test_a_constant_of_adaptation_that_is_set_takes_the_place_of_calibrated_ones(name, change):
    model = JCMSPL(space="visual").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    model.calibrate(ZOO.X, ZOO.y, adaptation=True)
    bias, constants = model.seen_penalty_, (2.0, 3.0)
    model.adaptation_constants_ = constants
    change(model, temperature=0.1)
    assert model.adaptation_constants_ == constants
    change(model, **{name: 0.5})
    assert not hasattr(model, "adaptation_constants_")
    assert model.seen_penalty_ == bias


def test_a_bias_that_is_set_takes_the_place_of_a_calibrated_one(tmp_path):
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).calibrate(ZOO.X, ZOO.y)
    model.calibrate_rejection(ZOO.X, ZOO.y, n_splits=2)
    groups = {key[2] for key in model.rejection_}
    assert groups == {"seen", "unseen", "all"}
    for change in (model.set_params, partial(assigned, model)):
        change(temperature=0.1)
        assert model.calibration_
    for bias, change in ((1.25, model.set_params), (0.0, partial(assigned, model)), (1.25, partial(assigned, model))):
        model.calibrate(ZOO.X, ZOO.y).calibrate_rejection(ZOO.X, ZOO.y, n_splits=2)
        change(seen_penalty=bias)
        assert model.seen_penalty_ == model.seen_penalty == bias
        assert {key[2] for key in model.rejection_} == {"seen", "unseen"}  # the third was chosen with another bias
        expected = model.decision_function(ZOO.X_new, candidates="all", seen_penalty=bias)
        assert_array_equal(model.decision_function(ZOO.X_new, candidates="all"), expected)
    assert JCMSPL().set_params(seen_penalty=0.5).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).seen_penalty_ == 0.5
    assert model.calibrate(ZOO.X, ZOO.y).calibration_


def test_in_a_search_too():
    search = ClassSearchCV(RidgeVS(), {"alpha": [1.0, 10.0]}, cv=2, random_state=0)
    search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).best_estimator_.calibrate(ZOO.X, ZOO.y)
    assert search.set_params(estimator__seen_penalty=0.75).best_estimator_.seen_penalty_ == 0.75
