"""Output in notebooks, parsed and compared with its data."""

import copy
import re
import string
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, ClassTable, evaluate
from jcmspl.datasets import Dataset, make_zsl
from jcmspl.evaluation.comparison_report import Comparison, Row
from jcmspl.methods import RidgeVS
from jcmspl.support.shown import ELLIPSIS, Card, Table

NAMES = [
    "<script>alert(1)</script>",
    "</style><b>",
    "$x$ 'quoted' \"twice\"",
    "two\nlines\x00\u202e",
    "日本 é ☃",
    "x" * 200,
]
VOID = {"input", "path", "br", "meta", "rect"}


class Parsed(HTMLParser):
    """The tables of a page as rows of texts, and the texts outside of them; what is not closed is refused."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.facts, self.texts, self.bars, self.tags = [], {}, [], [], set()
        self._open = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs if "jcmspl" in "".join(self._classes))
        if tag in VOID:
            return
        given = dict(attrs)
        self._open.append((tag, given.get("class") or ""))
        if tag == "table":
            self.tables.append([])
        if tag == "tr" and self.tables:
            self.tables[-1].append([])
        if tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
        if "jcmspl-bar" in (given.get("class") or ""):
            sign = 1 if given["class"].endswith("for") else -1
            self.bars.append(sign * float(re.fullmatch(r"--part:([\d.]+)%", given["style"])[1]) / 50)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop()[0] == tag

    def handle_data(self, data):
        if any(tag in ("td", "th") for tag, _ in self._open) and self.tables and self.tables[-1]:
            self.tables[-1][-1][-1] += data
        elif data.strip() and not any(tag in ("style", "script") for tag, _ in self._open):
            self.texts.append(data.strip())

    @property
    def _classes(self):
        return [name for _, name in self._open]


def parsed(thing):
    html = thing if isinstance(thing, str) else thing._repr_html_()
    own = html[html.index('<div class="jcmspl-card">') :]
    page = Parsed(own)
    assert page.tags <= {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "span"}
    page.facts = {row[0]: row[1] for table in page.tables for row in table if len(row) == 2}
    return page


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(400, 12, 20, 8, 4, noise=0.6, random_state=0)


@pytest.fixture(scope="module")
def model(dataset):
    return JCMSPL(progress=False).fit(*dataset.part("trainval"), class_vectors=dataset.classes)


@pytest.fixture(scope="module")
def search(dataset):
    template = RidgeVS(progress=False)
    search = ClassSearchCV(template, {"alpha": [0.1, 1.0], "space": "visual"}, cv=2, extend=0, progress=False)
    return search.fit(*dataset.part("trainval"), class_vectors=dataset.classes)


class TestCard:
    def test_all_parts_are_escaped(self):
        content = Table(NAMES[0], NAMES[:2], [[name, name] for name in NAMES])
        page = parsed(Card(NAMES[0], sentences=NAMES, facts={"of": NAMES[1]}, tables=[content], notes=NAMES).html())
        assert page.facts["of"] == NAMES[1]
        assert [row[0] for row in page.tables[1]][1:4] == NAMES[:3]
        assert page.tables[1][4][0] == "two\\nlines\\x00\\u202e"
        assert page.tables[1][6][0] == "x" * 59 + ELLIPSIS
        assert page.texts.count(NAMES[0]) == 4  # the title, a sentence, the caption, a note

    def test_numbers_are_flush_right_and_bars_are_drawn(self):
        rows = [["a", "1.5", 0.5], [ELLIPSIS, ELLIPSIS, ""], ["b", "20", -1.0]]
        html = Card(tables=[Table("", ["name", "n", ""], rows)]).html()
        assert '<td class="n">20</td>' in html
        assert '<th scope="col" class="n">n</th>' in html
        assert '<td class="n">a</td>' not in html
        assert parsed(html).bars == [0.5, -1.0]

    def test_the_style_is_its_own(self):
        """Nothing outside is styled, and no colour is set that would be wrong on dark ground."""
        style = re.search(r"<style>(.*?)</style>", Card("x").html(), re.DOTALL)[1]
        selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",")]
        assert selectors
        assert all(selector.startswith(".jcmspl-") for selector in selectors)
        assert set(re.findall(r"(?<![-\w])color: ([^;]+);", style)) == {"inherit"}


class TestClassTable:
    def test_small(self):
        table = ClassTable(["zebra", "horse"], [[1, 0.5], [0, 1]], ["stripes", "hooves"])
        page = parsed(table)
        assert page.texts == ["ClassTable of 2 classes x 2 attributes"]
        assert page.tables == [[["class", "stripes", "hooves"], ["zebra", "1", "0.5"], ["horse", "0", "1"]]]

    def test_what_is_left_out_is_told(self):
        vectors = np.random.default_rng(0).random((200, 50))
        (rows,) = parsed(ClassTable([f"c{i}" for i in range(200)], vectors)).tables
        assert {len(row) for row in rows} == {10}
        assert rows[0][5] == rows[6][0] == ELLIPSIS
        assert set(rows[6]) == {ELLIPSIS}
        assert rows[0][-1] == "attribute 49"
        assert rows[-1][0] == "c199"
        assert rows[-1][-1] == f"{vectors[-1, -1]:.3g}"
        assert rows[1][1:5] == [f"{value:.3g}" for value in vectors[0, :4]]

    def test_joined(self):
        page = parsed(ClassTable.joined(look={"a": [1, 2], "b": [0, 1]}, text={"a": [1], "b": [2]}))
        assert page.facts["joined of"] == "'look' (2 attributes), 'text' (1 attributes)"

    def test_names(self):
        (rows,) = parsed(ClassTable(NAMES, np.eye(6), NAMES)).tables
        assert rows[1][0] == rows[0][1] == NAMES[0]
        assert len(rows[6][0]) == 60


class TestDataset:
    def test_facts(self, dataset):
        page = parsed(dataset)
        assert page.texts == ["Dataset made-up data"]
        assert page.facts["samples"] == "400 x 12 features (float32)"
        assert page.facts["classes"] == "12 x 20 attributes"
        assert page.facts["unseen classes"].startswith("4: 'class 08'")
        parts = {row[0]: row[1:] for row in page.tables[1][1:]}
        for part, rows in dataset.parts.items():
            if len(rows):
                n_classes = len(set(dataset.y[rows].tolist()))
                assert parts.pop(part) == [str(len(rows)), str(n_classes)]
        assert not parts

    def test_rows_of_no_part_and_names(self, dataset):
        parts = {"train": dataset.parts["train"]}
        page = parsed(Dataset(NAMES[0], dataset.X, dataset.y, dataset.classes, parts, NAMES[1]))
        assert page.tables[1][-1] == ["in no part", str(400 - len(parts["train"])), ""]
        assert page.facts["unseen classes"] == "none"
        assert page.facts["source"] == NAMES[1]
        assert page.texts == [f"Dataset {NAMES[0]}"]


class TestModels:
    def test_scikit_learns_picture_and_the_facts(self, model):
        html = model._repr_html_()
        assert html.startswith("<style>")  # scikit-learn's own
        assert "sk-container" in html
        facts = parsed(html).facts
        assert facts["trained on"] == "8 classes, 12 features"
        assert facts["class vectors"] == "20 attributes"
        assert facts["knows besides"] == "4 unseen classes: 'class 08', 'class 09', 'class 10', ..."
        assert facts["compares in"] == "the visual space"
        assert facts["iterations"] == str(model.n_iter_)
        assert facts["bias on seen classes"] == "none: not calibrated"
        assert facts["fitted in"].endswith(" s")

    def test_what_jupyter_asks_for(self, model):
        bundle = model._repr_mimebundle_(include=None, exclude=None)
        assert bundle["text/plain"] == repr(model)
        assert parsed(bundle["text/html"]).facts == parsed(model).facts
        with sklearn.config_context(display="text"):
            assert set(model._repr_mimebundle_()) == {"text/plain"}
            assert not hasattr(model, "_repr_html_")

    def test_calibrated_and_adapted(self, model, dataset):
        twin = copy.copy(model).calibrate(*dataset.part("trainval"))
        X, _ = dataset.part("test_unseen")
        twin.adapt(X, candidates="unseen")
        facts = parsed(twin).facts
        assert facts["bias on seen classes"] == f"{twin.seen_penalty_:.3g}"
        assert facts["adapted to"] == f"{len(X)} samples among 4 classes"

    def test_a_model_that_is_not_fitted_has_no_facts(self):
        for unfitted in (JCMSPL(), JCMSPLCV(), ClassSearchCV(RidgeVS())):
            assert "jcmspl-card" not in unfitted._repr_html_()

    def test_a_plain_classifier(self, dataset):
        facts = parsed(RidgeVS(progress=False).fit(*dataset.part("trainval"))).facts
        assert facts["class vectors"] == "none"
        assert facts["knows besides"] == "no unseen classes"
        assert "bias on seen classes" not in facts

    def test_names(self):
        rng = np.random.default_rng(0)
        y = np.repeat(np.array(NAMES, dtype=object)[:3], 4)
        X = rng.random((12, 5))
        model = RidgeVS(progress=False).fit(X, y, class_vectors=ClassTable(NAMES[::-1], rng.random((6, 4))))
        assert parsed(model).facts["knows besides"].startswith("3 unseen classes: 'xxx")
        assert "two\\nlines\\x00\\u202e" in parsed(model).facts["knows besides"]

    def test_a_search(self, search):
        facts = parsed(search).facts
        assert facts["chosen"] == f"alpha={search.best_params_['alpha']}"
        assert facts["of"] == "2 settings tried"
        assert facts["on held-out classes"].startswith(f"{100 * search.best_score_:.1f} % ± ")
        assert facts["trained on"] == "8 classes, 12 features"


def test_recogniser(model):
    recogniser = model.recogniser(candidates="unseen")
    page = parsed(recogniser)
    assert page.facts["candidates"] == "4"
    assert page.facts["x"] == "12 features, signed roots, divided by its length"
    assert page.tables[1][1] == [
        "class 08",
        f"{recogniser.bias[0]:.4g}",
        f"{np.linalg.norm(recogniser.weights[0]):.4g}",
    ]


def test_recogniser_of_many_classes():
    rng = np.random.default_rng(0)
    model = RidgeVS(progress=False, metric="euclidean").fit(
        rng.random((60, 5)), np.repeat(range(20), 3), class_vectors=rng.random((20, 4))
    )
    page = parsed(model.recogniser())
    assert page.texts == [type(model.recogniser()).__name__]
    assert [row[0] for row in page.tables[1]] == ["candidate", *"01234", ELLIPSIS, "15", "16", "17", "18", "19"]


def test_explanation(dataset):
    traits = [f"trait {letter}" for letter in string.ascii_lowercase[: dataset.classes.n_attributes]]
    table = ClassTable(dataset.classes.labels, dataset.classes.vectors, traits)
    model = JCMSPL(progress=False).fit(*dataset.part("trainval"), class_vectors=table)
    explanation = model.explain(dataset.part("test_unseen")[0][:1], candidates="unseen")[0]
    page = parsed(explanation)
    assert page.texts == [str(explanation).splitlines()[0]]
    rows = page.tables[0][1:]
    top, bottom = explanation.top(), explanation.bottom()[::-1]
    assert [row[0] for row in rows] == [
        *(name for name, _ in top),
        "(10 others together)",
        *(name for name, _ in bottom),
    ]
    rest = explanation.contributions.sum() - sum(value for _, value in [*top, *bottom])
    assert rows[5][1] == f"{rest:+.3g}"
    values = np.array([value for _, value in [*top, *bottom]])
    np.testing.assert_allclose(page.bars, values / np.abs(values).max(), atol=2e-3)


def test_explanation_without_names(model, dataset):
    explanation = model.explain(dataset.part("test_unseen")[0][:1], candidates="unseen")[0]
    rows = parsed(explanation).tables[0][1:]
    assert [row[0] for row in rows] == [str(label) for label, _ in explanation.nearest]
    assert rows[0][1] == f"{explanation.score:.3g}"


def test_adaptation(model, dataset):
    twin = copy.copy(model).adapt(dataset.part("test_unseen")[0], candidates="unseen")
    page = parsed(twin.adapted_)
    order = np.argsort(-twin.adapted_.moved)
    assert [row[0] for row in page.tables[0][1:]] == [str(twin.adapted_.labels[i]) for i in order]
    assert "4 classes adapted to" in page.texts[1]


class TestResults:
    def test_report(self, model, dataset):
        report = evaluate(model, dataset, progress=False)
        page = parsed(report)
        assert page.texts[0] == "JCMSPL on made-up data"
        assert page.texts[1:3] == report.about()
        assert f"{100 * report.accuracy:.1f} %" in page.tables[0][1]
        assert f"{report.results[0].generalized.ausuc:.3f}" in page.tables[1][1]

    def test_comparison(self):
        rows = [Row(name, {}, np.nan, np.nan, 0.5, 0.6, None, []) for name in ("JCMSPL", "SAE")]
        comparison = Comparison(NAMES[0], 4, 8, 0, False, rows, {"ESZSL": NAMES[1]})
        page = parsed(comparison)
        assert [row[0] for row in page.tables[0]] == ["method", "JCMSPL", "SAE"]
        assert page.texts[0].startswith(NAMES[0])
        assert f"ESZSL could not be fitted: {NAMES[1]}" in page.texts
