"""The report: its figures against predictions, and its forms."""

import copy
import dataclasses
import json
import re
import sys
import types
from collections import Counter

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import balanced_accuracy_score, recall_score

from jcmspl import JCMSPL, JCMSPLCV, ClassTable, evaluate
from jcmspl.datasets import Dataset, load_digits, make_zsl
from jcmspl.evaluation.findings import Generalized, Standard
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.methods import RidgeVS


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
    assert [result["space"] for result in report.data["results"]] == ["visual", "semantic", "concept"]  # its own first


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


def test_results_are_typed(report):
    first = report.results[0]
    assert isinstance(first.standard, Standard)
    assert isinstance(first.generalized, Generalized)
    assert first.standard.per_class == first.standard.hits[1].per_class == report.accuracy
    assert first.generalized.harmonic_mean == report.harmonic_mean
    assert report.data["results"][0]["standard"]["hits"]["1"] == dataclasses.asdict(first.standard.hits[1])
    assert report.dataset.samples["test_unseen"] == sum(row.samples for row in report.classes if row.kind == "unseen")
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.space = "visual"


def test_the_keys_of_json(report):
    """Scripts of users read these."""
    data = json.loads(report.to_json())
    assert data == report.data
    expected = "dataset model results classes confusions confusion_matrix objective timings versions bootstrap examples"
    assert " ".join(data) == f"{expected} trained_on"
    assert list(data["trained_on"]) == ["test_seen", "test_unseen", "is_exact"]
    assert list(data["results"][0]) == ["space", "standard", "generalized", "intervals"]
    assert list(data["results"][0]["intervals"]["per_class"]) == ["low", "high"]
    assert data["bootstrap"] == {"level": 0.95, "draws": 2000, "seed": 0, "over": "classes"}
    assert list(data["results"][0]["standard"]) == ["per_class", "per_sample", "hits"]
    expected = "acc_seen acc_unseen harmonic_mean seen_bias uncalibrated best_on_test_data ausuc curve"
    assert " ".join(data["results"][0]["generalized"]) == expected
    assert list(data["classes"][0]) == ["label", "kind", "samples", "standard", "generalized", "taken_for"]
    assert list(data["confusions"][0]) == ["true", "predicted", "samples", "share"]
    assert list(data["model"]) == ["name", "parameters", "n_concepts", "n_iter", "alignment", "cosine_share"]


def test_charts_are_those_of_the_page(report):
    charts = report.charts()
    assert list(charts) == ["generalized", "classes", "confusions", "convergence"]
    svg = charts["convergence"].to_svg("Objective after each iteration")
    assert set(re.findall(r' d="([^"]+)"', svg)) <= set(re.findall(r' d="([^"]+)"', report.to_html()))


def test_many_classes_are_drawn_in_part(report):
    row, matrix = report.classes[0], report.confusion_matrix
    rows = [dataclasses.replace(row, label=f"class {i}", standard=1 - i / 200) for i in range(200)]
    many = dataclasses.replace(
        report, classes=rows, confusion_matrix=dataclasses.replace(matrix, labels=[""] * 200, counts=[[0] * 200] * 200)
    )
    assert len(many.charts()["classes"].labels) == 60
    assert "confusions" not in many.charts()
    page = many.to_html()
    assert all(f">class {i}<" in page for i in range(200))  # in the table


@pytest.mark.parametrize(
    "evil", ['<img src=x onerror="alert(1)">|`', "{{ 7 * 7 }}<img>|", "$x_{<img>}$|\n\x00" + "y" * 300]
)
def test_names_cannot_break_the_page(dataset, evil):
    names = {label: f"{evil}{label}" for label in dataset.classes}
    table = ClassTable([names[label] for label in dataset.classes], dataset.classes.vectors)
    y = np.array([names[label] for label in dataset.y], dtype=object)
    renamed = Dataset(evil, dataset.X, y, table, dataset.parts, evil)
    X, labels = renamed.part("trainval")
    report = evaluate(JCMSPL().fit(X, labels, class_vectors=table), renamed)
    assert "<img" not in report.to_html()
    assert "&lt;img" in report.to_html()
    assert "\\|" in report.to_markdown()
    assert evil in json.loads(report.to_json())["classes"][0]["label"]


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
    assert (report.model.n_concepts, report.model.n_iter) == (None, None)
    for form in (report.to_text(), report.to_markdown(), report.to_html()):
        assert not re.search("iteration|[0-9] concepts", form)


def test_a_search_is_evaluated_as_its_best_model(dataset):
    X, y = dataset.part("trainval")
    weights = {"semantic_match": 1.0, "visual_reconstruction": 1.0, "semantic_reconstruction": 1.0}
    search = JCMSPLCV(class_match=[0.1, 1.0], cv=2, extend=0, progress=False, **weights)
    search.fit(X, y, class_vectors=dataset.classes)
    report = evaluate(search, dataset)
    assert report.model.name == "JCMSPL"
    assert report.results[0].space == search.best_estimator_.space
    assert report.results == evaluate(search.best_estimator_, dataset).results


class Foreign(BaseEstimator):
    """A fitted model with no more than what evaluate asks for."""

    SPACES, own_space = ("visual",), "visual"

    def __init__(self, model):
        self._model, self.fitted_ = model, True
        self.classes_, self.class_table_ = model.classes_, model.class_table_
        self.n_features_in_, self.timings_ = model.n_features_in_, {"fit": 1.0}

    def fit(self, X, y):
        return self

    def recogniser(self, *, space, **options):
        assert space == "visual"
        return self._model.recogniser(space=space, **options)

    def get_params(self, deep=True):
        return {"function": types.SimpleNamespace(), "share": np.float32(0.5)}

    def bias_in(self, space):
        return 0.0


def test_any_model_with_the_common_methods(dataset, model):
    report = evaluate(Foreign(model), dataset)
    assert [result.space for result in report.results] == ["visual"]
    assert report.model.parameters == {"function": "namespace()", "share": 0.5}
    assert report.data["model"]["n_concepts"] is None
    assert "concepts" not in report.to_text()
    assert "convergence" not in report.charts()
    assert "Foreign on" in report.to_html()


def test_a_page_without_matplotlib(report, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for ask in (report.to_html, lambda: Report.check_name("r.html"), lambda: report.save(tmp_path / "r.html")):
        with pytest.raises(ImportError, match=r"pip install 'jcmspl\[plots\]'"):
            ask()
    Report.check_name("r.md")
    assert report.to_text()
    assert report._repr_html_()


def test_bad_input(dataset, model):
    everything = JCMSPL().fit(np.asarray(dataset.X), dataset.y, class_vectors=dataset.classes)
    with pytest.raises(ValueError, match="tested on what it was trained on"):
        evaluate(everything, dataset)
    with pytest.raises(ValueError, match="64 features, but the model expects 30"):
        evaluate(model, load_digits())


def test_reports_of_earlier_versions(report):
    """JSON without intervals and examples is read, and shown."""
    data = json.loads(report.to_json())
    for name in ("bootstrap", "examples"):
        del data[name]
    for result in data["results"]:
        del result["intervals"]
    earlier = Report.from_json(json.dumps(data))
    assert (earlier.bootstrap, earlier.examples, earlier.results[0].intervals) == (None, [], {})
    for form in (earlier.to_text(), earlier.to_markdown(), earlier.to_html()):
        assert "% interval" not in form


def test_report_of_its_own_data(report):
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.to_text() == report.to_text()
    assert again.to_html() == report.to_html()


class TestTransductive:
    @pytest.fixture
    def adapted(self, model, dataset):
        return evaluate(model, dataset, adapt=True)

    def test_figures_are_those_of_adapted_models(self, adapted, model, dataset):
        result = adapted.results[-1]
        assert (result.space, result.transductive) == ("visual", True)
        (X, y), (X_seen, y_seen) = dataset.part("test_unseen"), dataset.part("test_seen")
        twin = copy.copy(model).set_params(space="visual").adapt(X, candidates=dataset.unseen)
        named = twin.predict(X, candidates=dataset.unseen)
        assert result.standard.per_class == pytest.approx(balanced_accuracy_score(y, named))
        twin.adapt([X_seen, X], candidates="all")
        seen, unseen = (twin.score(*part, candidates="all") for part in ((X_seen, y_seen), (X, y)))
        assert (result.generalized.acc_seen, result.generalized.acc_unseen) == pytest.approx((seen, unseen))

    def test_the_rest_is_as_without_it(self, adapted, report):
        assert adapted.data["results"][:3] == report.data["results"]
        assert adapted.accuracy == report.accuracy
        assert not any(result.transductive for result in report.results)

    def test_all_forms_say_so(self, adapted):
        assert adapted.data["results"][3]["transductive"] is True
        assert Report.from_json(adapted.to_json()) == adapted
        share = f"{100 * adapted.results[-1].standard.per_class:.1f} %"
        for form in (adapted.to_text(), adapted.to_markdown(), adapted.to_html()):
            lines = [line for line in form.splitlines() if "visual (S→V), transductive" in line]
            assert len(lines) >= 2  # standard and generalized
            assert share in form

    def test_the_model_does_not_change(self, model, dataset):
        before = dict(vars(model))
        evaluate(model, dataset, adapt=True)
        assert vars(model) == before

    def test_an_adaptation_of_its_own_is_left_out(self, model, dataset, report):
        X, _ = dataset.part("test_unseen")
        twin = copy.copy(model).set_params(space="visual").adapt(X, candidates=dataset.unseen)
        found = {result.space: result.standard for result in evaluate(twin, dataset).results}
        assert found == {result.space: result.standard for result in report.results}
        assert hasattr(twin, "adapted_")

    def test_where_it_cannot_be(self, model, dataset):
        with pytest.raises(ValueError, match="in the visual space"):
            evaluate(model, dataset, spaces=["semantic"], adapt=True)
        with pytest.raises(ValueError, match="metric is 'euclidean'"):
            evaluate(copy.copy(model).set_params(metric="euclidean"), dataset, adapt=True)


def test_the_class_that_each_is_most_often_taken_for():
    """Unseen classes among unseen ones, or else among all; seen classes among all."""
    digits = load_digits()
    X, y = digits.part("trainval")
    model = JCMSPL().fit(X, y, class_vectors=digits.classes)
    rows = {row.label: row for row in evaluate(model, digits, progress=False).classes}
    X, y = digits.part("test_seen")
    named = model.predict(X, candidates="all", class_vectors=digits.classes)
    wrong = Counter(named[(y == "eight") & (named != y)].tolist())
    mistake = rows["eight"].taken_for
    assert wrong[mistake.predicted] == max(wrong.values()) == round(mistake.share * rows["eight"].samples)
    assert rows["two"].taken_for.predicted in digits.unseen
