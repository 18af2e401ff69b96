"""The report: its figures against predictions, and the page in a browser."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, recall_score

from jcmspl import JCMSPL, RidgeVS, evaluate
from jcmspl.datasets import Dataset, load_digits, make_zsl
from jcmspl.evaluation.report import Report

SPACES = ("semantic", "visual", "concept")


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(900, 30, 12, 8, 4, noise=0.6, random_state=0)


@pytest.fixture(scope="module")
def model(dataset):
    X, y = dataset.part("trainval")
    return JCMSPL().fit(X, y, class_vectors=dataset.classes).calibrate(X, y)


@pytest.fixture(scope="module")
def report(model, dataset):
    return evaluate(model, dataset)


def test_figures_are_those_of_predictions(model, dataset, report):
    X, y = dataset.part("test_unseen")
    X_seen, y_seen = dataset.part("test_seen")
    for result in report.data["results"]:
        recogniser = model.recogniser(candidates=dataset.unseen, space=result["space"])
        named = recogniser.predict(X)
        assert result["standard"]["per_class"] == pytest.approx(balanced_accuracy_score(y, named))
        assert result["standard"]["per_sample"] == pytest.approx(np.mean(named == y))
        top2 = recogniser.labels[recogniser.top_k(X, 2)[0]]
        assert result["standard"]["hits"]["2"]["per_sample"] == pytest.approx(np.mean((top2 == y[:, None]).any(axis=1)))
        among_all = model.recogniser(space=result["space"])
        generalized = result["generalized"]
        assert generalized["seen_bias"] == model.calibration_[result["space"], "cosine"]
        seen, unseen = (
            recall_score(truth, among_all.predict(samples), labels=sorted(set(truth)), average="macro", zero_division=0)
            for samples, truth in ((X_seen, y_seen), (X, y))
        )
        assert (generalized["acc_seen"], generalized["acc_unseen"]) == pytest.approx((seen, unseen))
        assert generalized["harmonic_mean"] == pytest.approx(2 * seen * unseen / (seen + unseen))
        assert generalized["best_on_test_data"]["harmonic_mean"] >= generalized["harmonic_mean"] - 1e-12
        assert 0 < generalized["ausuc"] < 1
    assert report.accuracy == report.data["results"][0]["standard"]["per_class"]
    assert [result["space"] for result in report.data["results"]] == list(SPACES)


def test_tables_of_classes(report, dataset, model):
    X, y = dataset.part("test_unseen")
    named = model.predict(X, candidates=dataset.unseen)
    rows = {row["label"]: row for row in report.data["classes"]}
    assert len(rows) == 12
    for label in dataset.unseen:
        assert rows[str(label)]["standard"] == pytest.approx(np.mean(named[y == label] == label))
        assert rows[str(label)]["samples"] == np.sum(y == label)
    counts = np.array(report.data["confusion_matrix"]["counts"])
    assert counts.sum() == len(y)
    assert np.trace(counts) == np.sum(named == y)
    wrong = sum(row["samples"] for row in report.data["confusions"])
    assert wrong <= len(y) - np.trace(counts)


def test_forms(report, tmp_path):
    again = json.loads(report.to_json())
    assert again["results"][0]["standard"]["per_class"] == report.accuracy
    text, markdown, html = report.to_text(), report.to_markdown(), report.to_html()
    figure = f"{100 * report.accuracy:.1f} %"
    for form in (text, markdown, html):
        assert figure in form
        assert "per sample" in form
        assert "per class" in form
    assert figure in repr(report)
    assert figure in report._repr_html_()
    for name in ("r.json", "r.md", "r.html", "r.txt"):
        report.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    with pytest.raises(FileExistsError):
        report.save(tmp_path / "r.md")
    with pytest.raises(ValueError, match="is written as"):
        report.save(tmp_path / "r.pdf")


def test_the_page_needs_nothing_else(report):
    html = report.to_html()
    assert "<script" not in html
    assert not re.search(r'(src|href)\s*=\s*"?https?:', html)
    assert html.count("<svg") == html.count("</svg>") == 4


def test_names_cannot_break_the_page(dataset):
    evil = '<img src=x onerror="alert(1)">|`'
    names = {label: f"{evil}{label}" for label in dataset.classes}
    table = type(dataset.classes)([names[label] for label in dataset.classes], dataset.classes.vectors)
    y = np.array([names[label] for label in dataset.y], dtype=object)
    renamed = Dataset(evil, dataset.X, y, table, dataset.parts, evil)
    X, labels = renamed.part("trainval")
    report = evaluate(JCMSPL().fit(X, labels, class_vectors=table), renamed)
    assert "<img" not in report.to_html()
    assert "&lt;img" in report.to_html()
    assert "\\|" in report.to_markdown()


def test_without_test_samples_of_seen_classes(dataset, model):
    parts = {name: rows for name, rows in dataset.parts.items() if name != "test_seen"}
    report = evaluate(model, Dataset("few", dataset.X, dataset.y, dataset.classes, parts))
    assert report.harmonic_mean is None
    assert "generalized" not in report.data["results"][0]
    for form in (report.to_text(), report.to_html(), report.to_markdown()):
        assert "AUSUC" not in form


def test_spaces_and_hits(dataset, model):
    report = evaluate(model, dataset, spaces=["concept"], hits=[1, 3, 99])
    assert [result["space"] for result in report.data["results"]] == ["concept"]
    assert set(report.data["results"][0]["standard"]["hits"]) == {"1", "3"}


def test_peers(dataset):
    X, y = dataset.part("trainval")
    report = evaluate(RidgeVS().fit(X, y, class_vectors=dataset.classes), dataset)
    assert report.accuracy > 0.25
    assert "RidgeVS" in report.to_html()


def test_bad_input(dataset, model):
    everything = JCMSPL().fit(np.asarray(dataset.X), dataset.y, class_vectors=dataset.classes)
    with pytest.raises(ValueError, match="tested on what it was trained on"):
        evaluate(everything, dataset)
    with pytest.raises(ValueError, match="64 features, but the model expects 30"):
        evaluate(model, load_digits())


CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
PROBE = """<script>
window.onload = () => {
  const wide = [...document.querySelectorAll('body > *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1);
  const empty = [...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().height < 50);
  document.title = JSON.stringify({wide: wide.length, empty: empty.length,
    tables: document.querySelectorAll('td').length, bars: document.querySelectorAll('svg rect').length});
};
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [1000, 480])
def test_the_page_in_a_browser(report, tmp_path, width):
    """Nothing sticks out of the window, and every chart is drawn."""
    page = tmp_path / "page.html"
    page.write_text(report.to_html().replace("</body>", PROBE))
    result = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--window-size={width},900",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if result.returncode:
        pytest.skip(f"Chromium does not run here: {result.stderr[-200:]}")
    found = json.loads(re.search(r"<title>(\{.*?\})</title>", result.stdout).group(1))
    assert found["wide"] == found["empty"] == 0
    assert found["tables"] > 20
    assert found["bars"] > 8


def test_report_of_its_own_data(report):
    assert Report(json.loads(report.to_json())).to_text() == report.to_text()
