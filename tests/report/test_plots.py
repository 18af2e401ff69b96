import builtins
import itertools
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from jcmspl import JCMSPL, JCMSPLCV
from jcmspl.plots import (
    AblationDisplay,
    ClassAccuracyDisplay,
    ComparisonDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
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


@pytest.mark.parametrize("published", [None, [0.4, None]])
def test_ablation(published):
    display = AblationDisplay(["FPL", "JCMSPL"], [0.5, 0.6], published).plot()
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert heights[:2] == [50, 60]
    assert len(heights) == (2 if published is None else 4)


def test_seen_unseen(model):
    display = SeenUnseenDisplay.from_estimator(model, X_ALL, Y_ALL, name="zoo")
    unseen, seen = display.ax_.get_lines()[0].get_data()
    assert unseen[0] == 0
    assert seen[-1] == 0
    assert np.all(np.diff(unseen) >= 0)
    assert np.all(np.diff(seen) <= 0)
    assert f"{display.curve.area():.3f}" in display.ax_.get_legend().get_texts()[0].get_text()


def test_several_curves_with_marks():
    curves = {"semantic": [[0, 1], [0.5, 0.6], [0.8, 0]], "visual": [[0, 0.9], [0.7, 0]]}
    display = SeenUnseenDisplay(curves, marks={"no bias": (0.1, 0.9), "the model": (0.5, 0.6)}).plot()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [*curves, "no bias", "the model"]
    np.testing.assert_allclose(display.ax_.get_lines()[0].get_xydata(), 100 * np.array(curves["semantic"]))
    np.testing.assert_allclose(display.ax_.get_lines()[2].get_xydata(), [[10, 90]])


@pytest.mark.parametrize("n_classes", [1, 3, 70])
def test_class_accuracy(n_classes):
    labels, shares = [f"class {i}" for i in range(n_classes)], np.linspace(1, 0, n_classes)
    display = ClassAccuracyDisplay(labels, {"among unseen": shares, "among all": [None, *shares[1:] / 2]}).plot()
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, 100 * np.concatenate([shares, [0], shares[1:] / 2]))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == labels
    assert "nan" not in display.to_svg("classes").lower()  # a share that is missing is not told
    # names do not overlap, and the best is on top
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes))


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


@pytest.mark.parametrize("n_classes", [1, 3, 50, 120])
def test_confusion(n_classes):
    counts = np.random.default_rng(0).integers(0, 3, (n_classes, n_classes)) * 123
    counts[0] = 0  # a class without samples
    display = ConfusionDisplay(counts, [f"class {i}" for i in range(n_classes)]).plot()
    assert len(display.ax_.patches) == np.count_nonzero(counts)
    written = [int(text.get_text()) for text in display.ax_.texts]
    assert written == (counts[counts > 0].tolist() if n_classes <= 3 else [])
    assert len(display.ax_.get_yticklabels()) == (n_classes if n_classes <= 50 else 0)


def test_confusion_and_classes_of_a_model(model):
    named = model.predict(X_ALL, candidates="all")
    display = ConfusionDisplay.from_estimator(model, X_ALL, Y_ALL, candidates="all")
    assert display.counts.sum() == len(Y_ALL)
    assert np.trace(display.counts) == np.sum(named == Y_ALL)
    bars = ClassAccuracyDisplay.from_estimator(model, X_ALL, Y_ALL, candidates="all")
    right = {label: np.mean(named[label == Y_ALL] == label) for label in set(Y_ALL.tolist())}
    assert dict(zip(bars.labels, bars.accuracies["accuracy"], strict=True)) == pytest.approx(right)


def test_a_search_is_as_good_as_a_model(search):
    best = search.best_estimator_
    np.testing.assert_array_equal(ConvergenceDisplay.from_estimator(search).objective, best.objective_)
    assert SeenUnseenDisplay.from_estimator(search, X_ALL, Y_ALL).bias == best.seen_bias_
    for kind in (ConfusionDisplay, ClassAccuracyDisplay):
        assert kind.from_estimator(search, ZOO.X_new, ZOO.y_new).labels


def displays(names):
    n = len(names)
    return {
        "convergence": ConvergenceDisplay([3.0, 2.0, 1.9], settled=2),
        "sensitivity": SensitivityDisplay("class_match", [0.1, 1], {"visual": [0.5, np.nan]}, 1.0),
        "ablation": AblationDisplay(names, np.linspace(0, 1, n), [None, *[0.5] * (n - 1)]),
        "seen": SeenUnseenDisplay({"visual": [[0, 1], [1, 0]]}, marks={"here": (0.5, 0.5)}),
        "comparison": ComparisonDisplay(
            names, np.linspace(0, 1, n), [None, *[0.5] * (n - 1)], [None, *[0.1] * (n - 1)]
        ),
        "classes": ClassAccuracyDisplay(names, {"accuracy": np.linspace(0, 1, n)}),
        "confusion": ConfusionDisplay(np.eye(n, dtype=int), names),
    }


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
        if kind in ("classes", "confusion", "ablation", "comparison"):
            drawn = ["".join(text.itertext()) for text in tree.iter("text")]
            assert "$x_$ 5 $" in drawn
            assert "(empty)" in drawn
            assert max(map(len, drawn)) <= 32
        if kind in ("classes", "confusion", "comparison"):  # the pointer tells the whole name
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
        assert display.to_file("svg") == display.to_file("svg")

    def test_the_users_settings_do_not_matter(self):
        display = displays(["a", "b"])["classes"]
        plain = display.to_svg("t")
        with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "axes.grid": True}):
            assert display.to_svg("t") == plain
        assert mpl.pyplot.get_fignums() == []


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    display = ConvergenceDisplay([3.0, 2.0])
    for draw in (display.plot, lambda: display.to_svg("t"), lambda: display.to_file("png"), require_matplotlib):
        with pytest.raises(ImportError, match=r"pip install 'jcmspl\[plots\]'"):
            draw()
