import builtins

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from jcmspl import JCMSPL
from jcmspl.report.charts import AblationDisplay, ConvergenceDisplay, SeenUnseenDisplay, SensitivityDisplay
from support.animals import make_zoo

ZOO = make_zoo(noise=0.8)


@pytest.fixture(scope="module")
def model():
    return JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    mpl.pyplot.close("all")


def test_convergence(model):
    display = ConvergenceDisplay.from_estimator(model, terms=True)
    lines = display.ax_.get_lines()
    assert len(lines) == 6
    np.testing.assert_array_equal(lines[0].get_ydata(), model.objective_)
    np.testing.assert_array_equal(lines[1].get_ydata(), model.objective_terms_[:, 0])
    assert display.figure_ is display.ax_.figure


def test_on_given_axes(model):
    _, ax = mpl.pyplot.subplots()
    assert ConvergenceDisplay.from_estimator(model, ax=ax).ax_ is ax
    assert len(mpl.pyplot.get_fignums()) == 1


def test_sensitivity():
    values, shares = [0.1, 1, 10], {"semantic": [0.2, 0.5, 0.3], "visual": [0.1, np.nan, 0.2]}
    display = SensitivityDisplay("class_match", values, shares, chosen=1).plot()
    assert display.ax_.get_xscale() == "log"
    np.testing.assert_allclose(display.ax_.get_lines()[0].get_ydata(), [20, 50, 30])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["semantic", "visual", "chosen"]


@pytest.mark.parametrize("published", [None, [0.4, None]])
def test_ablation(published):
    display = AblationDisplay(["FPL", "JCMSPL"], [0.5, 0.6], published).plot()
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert heights[:2] == [50, 60]
    assert len(heights) == (2 if published is None else 4)


def test_seen_unseen(model):
    X, y = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])
    display = SeenUnseenDisplay.from_estimator(model, X, y, name="zoo")
    unseen, seen = display.ax_.get_lines()[0].get_data()
    assert unseen[0] == 0
    assert seen[-1] == 0
    assert np.all(np.diff(unseen) >= 0)
    assert np.all(np.diff(seen) <= 0)
    assert f"{display.curve.area():.3f}" in display.ax_.get_legend().get_texts()[0].get_text()


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'jcmspl\[plots\]'"):
        ConvergenceDisplay([3.0, 2.0]).plot()
