"""Errors of probabilities, and the reliability diagram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

from jcmspl import JCMSPL
from jcmspl.evaluation.probabilities import ReliabilityCurve, tally_of
from jcmspl.metrics import expected_calibration_error
from jcmspl.plots import ReliabilityDisplay
from support.animals import make_zoo


def drawn(seed, n=200, n_classes=4):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), size=n)
    return shares, np.array([rng.choice(n_classes, p=row) for row in shares])


def by_hand(shares, own, n_bins):
    total = 0.0
    for low in range(n_bins):
        best = shares.max(axis=1)
        inside = (best >= low / n_bins) & ((best < (low + 1) / n_bins) | (low == n_bins - 1))
        if inside.any():
            right = (shares.argmax(axis=1) == own)[inside]
            total += inside.mean() * abs(right.mean() - best[inside].mean())
    return total


@given(st.integers(0, 1000), st.integers(1, 20))
def test_calibration_error_is_its_definition(seed, n_bins):
    shares, own = drawn(seed)
    found = expected_calibration_error(own, shares, labels=range(4), n_bins=n_bins)
    assert found == pytest.approx(by_hand(shares, own, n_bins), abs=1e-12)


def test_calibrated_and_overconfident_probabilities():
    shares, own = drawn(0, n=20_000)
    assert expected_calibration_error(own, shares, labels=range(4)) < 0.02
    surer = shares**3 / (shares**3).sum(axis=1, keepdims=True)
    assert expected_calibration_error(own, surer, labels=range(4)) > 0.1
    assert expected_calibration_error([0, 1], np.eye(2), labels=[0, 1]) == 0


def test_brier_score_and_log_loss_are_those_of_scikit_learn():
    shares, own = drawn(1)
    found = tally_of(own, shares, range(4)).errors()
    assert found.log_loss == pytest.approx(log_loss(own, shares))
    assert found.brier == pytest.approx(np.mean(((np.eye(4)[own] - shares) ** 2).sum(axis=1)))
    two, own = drawn(2, n_classes=2)
    found = tally_of(own, two, range(2)).errors()
    assert found.brier == pytest.approx(2 * brier_score_loss(own, two[:, 1]))


def test_in_chunks_it_is_the_same():
    shares, own = drawn(3)
    total = tally_of(own[:70], shares[:70], range(4))
    total.extend(tally_of(own[70:], shares[70:], range(4)))
    whole = tally_of(own, shares, range(4)).errors()
    assert list(vars(total.errors()).values()) == pytest.approx(list(vars(whole).values()))


def test_a_share_of_zero_has_a_finite_loss():
    assert np.isfinite(tally_of([1], [[1.0, 0.0]], [0, 1]).errors().log_loss)


@pytest.mark.parametrize(
    ("y", "shares", "labels", "message"),
    [
        ([0], [[0.5, 0.5]], [0], "a column for each of 1"),
        ([0, 1], [[0.5, 0.5]], [0, 1], "a row for each of 2"),
        ([2], [[0.5, 0.5]], [0, 1], "labels lacks 2"),
        ([0], [[2.0, -1.0]], [0, 1], "between 0 and 1"),
        ([0], [[np.nan, 0.5]], [0, 1], "between 0 and 1"),
        ([], np.empty((0, 2)), [0, 1], "empty"),
        ([0], [[0.9, 0.8]], [0, 1], "sum is not 1"),
        ([0], [[0.5, 0.5]], [0, 0], "names some classes twice"),
    ],
)
def test_bad_input_is_refused(y, shares, labels, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(y, shares, labels=labels)


def test_the_curve_has_the_means_of_bins():
    shares, own = drawn(4)
    curve = ReliabilityCurve.of(tally_of(own, shares, range(4)), n_bins=5)
    best, right = shares.max(axis=1), shares.argmax(axis=1) == own
    bins = (best * 5).astype(int)
    assert curve.confidence == pytest.approx([best[bins == i].mean() for i in np.unique(bins)])
    assert curve.accuracy == pytest.approx([right[bins == i].mean() for i in np.unique(bins)])


def test_display_of_an_estimator():
    pytest.importorskip("matplotlib")
    zoo = make_zoo(n_seen=8)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    display = ReliabilityDisplay.from_estimator(model, zoo.X_new, zoo.y_new, candidates="unseen")
    shares = model.predict_proba(zoo.X_new, candidates="unseen")
    expected = expected_calibration_error(zoo.y_new, shares, labels=model.unseen_classes_)
    assert display.curves["JCMSPL"].error == pytest.approx(expected)
    assert any("error" in text.get_text() for text in display.ax_.get_legend().get_texts())
