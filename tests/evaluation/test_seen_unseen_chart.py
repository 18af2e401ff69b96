import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from jcmspl import JCMSPL
from jcmspl.plots import SeenUnseenDisplay
from support.animals import make_zoo

ZOO = make_zoo(noise=0.8)
X_ALL, Y_ALL = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])


@pytest.fixture(scope="module")
def model():
    return JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def test_of_a_model(model):
    display = SeenUnseenDisplay.from_estimator(model, X_ALL, Y_ALL, name="zoo")
    unseen, seen = display.ax_.get_lines()[0].get_data()
    assert unseen[0] == 0
    assert seen[-1] == 0
    assert np.all(np.diff(unseen) >= 0)
    assert np.all(np.diff(seen) <= 0)
    assert f"{display.curve.area():.3f}" in display.ax_.get_legend().get_texts()[0].get_text()


def test_of_scores(model):
    labels = [*ZOO.seen, *ZOO.unseen]
    scores = model.decision_function(X_ALL, candidates=labels, seen_penalty=0)
    display = SeenUnseenDisplay.from_scores(Y_ALL, scores, labels=labels, seen=ZOO.seen)
    expected = model.generalized_curve(X_ALL, Y_ALL)
    biases = expected.biases()
    np.testing.assert_allclose(display.curve.accuracies(biases), expected.accuracies(biases))
    # and by the definition
    for bias in (-0.1, 0.0, 0.2):
        named = np.array(labels)[np.argmax(scores - bias * np.isin(labels, ZOO.seen), axis=1)]
        shares = [[np.mean(named[label == Y_ALL] == label) for label in kind] for kind in (ZOO.seen, ZOO.unseen)]
        np.testing.assert_allclose(display.curve.accuracies(bias), [np.mean(one) for one in shares])


def test_scores_that_are_none():
    good = {"y_true": ["a", "b"], "scores": np.eye(2), "labels": ["a", "b"], "seen": ["a"]}
    for change, message in (
        ({"scores": np.eye(3)}, r"its shape is \(3, 3\)"),
        ({"scores": [[1, np.nan], [0, 1]]}, "NaN or infinity"),
        ({"y_true": ["a", "z"]}, "labels lacks 'z'"),
        ({"seen": ["z"]}, "labels lacks 'z'"),
        ({"seen": ["a", "b"]}, "seen and unseen candidates"),
        ({"y_true": ["a", "a"]}, "needs samples of seen and of unseen classes"),
    ):
        given = {**good, **change}
        with pytest.raises(ValueError, match=message):
            SeenUnseenDisplay.from_scores(given.pop("y_true"), given.pop("scores"), **given)


def test_several_curves_with_marks():
    curves = {"semantic": [[0, 1], [0.5, 0.6], [0.8, 0]], "visual": [[0, 0.9], [0.7, 0]]}
    display = SeenUnseenDisplay(curves, marks={"no bias": (0.1, 0.9), "the model": (0.5, 0.6)}).plot()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [*curves, "no bias", "the model"]
    np.testing.assert_allclose(display.ax_.get_lines()[0].get_xydata(), 100 * np.array(curves["semantic"]))
    np.testing.assert_allclose(display.ax_.get_lines()[2].get_xydata(), [[10, 90]])
    assert display.ax_.get_xlim()[0] == display.ax_.get_ylim()[0] == 0
