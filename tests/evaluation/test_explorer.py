"""Explorer pages: what is put into them, and what is refused."""

import copy
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import jcmspl
from jcmspl import JCMSPL, ClassTable, explore
from jcmspl.datasets import Dataset, load_digits
from jcmspl.evaluation import explorer
from jcmspl.methods import ConSE, RidgeVS, SynC
from support.animals import make_zoo


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits.part("trainval")
    return RidgeVS().fit(X, y, class_vectors=digits.classes)


def content_of(page):
    """Return the data that the script of a page reads."""
    return json.loads(re.search(r'<script type="application/json" id="explorer-data">(.*?)</script>', page)[1])


def test_samples_are_drawn_class_by_class(model, digits):
    page = explore(model, digits, n_samples=45)
    counts = np.unique(digits.y[page.rows], return_counts=True)[1]
    assert len(page.rows) == len(set(page.rows)) == 45
    assert sorted(counts) == [4] * 5 + [5] * 5
    assert "45 of 791 samples" in page.about[0]
    assert set(page.rows) <= set(digits.rows("test_seen")) | set(digits.rows("test_unseen"))
    assert np.array_equal(explore(model, digits, n_samples=45).rows, page.rows)
    assert not np.array_equal(explore(model, digits, n_samples=45, random_state=1).rows, page.rows)
    assert list(explore(model, digits, n_samples=20).rows) == list(page.rows[:20])  # more of them are the same and more
    assert len(explore(model, digits, n_samples=10**5).rows) == 791
    assert "All 791 samples" in explore(model, digits, n_samples=10**5).about[0]


def test_training_samples_where_there_are_no_others(model, digits):
    page = explore(model, replace(digits, parts={**digits.parts, "test_seen": []}), n_samples=30)
    assert "(21 of them training samples)" in page.about[0]
    parts = content_of(page.to_html())["parts"]
    assert (parts.count("training"), parts.count("test")) == (21, 9)


def test_ids_of_samples(model, digits):
    named = replace(digits)
    object.__setattr__(named, "ids", [f"image {row}" for row in range(digits.n_samples)])
    page = explore(model, named, n_samples=5)
    assert content_of(page.to_html())["ids"] == [f"image {row}" for row in page.rows]
    assert content_of(explore(model, digits, n_samples=5).to_html())["ids"] is None


def test_candidates(model, digits):
    page = explore(model, digits, candidates="unseen")
    assert page.labels == digits.unseen
    assert set(digits.y[page.rows]) == set(digits.unseen)
    assert "3 unseen classes" in page.about[0]
    with pytest.raises(ValueError, match="candidates"):
        explore(model, digits, candidates="none")


def test_nothing_is_fetched(model, digits):
    page = explore(model, digits).to_html()
    assert not re.search(r"https?:|src=|@import|url\(", page)
    assert page.count("<script") == 2
    assert "default-src 'none'" in page
    assert len(page) < 300_000


def test_pages_stay_small(model, digits, monkeypatch):
    monkeypatch.setattr(explorer, "_USUAL", 60_000)
    page = explore(model, digits)
    assert 100 < len(page.rows) < 200
    monkeypatch.setattr(explorer, "_MOST", 100_000)
    with pytest.raises(ValueError, match=r"791 samples of 64 features would make a page of 0 MB.*take at most 2\d\d$"):
        explore(model, digits, n_samples=791)
    monkeypatch.setattr(explorer, "_MOST_OF_MODEL", 5_000)
    page = explore(model, digits)
    assert "too large for a page" in page.no_new_classes
    monkeypatch.setattr(explorer, "_MOST_OF_MODEL", 2_000)
    with pytest.raises(ValueError, match=r"10 classes by 64 features.*--candidates unseen"):
        explore(model, digits)
    assert explore(model, digits, candidates="unseen").labels == digits.unseen


def test_what_works_is_named(digits, model):
    X, y = digits.part("trainval")
    with pytest.raises(ValueError, match=r"those of ConSE are not: explore a model of JCMSPL, .*RidgeVS"):
        explore(ConSE().fit(X, y, class_vectors=digits.classes), digits)
    by_function = copy.copy(model).set_params(metric=lambda Z, P: Z @ P.T)
    with pytest.raises(ValueError, match="the metric of this RidgeVS is a function"):
        explore(by_function, digits)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SynC(), "SynC has no linear map"),
        (JCMSPL(class_kernel="rbf", progress=False), "class_kernel='rbf'"),
        (JCMSPL(progress=False), None),
    ],
)
def test_made_up_classes_or_why_there_are_none(model, reason, digits):
    X, y = digits.part("trainval")
    page = explore(model.fit(X, y, class_vectors=digits.classes), digits, n_samples=20)
    text = page.to_html()
    assert (reason is None) == (page.no_new_classes is None) == ('id="sliders"' in text)
    assert reason is None or reason in page.no_new_classes
    assert ("cannot recognise made-up classes" in text) == (reason is not None)


def test_bad_data(model, digits, tmp_path):
    zoo = make_zoo()
    table = ClassTable(zoo.table.labels, zoo.table.vectors)
    y = np.concatenate([zoo.y, zoo.y_new])
    X = np.vstack([zoo.X, zoo.X_new])
    parts = {"train": np.arange(len(zoo.y)), "test_unseen": np.arange(len(zoo.y), len(y))}
    dataset = Dataset("zoo", X, y, table, parts)
    with pytest.raises(ValueError, match="zoo have 20 features, but the model expects 64"):
        explore(model, dataset)
    own = RidgeVS().fit(zoo.X, zoo.y, class_vectors=table)
    page = explore(own, dataset)
    assert page.labels[:6] == own.classes_.tolist()
    assert content_of(page.to_html())["map"]["attributes"] is None  # they are numbered
    X = X.copy()
    X[len(zoo.y)] = np.nan
    with pytest.raises(ValueError, match=f"row {len(zoo.y)} of zoo holds NaN"):
        explore(own, replace(dataset, X=X), candidates="unseen")
    X[len(zoo.y)] = 1e300
    with pytest.raises(ValueError, match="too large for float32"):
        explore(own, replace(dataset, X=X), candidates="unseen")
    with pytest.raises(ValueError, match="n_samples"):
        explore(own, dataset, n_samples=0)
    with pytest.raises(ValueError, match=r"is written as \.html"):
        page.save(tmp_path / "page.pdf")
    page.save(tmp_path / "page.html")
    with pytest.raises(FileExistsError):
        page.save(tmp_path / "page.html")
    assert repr(page).startswith("<Explorer of RidgeVS on zoo: ")


def test_adapted_models(digits):
    X, y = digits.part("trainval")
    model = JCMSPL(progress=False, space="visual").fit(X, y, class_vectors=digits.classes)

    def layers(page):
        return len(content_of(page.to_html())["layers"])

    assert layers(explore(model, digits, n_samples=9)) == 1
    assert layers(explore(model, digits, n_samples=9, adapt=True)) == 2
    assert not hasattr(model, "adapted_")
    model.adapt(digits.part("test_unseen")[0], candidates="unseen")
    assert layers(explore(model, digits, n_samples=9)) == 1  # only some of the candidates were
    assert layers(explore(model, digits, n_samples=9, candidates="unseen")) == 2
    with pytest.raises(ValueError, match="leave adapt=True"):
        explore(SynC().fit(X, y, class_vectors=digits.classes), digits, adapt=True)


def test_is_public():
    assert jcmspl.explore is explore


def test_models_beside(model, digits):
    fewer = digits.rows("train")[np.isin(digits.y[digits.rows("train")], digits.seen[:5])]
    others = RidgeVS().fit(digits.X[fewer], digits.y[fewer], class_vectors=digits.classes)
    with pytest.raises(ValueError, match="'five' of beside was trained on other classes"):
        explore(model, digits, beside={"five": others})
    narrow = RidgeVS().fit(digits.X[:, :60], digits.y, class_vectors=digits.classes)
    with pytest.raises(ValueError, match="'narrow' of beside expects 60"):
        explore(model, digits, beside={"narrow": narrow})
