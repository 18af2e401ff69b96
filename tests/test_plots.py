import itertools
import re
import sys
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import scipy.stats

mpl.use("Agg")

from matplotlib import pyplot

import jcmspl.plots
from jcmspl import JCMSPL, JCMSPLCV
from jcmspl.methods import RidgeVS
from jcmspl.plots import (
    AblationDisplay,
    ClassAccuracyDisplay,
    ComparisonDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
    ExplanationDisplay,
    FewShotDisplay,
    SeenUnseenDisplay,
    SensitivityDisplay,
)
from jcmspl.report.figures import require_matplotlib
from support.animals import make_zoo

ZOO = make_zoo(noise=0.8)
X_ALL, Y_ALL = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])
HOSTILE = ["<script>alert(1)</script>", "$x_$ 5 $", "two\nlines\x00", "", "x" * 500, "_hidden", "日本", "</title>&"]


@pytest.fixture(scope="module")
def model():
    return JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(scope="module")
def search():
    weights = {"semantic_match": 1.0, "visual_reconstruction": 1.0, "semantic_reconstruction": 1.0}
    grid = JCMSPLCV(class_match=[0.1, 1.0], space="semantic", cv=2, extend=0, progress=False, **weights)
    return grid.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def test_all_displays_are_named():
    named = {name for name in vars(jcmspl.plots) if name.endswith("Display")}
    assert named == set(jcmspl.plots.__all__)
    assert {type(display).__name__ for display in displays(["a"]).values()} == named


def test_convergence(model):
    display = ConvergenceDisplay.from_estimator(model, terms=True)
    lines = display.ax_.get_lines()
    assert len(lines) == 6
    np.testing.assert_array_equal(lines[0].get_ydata(), model.objective_)
    np.testing.assert_array_equal(lines[1].get_ydata(), model.objective_terms_[:, 0])
    assert display.figure_ is display.ax_.figure


def test_only_a_descent_has_an_objective():
    with pytest.raises(ValueError, match="a RidgeVS is not fitted by a descent"):
        ConvergenceDisplay.from_estimator(RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table))


def test_on_given_axes(model):
    _, ax = pyplot.subplots()
    assert ConvergenceDisplay.from_estimator(model, ax=ax).ax_ is ax
    assert len(pyplot.get_fignums()) == 1


class TestTitles:
    def test_its_own_or_a_given_one_or_none(self):
        display = ConvergenceDisplay([3.0, 2.0])
        assert display.plot().ax_.get_title(loc="left") == "Objective after each iteration"
        assert display.plot(title="$x$ of mine").ax_.get_title(loc="left") == "$x$ of mine"
        assert not display.ax_.title.get_parse_math() or not display.ax_.get_title()
        assert display.plot(title="").ax_.get_title(loc="left") == ""

    def test_axes_keep_the_title_that_they_have(self):
        _, ax = pyplot.subplots()
        ax.set_title("mine")
        ConvergenceDisplay([3.0, 2.0]).plot(ax)
        assert (ax.get_title(), ax.get_title(loc="left")) == ("mine", "")

    @pytest.mark.parametrize("kind", ["sensitivity", "ablation", "comparison", "few_shot", "classes"])
    def test_no_legend_lies_on_the_title_or_on_the_axes(self, kind):
        display = displays(["a", "b", "c"])[kind].plot()
        display.figure_.canvas.draw()
        legend, axes = display.ax_.get_legend().get_window_extent(), display.ax_.get_window_extent()
        title = display.ax_._left_title.get_window_extent()
        assert axes.y1 <= legend.y0
        assert legend.y1 <= title.y0 + 1
        assert title.y1 <= display.figure_.bbox.y1


def test_options_that_are_not_there():
    with pytest.raises(TypeError, match="ConvergenceDisplay has no option 'colour': it has name, besides ax and title"):
        ConvergenceDisplay([3.0, 2.0]).plot(colour="red")
    assert pyplot.get_fignums() == []


def test_a_failure_leaves_no_empty_figure():
    with pytest.raises(ValueError, match="order must be one of"):
        ConfusionDisplay(np.eye(2), ["a", "b"]).plot(order="colour")
    assert pyplot.get_fignums() == []


def test_one_iteration():
    assert ConvergenceDisplay([3.0]).plot().ax_.get_xticks().tolist() == [1]


def test_sensitivity():
    values, shares = [0.1, 1, 10], {"semantic": [0.2, 0.5, 0.3], "visual": [0.1, np.nan, 0.2]}
    display = SensitivityDisplay("class_match", values, shares, chosen=1).plot()
    assert display.ax_.get_xscale() == "log"
    np.testing.assert_allclose(display.ax_.get_lines()[0].get_ydata(), [20, 50, 30])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["semantic", "visual", "tuned: 1"]
    low, high = display.ax_.get_ylim()
    assert 5 < low < 10  # where the data starts
    assert 50 < high < 55
    assert len({line.get_marker() for line in display.ax_.get_lines()[:2]} - {"None"}) == 2
    infinite = SensitivityDisplay("class_match", values, shares, np.inf, {"semantic": 0.4}).plot()
    assert [text.get_text() for text in infinite.ax_.get_legend().get_texts()] == ["semantic", "visual", "tuned: ∞"]
    assert infinite.ax_.get_xticklabels()[-1].get_text() == "∞"
    np.testing.assert_allclose(infinite.ax_.get_lines()[1].get_xydata(), [[100, 40]])
    assert len(SensitivityDisplay("alpha", values, shares).plot().ax_.get_lines()) == 2


def test_sensitivity_to_names_and_to_zero():
    display = SensitivityDisplay("class_kernel", ["linear", "rbf"], {"visual": [0.5, 0.6]}, chosen="rbf").plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["linear", "rbf"]
    assert display.ax_.get_lines()[-1].get_xdata()[0] == 1
    assert (
        SensitivityDisplay("cosine_share", [0, 0.5], {"visual": [0.5, 0.6]}, chosen=0).plot().ax_.get_xscale()
        == "linear"
    )


def test_sensitivity_of_a_search(search):
    display = SensitivityDisplay.from_estimator(search, "class_match")
    assert set(display.values) == {one["class_match"] for one in search.cv_results_["params"]}
    folds = np.array([scores for name, scores in search.cv_results_.items() if name.startswith("split")])
    for row, setting in enumerate(search.cv_results_["params"]):
        at = list(display.values).index(setting["class_match"])
        assert display.accuracies["held-out classes"][at] == pytest.approx(folds[:, row].mean())
        expected = scipy.stats.sem(folds[:, row])
        assert display.errors["held-out classes"][at] == pytest.approx(expected)
    assert display.chosen == search.best_params_["class_match"]
    with pytest.raises(ValueError, match=r"did not try several values of 'metric', only of class_match"):
        SensitivityDisplay.from_estimator(search, "metric")


@pytest.mark.parametrize("published", [None, [0.4, None]])
def test_ablation(published):
    display = AblationDisplay(["FPL", "JCMSPL"], [0.5, 0.6], published).plot()
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert heights[:2] == [50, 60]
    assert len(heights) == (2 if published is None else 4)


@pytest.mark.parametrize("chart", [AblationDisplay, ComparisonDisplay])
def test_of_fitted_models(chart, model, search):
    models = {"ours": model, "a search": search, "ridge": RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)}
    display = chart.from_estimators(models, ZOO.X_new, ZOO.y_new, candidates="unseen")
    expected = []
    for one in models.values():
        right = one.predict(ZOO.X_new, candidates="unseen") == ZOO.y_new
        expected.append(np.mean([right[np.array(ZOO.y_new) == label].mean() for label in ZOO.unseen]))
    np.testing.assert_allclose(display.accuracies, expected)
    assert list(display.methods) == list(models)
    with pytest.raises(ValueError, match="pass a dict of names"):
        chart.from_estimators({}, ZOO.X_new, ZOO.y_new)


def test_comparison():
    display = ComparisonDisplay(["A", "B"], [0.5, 0.4], [0.6, None], [0.1, None], marked=["A"], chance=0.2).plot()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["A", "B"]
    bars, dots = display.ax_.collections
    np.testing.assert_allclose(bars.get_segments()[0], [[50, 0], [70, 0]])
    np.testing.assert_allclose(dots.get_offsets()[0], [60, 0])
    np.testing.assert_allclose(display.ax_.get_lines()[1].get_xdata(), [50, 40])
    names = ["random splits", "the data's own split", "chance"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == names
    alone = ComparisonDisplay(["A"], [0.5]).plot()
    assert [text.get_text() for text in alone.ax_.get_legend().get_texts()] == names[1:2]


def test_a_search_is_as_good_as_a_model(search):
    best = search.best_estimator_
    np.testing.assert_array_equal(ConvergenceDisplay.from_estimator(search).objective, best.objective_)
    assert SeenUnseenDisplay.from_estimator(search, X_ALL, Y_ALL).bias == best.seen_penalty_
    for kind in (ConfusionDisplay, ClassAccuracyDisplay):
        assert kind.from_estimator(search, ZOO.X_new, ZOO.y_new).labels


def displays(names):
    n = len(names)
    shots = {name: np.full((2, 3), (i + 1) / (n + 1)) for i, name in enumerate(names[:3])}
    return {
        "convergence": ConvergenceDisplay([3.0, 2.0, 1.9], settled=2),
        "sensitivity": SensitivityDisplay("class_match", [0.1, 1], {"visual": [0.5, np.nan]}, 1.0),
        "ablation": AblationDisplay(names, np.linspace(0, 1, n), [None, *[0.5] * (n - 1)]),
        "seen": SeenUnseenDisplay({name: [[0, 1], [1, 0]] for name in names[:8]}, marks={names[0]: (0.5, 0.5)}),
        "comparison": ComparisonDisplay(
            names, np.linspace(0, 1, n), [None, *[0.5] * (n - 1)], [None, *[0.1] * (n - 1)]
        ),
        "classes": ClassAccuracyDisplay(names, {"accuracy": np.linspace(0, 1, n)}, samples=[9] * n),
        "explanation": ExplanationDisplay(names, np.linspace(-1, 1, n), names[0], names[-1]),
        "few_shot": FewShotDisplay([0, 1, 2], shots, chance=1 / n),
        "confusion": ConfusionDisplay(np.eye(n, dtype=int), names),
    }


SAFE = ["a$b$ $\\frac{", "<b>&</b>", "two\nlines", "Überraschung Ω ☃", "x" * 200, "_hidden", "%s {0}", ""]


class TestNames:
    @pytest.mark.parametrize("kind", displays(SAFE))
    def test_any_names_are_drawn_as_they_are(self, kind):
        """No mathematics, no names that are left out of a legend, no warnings."""
        display = displays(SAFE)[kind].plot()
        display.figure_.canvas.draw()
        written = [text.get_text() for text in display.figure_.findobj(mpl.text.Text)]
        assert max(map(len, written)) <= 100
        assert not any("\n" in text for text in written)
        if kind not in ("convergence", "sensitivity"):
            assert any("a$b$ $\\frac{" in text for text in written)

    @pytest.mark.parametrize("n", [1, 3, 200])
    @pytest.mark.parametrize("kind", ["classes", "confusion", "comparison", "explanation", "ablation"])
    def test_any_number_of_them(self, kind, n):
        names = [f"class {i} of a long name" for i in range(n)]
        figure = self.check_ticks(displays(names)[kind].plot())
        assert max(figure.get_size_inches()) <= 14

    @pytest.mark.parametrize("kind", ["classes", "confusion", "ablation"])
    def test_many_of_them_on_axes_that_are_there(self, kind):
        names = [f"class {i}" for i in range(120)]
        self.check_ticks(displays(names)[kind].plot(pyplot.subplots()[1]))

    @pytest.mark.parametrize("kind", ["convergence", "sensitivity", "seen", "few_shot"])
    def test_a_single_point_is_drawn(self, kind):
        display = displays(["alone"])[kind].plot()
        self.check_ticks(display)
        assert display.ax_.get_lines()

    @staticmethod
    def check_ticks(display):
        display.figure_.canvas.draw()
        for axis in (display.ax_.xaxis, display.ax_.yaxis):
            boxes = [text.get_window_extent() for text in axis.get_ticklabels() if text.get_text()]
            assert not any(one.overlaps(two) for one, two in itertools.pairwise(boxes))
        return display.figure_

    def test_a_legend_has_names_that_start_with_an_underscore(self):
        display = FewShotDisplay([1], {"_mine": [[0.5]]}).plot()
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [" _mine"]


class TestPagesAndFiles:
    @pytest.mark.parametrize("kind", displays(HOSTILE))
    def test_svg_of_hostile_names(self, kind):
        display = displays(HOSTILE)[kind]
        svg = display.to_svg("<b>title</b>")
        tree = ElementTree.fromstring(svg)
        assert tree.get("role") == "img"
        assert tree[0].text == "<b>title</b>"
        assert "<script" not in svg
        assert "width" not in tree.attrib  # as wide as the page lets it
        assert not re.search(r'(src|href)="?https?:', svg)
        assert svg == display.to_svg("<b>title</b>")  # nothing depends on the time or on chance
        assert not hasattr(display, "ax_")  # what the user has drawn is left alone
        if kind in ("classes", "confusion", "ablation", "comparison", "explanation"):
            drawn = ["".join(text.itertext()) for text in tree.iter("text")]
            assert "$x_$ 5 $" in drawn
            assert "(empty)" in drawn
            assert max(map(len, drawn)) <= 36
        if kind in ("classes", "confusion", "comparison", "explanation"):  # the pointer tells the whole name
            assert any("x" * 500 in (title.text or "") for title in tree.iter("title"))

    def test_ids_of_two_charts_of_a_page_differ(self):
        charts = displays(["a", "b"])
        ids = [re.findall(r' id="([^"]*)"', charts[kind].to_svg(kind)) for kind in ("convergence", "seen")]
        assert ids[0]
        assert not set(ids[0]) & set(ids[1])
        assert all(len(set(found)) == len(found) for found in ids)

    def test_files(self):
        display = displays(["a", "b"])["ablation"]
        assert display.to_file("png", "a title").startswith(b"\x89PNG")
        assert b"a title" in display.to_file("svg", "a title")
        assert b"Accuracy of reduced forms" in display.to_file("svg")
        assert "Accuracy of reduced forms" not in display.to_svg("a page has headings")
        assert display.to_file("svg") == display.to_file("svg")

    def test_the_users_settings_do_not_matter(self):
        display = displays(["a", "b"])["classes"]
        plain = display.to_svg("t")
        with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "axes.grid": True}):
            assert display.to_svg("t") == plain
        assert pyplot.get_fignums() == []


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ConvergenceDisplay([3.0, 2.0])
    for draw in (display.plot, lambda: display.to_svg("t"), lambda: display.to_file("png"), require_matplotlib):
        with pytest.raises(ImportError, match=r"pip install 'jcmspl\[plots\]'"):
            draw()
