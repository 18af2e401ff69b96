import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from jcmspl import JCMSPL
from jcmspl.methods import GDA
from jcmspl.plots import ExplanationDisplay
from support.animals import make_zoo

ZOO = make_zoo(noise=0.8)


@pytest.fixture(scope="module")
def model():
    return JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def test_bars_are_the_contributions(model):
    explanation = model.explain(ZOO.X_new[:1], candidates="unseen")[0]
    display = ExplanationDisplay.from_estimator(model, ZOO.X_new[0], candidates="unseen")
    lengths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(lengths, np.sort(explanation.contributions)[::-1])
    drawn = dict(zip([text.get_text() for text in display.ax_.get_yticklabels()], lengths, strict=True))
    assert drawn == pytest.approx(dict(zip(explanation.attributes, explanation.contributions, strict=True)))
    assert display.ax_.get_title(loc="left") == f"Why {explanation.label} rather than {explanation.against}"
    assert "difference of the scores" in display.ax_.get_xlabel()
    colours = {bar.get_facecolor() for bar in display.ax_.patches if bar.get_width() > 0}
    assert len(colours) == 1
    assert colours.isdisjoint(bar.get_facecolor() for bar in display.ax_.patches if bar.get_width() < 0)


def test_without_names_the_bars_are_the_nearest_classes():
    vectors = {label: ZOO.table[label] for label in ZOO.table}
    unnamed = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=vectors)
    nearest = unnamed.explain(ZOO.X_new[:1], candidates="unseen")[0].nearest
    display = ExplanationDisplay.from_estimator(unnamed, ZOO.X_new[0], candidates="unseen")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [str(label) for label, _ in nearest]
    assert [bar.get_width() for bar in display.ax_.patches] == pytest.approx([score for _, score in nearest])
    assert display.ax_.get_xlabel() == "score"


def test_the_others_are_one_bar():
    parts = np.array([0.1, -5.0, 0.2, 3.0, -0.4])
    names, lengths = ExplanationDisplay(list("abcde"), parts).bars(most=2)
    assert names == ["d", "b", "(3 others)"]
    assert lengths == pytest.approx([3.0, -5.0, -0.1])
    assert ExplanationDisplay(list("abcde"), parts).bars(most=4)[0] == list("dcaeb")  # one other: it is drawn itself
    drawn = ExplanationDisplay(list("abcde"), parts).plot(most=2)
    assert [bar.get_width() for bar in drawn.ax_.patches] == pytest.approx(lengths)


@pytest.mark.parametrize("n", [1, 3, 200])
def test_any_number_of_attributes(n):
    parts = np.random.default_rng(0).standard_normal(n)
    display = ExplanationDisplay([f"attribute {i}" for i in range(n)], parts, "zebra").plot()
    assert sum(bar.get_width() for bar in display.ax_.patches) == pytest.approx(parts.sum())
    low, high = display.ax_.get_xlim()
    assert low < min(*parts, 0)
    assert high > max(*parts, 0) - 1e-12


def test_nothing_speaks_for_or_against():
    display = ExplanationDisplay(["a", "b"], [0.0, 0.0]).plot()
    display.figure_.canvas.draw()
    assert display.ax_.get_title(loc="left") == "Why this class"


def test_forms_of_a_sample(model):
    expected = ExplanationDisplay.from_estimator(model, ZOO.X_new[0], candidates="unseen").contributions
    frame = pd.DataFrame(ZOO.X_new, columns=[f"f{i}" for i in range(ZOO.X_new.shape[1])])
    named = JCMSPL(progress=False).fit(pd.DataFrame(ZOO.X, columns=frame.columns), ZOO.y, class_vectors=ZOO.table)
    for of, sample in ((model, ZOO.X_new[:1]), (named, frame.iloc[0]), (named, frame.iloc[:1])):
        display = ExplanationDisplay.from_estimator(of, sample, candidates="unseen")
        np.testing.assert_allclose(display.contributions, expected)


def test_bad_input(model):
    with pytest.raises(ValueError, match=r"X has 2 samples, .*pass X\[i\]"):
        ExplanationDisplay.from_estimator(model, ZOO.X_new[:2])
    gda = GDA(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.raises(ValueError, match="a GDA cannot explain"):
        ExplanationDisplay.from_estimator(gda, ZOO.X_new[:1])
    with pytest.raises(ValueError, match="2 attributes but 1 contributions"):
        ExplanationDisplay(["a", "b"], [1.0]).plot()
    with pytest.raises(ValueError, match="most must be from 1"):
        ExplanationDisplay(["a"], [1.0]).plot(most=0)
