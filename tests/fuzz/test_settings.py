"""Random settings of every method, a few of each, and whether the relations notice what is wrong."""

import itertools

import numpy as np
import pytest

from fuzz.contract import settings_tried, tried
from fuzz.relations import Fitted, names_are_of_the_best_scores
from fuzz.settings import drawn
from fuzz.tolerance import Wrong, best, same
from jcmspl.methods import RPL
from jcmspl.model import registry
from jcmspl.model.bilinear import Bilinear

EACH = 4
OWN = [name for name, method in registry.methods().items() if method.__module__.startswith("jcmspl.")]


@pytest.mark.parametrize("name", OWN)
def test_settings(name):
    numbers = range(EACH * len(registry.names()))
    found = list(settings_tried("0", numbers, [name]))
    assert len(found) == EACH
    assert [report for *_, outcome, report in found if outcome == "failed"] == []


def test_a_setting_is_the_same_again():
    for number in range(0, 300, 7):
        one, other = drawn("3", number), drawn("3", number)
        assert str(one) == str(other)
        np.testing.assert_array_equal(one.X, other.X)
    assert str(drawn("3", 1)) != str(drawn("4", 1))


def test_what_depends_on_the_order_of_samples_is_noticed(monkeypatch):
    solve = RPL._solve

    def of_the_first(self, moments):
        A, B = solve(self, moments)
        return A * (1 + 1e-3 * (moments.sums[0, 0] > moments.sums[-1, 0])), B

    number = next(i for i in range(1000) if drawn("0", i).name == "RPL" and tried("0", i)[0] == "passed")
    monkeypatch.setattr(RPL, "_solve", of_the_first)
    wrong = [tried("0", number + len(registry.names()) * i)[1] for i in range(6)]
    assert any("names_and_order_of_classes" in line for lines in wrong for line in lines)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_worse_candidate_is_noticed():
    one = Fitted(next(drawn("0", i) for i in range(1000) if issubclass(type(drawn("0", i).model), Bilinear)))
    names_are_of_the_best_scores(one)
    one.scores = -one.scores
    with pytest.raises(Wrong, match="is named"):
        names_are_of_the_best_scores(one)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_jump_that_few_changes_miss_is_seen_more_closely(monkeypatch):
    number = next(i for i in range(1000) if drawn("0", i).name == "RPL" and tried("0", i)[0] == "passed")
    one = Fitted(drawn("0", number)).to_the_end()
    assert one.allowed is not None
    assert one.more_closely().rng.random() == one.more_closely().rng.random()
    assert one.more_closely().allowed is not None
    of, calls = Fitted.of, itertools.count()
    monkeypatch.setattr(Fitted, "of", lambda self, model: of(self, model) * (1 + 1e-3 * (next(calls) == 20)))
    assert one.more_closely().allowed is None


def test_tolerances():
    scores = np.array([[1.0, 2.0], [3.0, 3.0]])
    same("it", scores, scores + 1e-9, 1e-8)
    best("it", np.array([1, 0]), scores, 1e-9)
    for other in (scores + 1e-7, scores * np.nan, scores[:1]):
        with pytest.raises(Wrong, match=r"^it: "):
            same("it", scores, other, 1e-8)
    with pytest.raises(Wrong, match="sample 0 is named 0"):
        best("it", np.array([0, 0]), scores, 1e-9)
