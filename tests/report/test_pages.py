"""The pages: structure, figures, names that could do harm, colours that can be read."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from jcmspl import JCMSPL, ClassTable, evaluate
from jcmspl.datasets import Dataset, make_zsl
from jcmspl.evaluation.comparison_report import Comparison, GeneralizedFigures, Row
from jcmspl.evaluation.experiment_report import (
    AblationRow,
    ConvergenceRun,
    ExperimentData,
    Experiments,
    GeneralizedRow,
    Sensitivity,
    StandardRow,
    Tuned,
)
from jcmspl.evaluation.findings import ConfusionMatrix, Mistake
from jcmspl.report import pages
from jcmspl.report.pages import Axis

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b",
    "نسر\u202eبري",
    "x" * 300,
    "'{{ 7*7 }}'",
]
SPACES = ("visual", "semantic", "concept")


class Page(HTMLParser):
    """The content of a page: elements with their attributes and text, all of them closed."""

    VOID = ("meta", "img", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in self.VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, texts in self.open:
            texts.append(data)

    def all(self, tag, **wanted):
        """Return attributes and text of all elements with this tag whose attributes have these words."""
        return [
            (attributes, "".join(texts))
            for name, attributes, texts in self.elements
            if name == tag and all(value in (attributes.get(key) or "").split() for key, value in wanted.items())
        ]


def renamed(dataset, names):
    new = dict(zip(dataset.classes, names, strict=True))
    table = ClassTable(list(new.values()), dataset.classes.vectors)
    return Dataset(EVIL[0], dataset.X, [new[label] for label in dataset.y], table, dataset.parts, EVIL[1])


@pytest.fixture(scope="module")
def report():
    dataset = make_zsl(900, 30, 12, 8, 4, noise=1.0, random_state=0)
    names = [f"{evil}{number}" if len(evil) < 99 else evil for number, evil in enumerate(2 * EVIL[:4] + EVIL[2:])]
    dataset = renamed(dataset, names)
    model = JCMSPL().fit(*dataset.part("trainval"), class_vectors=dataset.classes)
    return evaluate(model.calibrate(*dataset.part("trainval")), dataset)


@pytest.fixture(scope="module")
def comparison():
    def row(name, unseen):
        return Row(name, {}, unseen, 0.02, unseen, unseen, GeneralizedFigures(0.6, 0.5, 0.3, 0.25), [unseen] * 3)

    return Comparison(
        EVIL[0], 10, 40, 3, True, [row(name, 0.5 - i / 50) for i, name in enumerate(EVIL)], {EVIL[1]: EVIL[0]}
    )


@pytest.fixture(scope="module")
def experiments():
    """Tuning chose the defaults, and calibration changed nothing for them in one of the spaces."""
    weights = dict.fromkeys(("semantic_match", "class_match", "visual_reconstruction", "semantic_reconstruction"), 1.0)
    standard = [
        StandardRow(setting, space, **weights, per_class=share, per_sample=share, hit5=None)
        for setting, share in (("paper's form", 0.4), ("default", 0.5), ("tuned", 0.5))
        for space in SPACES
    ]
    generalized = [
        GeneralizedRow(setting + kind, space, bias, 0.6, 0.5, 0.55 + bias, 0.25)
        for setting in ("default", "tuned")
        for space in SPACES
        for kind, bias in (("", 0.0), (", calibrated", 0.0 if space == "concept" else 0.1))
    ]
    runs = [ConvergenceRun(name, [3.0, 2.0, 1.9], [[1.0] * 5] * 3, 2) for name in ("default", "tuned")]
    return Experiments(
        ExperimentData(EVIL[0], EVIL[1], "CUB", 5, 3, 4, 8, {"trainval": 9, "test_seen": 2, "test_unseen": 3}),
        Tuned({"class_match": np.inf}, 0.5, 0.02),
        standard,
        generalized,
        [AblationRow(name, "visual", 0.5, 0.55, {}) for name in ("FPL", "JCMSPL")],
        {"class_match": Sensitivity([0.1, 1.0, 10.0], {space: [0.4, None, 0.5] for space in SPACES}, np.inf)},
        [ConvergenceRun("paper's form", [9.0, 2.0], [[1.0] * 5] * 2, None), *runs],
        {"jcmspl": "0"},
    )


@pytest.fixture(scope="module", params=["report", "comparison", "experiments"])
def html(request):
    return request.getfixturevalue(request.param).to_html()


class TestAllPages:
    def test_structure(self, html):
        page = Page(html)
        ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert [len(page.all(tag)) for tag in ("h1", "main", "nav", "header", "title")][:4] == [1, 1, 1, 1]
        links = [attributes["href"] for attributes, _ in page.all("a")]
        headings = [f"#{attributes['id']}" for attributes, _ in page.all("h2")]
        assert links == headings  # the contents lead to every section
        for attributes, _ in page.all("section"):
            assert attributes["aria-labelledby"] in ids
        for tag, attributes, _ in page.elements:
            if attributes.get("role") == "img" and tag != "svg":
                assert attributes["aria-label"]

    def test_nothing_else_is_needed(self, html):
        page = Page(html)
        assert not re.search(r'(src|href)\s*=\s*["\']?(https?:|//|file:)', html)
        assert "@import" not in html
        assert "url(http" not in html
        assert not any("src" in attributes or tag == "link" for tag, attributes, _ in page.elements)

    def test_no_script_runs_but_ours(self, html):
        page = Page(html)
        ((attributes, text),) = page.all("script")
        assert attributes == {}
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        (policy,) = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
        assert f"script-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'")
        assert not any(name.startswith("on") for _, attributes, _ in page.elements for name in attributes)
        assert "<img" not in html
        assert "\u202e" not in html
        assert "x" * 101 not in html.split("All figures as JSON")[0] or "Comparison" in html

    def test_every_colour_is_that_of_the_page(self, html):
        """In the dark a chart with colours of its own could not be read."""
        body = html.split("</style>")[1]
        assert not re.search(r'style="[^"]*#[0-9a-f]{6}', body)
        used = set(re.findall(r"var\(--([\w-]+)\)", body))
        assert used <= set(re.findall(r"--([\w-]+):", html))


class TestEvaluation:
    def test_figures_are_those_of_the_json(self, report):
        page, data = Page(report.to_html()), json.loads(report.to_json())
        cards = [text for _, text in page.all("b", **{"class": "big"})]
        assert cards == [f"{100 * result['standard']['per_class']:.1f} %" for result in data["results"]]
        shown = [text for _, text in page.all("span", **{"class": "what"})]
        ends = [result["intervals"]["per_class"] for result in data["results"]]
        assert shown == [f"95 % interval {100 * one['low']:.1f} to {100 * one['high']:.1f} %" for one in ends]
        bars = [a["data-v"] for a, _ in page.all("td", **{"class": "bar"})]
        classes = data["classes"]
        expected = [row[kind] for row in classes for kind in ("standard", "generalized")]
        assert [float(bar) if bar else None for bar in bars] == expected
        texts = [text for _, text in page.all("span", **{"class": "value"})]
        assert texts == [f"{100 * share:.1f} %" for share in expected if share is not None]

    def test_the_matrix(self, report):
        page, matrix = Page(report.to_html()), report.confusion_matrix.sorted()
        cells = [(a, text) for a, text in page.all("td") if "title" in a]
        counts = np.array(matrix.counts)
        assert [int(text) for _, text in cells] == counts[counts > 0].tolist()
        shares = (counts / counts.sum(axis=1, keepdims=True))[counts > 0]
        assert [int(re.match(r"s(\d)", a["class"])[1]) for a, _ in cells] == [pages.step(share) for share in shares]

    def test_many_classes(self, report):
        labels = [f"class {i}" for i in range(200)]
        counts = (20 * np.eye(200, dtype=int) + np.eye(200, k=7, dtype=int)).tolist()
        counts[150][3], counts[17][160] = 9, 8
        rows = [
            replace(report.classes[0], label=label, kind="unseen", standard=1 - i / 200)
            for i, label in enumerate(labels)
        ]
        many = replace(report, classes=rows, confusion_matrix=ConfusionMatrix(labels, counts))
        page = Page(many.to_html())
        bars = [text for a, text in page.all("rect") if "style" in a]
        assert len(bars) == 200
        heads = [text for a, text in page.all("th", scope="row")]
        assert len(heads) == 50
        assert {"class 150", "class 3", "class 17", "class 160"} <= set(heads)
        assert heads == sorted(heads)
        assert bars[100] == f"class 100: 50.0 % of {rows[100].samples}"
        assert "Of 200 classes, the 50 with the commonest confusions are shown" in many.to_html()

    def test_no_mistakes(self, report):
        perfect = ConfusionMatrix(["a", "b"], [[3, 0], [0, 2]])
        html = replace(report, confusion_matrix=perfect, confusions=[]).to_html()
        assert "No sample of an unseen class was taken for another one." in html

    def test_the_commonest_mistake_of_a_class(self, report):
        mistakes = {"a": Mistake("c", 0.4), "b": None, "c": Mistake("a", 0.75)}
        rows = [replace(report.classes[0], label=label, taken_for=mistake) for label, mistake in mistakes.items()]
        page = Page(replace(report, classes=rows).to_html())
        names = [text for _, text in page.all("td", **{"class": "name"})]
        start = names.index("a")
        assert names[start : start + 6] == ["a", "c (40.0 %)", "b", "", "c", "a (75.0 %)"]


class TestExperiments:
    def test_rows_that_are_the_same_are_shown_once(self, experiments):
        tables = experiments._page_tables()
        assert [row[0] for row in tables["standard"].rows] == ["paper's form"] * 3 + ["default = tuned"] * 3
        settings = [(row[0], row[1]) for row in tables["generalized"].rows]
        both = ["default = tuned", "default = tuned, calibrated"]
        names = {"visual": "visual (S→V)", "semantic": "semantic (V→S)", "concept": "concept"}
        expected = [(setting, names[space]) for space in ("visual", "semantic") for setting in both]
        assert settings == [*expected, ("default = tuned", "concept")]
        assert [run.setting for run in experiments._different_runs()] == ["paper's form", "default = tuned"]
        assert experiments.to_html().count("default = tuned: settles at iteration 2") == 1
        assert len(json.loads(experiments.to_json())["standard"]) == 9  # the results have all

    def test_rows_that_differ_stay(self, experiments):
        first, *rest = experiments.standard[-3:]
        other = replace(experiments, standard=[*experiments.standard[:-3], replace(first, per_class=0.6), *rest])
        settings = [row[0] for row in other._page_tables()["standard"].rows]
        assert settings == ["paper's form"] * 3 + ["default", "default = tuned", "default = tuned", "tuned"]

    def test_the_tuned_model_is_marked(self, experiments):
        chart = experiments.charts()["sensitivity-class_match"]
        assert chart.chosen == np.inf
        assert set(chart.at_chosen.values()) == {0.5}
        assert len(chart.at_chosen) == 3

    def test_published_figures(self, experiments):
        assert experiments.to_html().count('class="ring"') == 1 + 2  # the legend, and both ablations
        own = replace(experiments, dataset=replace(experiments.dataset, paper=None))
        assert 'class="ring"' not in own.to_html()


@pytest.mark.parametrize(
    ("shares", "low", "high"),
    [
        ([0.42, 0.61], 0.4, 0.65),
        ([0.601, 0.6025], 0.601, 0.6025),
        ([0.5], 0.499, 0.5),
        ([0.0], 0.0, 0.00001),
        ([0.0, 1.0], 0.0, 1.0),
        ([float("nan")], 0.0, 1.0),
        ([], 0.0, 1.0),
    ],
)
def test_an_axis_starts_where_the_data_does(shares, low, high):
    axis = Axis.around(shares)
    assert axis.low == pytest.approx(low, abs=1e-3)
    assert axis.high == pytest.approx(high, abs=1e-3)
    assert 2 <= len(axis.ticks) <= 8
    assert axis.place(axis.low) == "0.00%"
    assert axis.place(axis.high) == "100.00%"
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_steps_of_the_scale():
    assert [pages.step(share) for share in (0, 0.0999, 0.1, 0.3, 0.7, 0.95, 1)] == [0, 0, 1, 3, 7, 9, 9]


def _colours():
    """Return the names and values of colours of pages, in the light and in the dark."""
    css = (Path(pages.__file__).parent / "templates" / "page.css").read_text()
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in css.split("@media", 2)[:2])
    return {"light": light, "dark": dark}


def _contrast(one, other):
    def luminance(colour):
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme):
    """The contrast that WCAG asks for: 4.5 for text, 3 for lines of charts; the scale goes one way."""
    colours = _colours()[theme]
    assert _colours()["light"].keys() == _colours()["dark"].keys()
    for name in ("ink", "soft", "link", "good", "bad"):
        assert _contrast(colours[name], colours["paper"]) >= 4.5
        assert _contrast(colours[name], colours["raised"]) >= 4.5
    for number in range(1, 7):
        assert _contrast(colours[f"c{number}"], colours["paper"]) >= 3
    away = [_contrast(colours[f"s{number}"], colours["paper"]) for number in range(10)]
    assert away == sorted(away)
    for number in range(10):
        on = colours["on-low" if number < 6 else "on-high"]
        assert _contrast(on, colours[f"s{number}"]) >= 4.5
