"""The calibrated temperature of probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from jcmspl import JCMSPL, ClassKFold
from jcmspl.data.class_folds import held_out_rows
from jcmspl.model.known_classes import Call
from jcmspl.model.prediction import spread_of, temperature_of
from jcmspl.model.temperature import AUTO_TEMPERATURE, TEMPERATURES, chosen_temperature, lowest, sums_of
from support.animals import make_zoo

ZOO = make_zoo(n_seen=24, n_unseen=6, noise=1.2)


@pytest.fixture(scope="module")
def calibrated():
    return fitted().calibrate(ZOO.X, ZOO.y)


def fitted(**parameters):
    return JCMSPL(progress=False, **parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def loss_of(model, X, y, temperature, candidates, **options):
    """The log loss of scikit-learn, which wants columns in the order of sorted labels."""
    shares = model.predict_proba(X, candidates=sorted(candidates), temperature=temperature, **options)
    return log_loss(y, shares, labels=sorted(candidates))


def test_losses_are_those_of_scikit_learn(calibrated):
    X, y = np.vstack([ZOO.X[::7], ZOO.X_new]), np.concatenate([ZOO.y[::7], ZOO.y_new])
    seen, unseen = (calibrated.recogniser(candidates=kind) for kind in ("seen", "unseen"))
    temperatures = spread_of(calibrated) * TEMPERATURES[15:20:2]  # with lower ones scikit-learn clips probabilities
    found = sums_of(X, y.tolist(), seen, unseen, temperatures).losses(temperatures, 0.03)
    of_new = np.isin(y, ZOO.unseen)
    both = [*ZOO.seen, *ZOO.unseen]
    for number, temperature in enumerate(temperatures):
        expected = {
            "seen": loss_of(calibrated, X[~of_new], y[~of_new], temperature, ZOO.seen),
            "unseen": loss_of(calibrated, X[of_new], y[of_new], temperature, ZOO.unseen),
            "all": np.mean(
                [
                    loss_of(calibrated, X[rows], y[rows], temperature, both, seen_penalty=0.03)
                    for rows in (of_new, ~of_new)
                ]
            ),
        }
        assert found.keys() == expected.keys()
        for group, value in expected.items():
            assert found[group][number] == pytest.approx(value, rel=1e-5)


def test_calibration_is_a_plain_loop_over_folds_of_classes():
    """One draw of folds, of enough classes; nothing is shared with the implementation but the rule for the choice."""
    zoo = make_zoo(n_seen=100, n_unseen=25, per_class=4, noise=1.2)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table).calibrate(zoo.X, zoo.y)
    rng = np.random.RandomState(0)
    classes = sorted(set(zoo.y.tolist()))
    folds = [[classes[i] for i in fold] for fold in ClassKFold(5, random_state=rng).split_classes(100)]
    testing = held_out_rows(zoo.y.tolist(), 0.2, rng)
    losses = []
    for fold in folds:
        out = np.isin(zoo.y, fold)
        train = ~out & ~testing
        one = JCMSPL(progress=False).fit(zoo.X[train], zoo.y[train], class_vectors=zoo.table)
        unit = spread_of(one)
        losses.append(np.array([loss_of(one, zoo.X[out], zoo.y[out], unit * share, fold) for share in TEMPERATURES]))
    expected = chosen_temperature(losses, 5)
    assert model.temperatures_["visual", "cosine", "unseen"] == pytest.approx(expected, rel=1e-3)


def test_probabilities_get_better(calibrated):
    before = fitted()
    for kind, X, y in (("unseen", ZOO.X_new, ZOO.y_new), ("all", ZOO.X_new, ZOO.y_new)):
        candidates = {"unseen": ZOO.unseen, "all": [*ZOO.seen, *ZOO.unseen]}[kind]
        old, new = (
            loss_of(one, X, y, None, candidates, seen_penalty=calibrated.seen_penalty_) for one in (before, calibrated)
        )
        assert new < old


def test_the_group_of_the_candidates_decides(calibrated):
    unit = spread_of(calibrated)
    for candidates, group in ((None, "all"), ("seen", "seen"), (ZOO.unseen[:3], "unseen"), (ZOO.seen[:2], "seen")):
        expected = unit * calibrated.temperatures_["visual", "cosine", group]
        assert temperature_of(calibrated, None, Call(None, candidates)) == expected
    given = {label: ZOO.table[label] for label in ZOO.unseen}
    expected = unit * calibrated.temperatures_["visual", "cosine", "unseen"]
    assert temperature_of(calibrated, None, Call(given)) == expected


def test_a_given_temperature_wins_and_a_fit_forgets(calibrated):
    assert temperature_of(calibrated, 0.5, Call()) == 0.5
    model = fitted(temperature=0.25).calibrate(ZOO.X, ZOO.y)
    assert temperature_of(model, None, Call()) == 0.25
    model.set_params(temperature="auto")
    assert temperature_of(model, None, Call(None, "unseen")) != AUTO_TEMPERATURE * spread_of(model)
    model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert model.temperatures_ == {}
    assert temperature_of(model, None, Call()) == AUTO_TEMPERATURE * spread_of(model)


def test_unseen_classes_and_their_samples_are_not_looked_at(calibrated):
    other = fitted()
    other.add_classes({name: np.random.default_rng(0).random(8) for name in ZOO.unseen}, replace=True)
    assert other.calibrate(ZOO.X, ZOO.y).temperatures_ == calibrated.temperatures_


def parabola(lowest_at, depth=1.0):
    return depth * (np.log(TEMPERATURES) - np.log(lowest_at)) ** 2


def test_folds_that_disagree_leave_the_temperature_where_it_was():
    agreed = chosen_temperature([parabola(0.1), parabola(0.1)], 2)
    assert agreed == pytest.approx(0.1)
    divided = chosen_temperature([parabola(0.02), parabola(1.0)], 2)
    assert divided == pytest.approx(AUTO_TEMPERATURE)
    between = chosen_temperature([parabola(0.08), parabola(0.12)], 2)
    assert 0.0981 < between < AUTO_TEMPERATURE
    assert chosen_temperature([parabola(0.1)], 1) == pytest.approx(AUTO_TEMPERATURE)  # one fold cannot agree
    assert chosen_temperature([parabola(AUTO_TEMPERATURE)] * 3, 3) == pytest.approx(AUTO_TEMPERATURE)


def test_lowest_of_odd_losses():
    assert lowest(TEMPERATURES, np.zeros(len(TEMPERATURES))) == pytest.approx(AUTO_TEMPERATURE)
    assert lowest(TEMPERATURES, -TEMPERATURES) == TEMPERATURES[-1]
    infinite = np.where(np.arange(len(TEMPERATURES)) < 5, np.inf, TEMPERATURES)
    assert lowest(TEMPERATURES, infinite) == TEMPERATURES[5]
    assert_allclose(lowest(TEMPERATURES, parabola(0.123)), 0.123)


def test_folds_without_a_mistake_do_not_make_the_next_one_a_certainty():
    steps = np.where(TEMPERATURES < 0.1, 0.0, 1.0)
    assert lowest(TEMPERATURES, steps) == TEMPERATURES[TEMPERATURES < 0.1].max()
    zoo = make_zoo(n_seen=9, n_unseen=3, noise=0.3, per_class=4)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table).calibrate(zoo.X, zoo.y)
    assert min(model.temperatures_.values()) > 4 * TEMPERATURES[0]


def test_two_classes_in_a_fold_and_one():
    zoo = make_zoo(n_seen=4, n_unseen=2)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    model.calibrate(zoo.X, zoo.y, n_splits=4)  # no fold has two unseen candidates
    assert {group for *_, group in model.temperatures_} == {"seen", "all"}
    model.calibrate(zoo.X, zoo.y, n_splits=2)
    assert {group for *_, group in model.temperatures_} == {"seen", "unseen", "all"}
