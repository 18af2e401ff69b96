"""The paper's experiments."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from jcmspl import JCMSPL
from jcmspl.datasets import Dataset, load_dataset, load_digits, make_zsl
from jcmspl.evaluation import published
from jcmspl.evaluation.experiment_report import Experiments
from jcmspl.evaluation.experiments import ABLATIONS, reproduce
from jcmspl.exceptions import DivergenceError
from jcmspl.io.json_text import from_data
from support.command import jcmspl

SMALL = {"cv": 2, "extend": 0, "halving": True}


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(700, 20, 10, 8, 4, noise=0.8, random_state=0)


@pytest.fixture(scope="module")
def results():
    return reproduce(load_digits(), max_iter=20, **SMALL)


class TestReproduce:
    def test_everything_is_there(self, results):
        settings = ["paper's form, CUB's weights", "default", "tuned"]
        assert list(dict.fromkeys(row.setting for row in results.standard)) == settings
        assert [run.setting for run in results.convergence] == settings
        assert len(results.standard) == 9
        assert len(results.generalized) == 18
        assert [row.method for row in results.ablations] == list(ABLATIONS)
        assert set(results.sensitivity) == set(published.RANGES)
        for name, curve in results.sensitivity.items():
            low, high = published.RANGES[name]
            assert len(curve.values) == high - low + 1
            assert all(len(shares) == len(curve.values) for shares in curve.accuracies.values())
        for run in results.convergence:
            assert len(run.objective) == 20
            settled = run.settled or 20
            later = np.array(run.objective[settled - 1 :])
            assert np.all(-np.diff(later) <= 1e-3 * later[1:])
            assert np.all(np.diff(run.objective) <= 1e-9 * run.objective[0])

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_figures_are_those_of_the_library(self, results):
        digits = load_digits()
        model = JCMSPL(max_iter=20).fit(*digits.part("trainval"), class_vectors=digits.classes)
        X, y = digits.part("test_unseen")
        row = next(r for r in results.standard if r.setting == "default" and r.space == model.space)
        assert row.per_class == pytest.approx(model.score(X, y, candidates=digits.unseen))
        papers = JCMSPL.paper("CUB", max_iter=20, random_state=0, space="visual")
        papers.fit(*digits.part("trainval"), class_vectors=digits.classes)
        row = next(r for r in results.standard if r.setting.startswith("paper") and r.space == "visual")
        assert row.per_class == pytest.approx(papers.score(X, y, candidates=digits.unseen))
        assert row.visual_reconstruction == 1e4
        curve = results.sensitivity["class_match"]
        at = curve.values.index(1.0)
        tuned = JCMSPL(**{**results.tuned.parameters, **curve.stand_ins, "class_match": 1.0, "max_iter": 20})
        tuned.fit(*digits.part("trainval"), class_vectors=digits.classes)
        recogniser = tuned.recogniser(candidates=digits.unseen, space="visual")
        right = recogniser.predict(X) == y
        per_class = np.mean([right[y == label].mean() for label in digits.unseen])
        assert curve.accuracies["visual"][at] == pytest.approx(per_class)

    def test_files(self, results, tmp_path):
        files = results.save(tmp_path / "out")
        names = {file.name for file in files}
        expected = {"report.html", "results.json", "standard.csv", "sensitivity.csv", "ablation.png", "ablation.svg"}
        assert expected <= names
        assert all(file.stat().st_size > 100 for file in files)
        with open(tmp_path / "out" / "ablations.csv") as file:
            assert [row["method"] for row in csv.DictReader(file)] == list(ABLATIONS)
        html = (tmp_path / "out" / "report.html").read_text()
        assert "none of the data sets of the paper" in html
        assert html.count("<svg") == 4 + 3
        with pytest.raises(FileExistsError, match="not empty"):
            results.save(tmp_path / "out")
        results.save(tmp_path / "out", plots=False, overwrite=True)

    def test_published_figures_stand_beside_those_of_a_known_data_set(self, results):
        birds = replace(results, dataset=replace(results.dataset, paper="CUB"))
        html = birds.to_html()
        assert "f-CLSWGAN" in html
        assert "62.6 %" in html
        assert "published (other features)" in html

    def test_results_are_typed_and_keys_stay(self, results):
        data = json.loads(results.to_json())
        assert from_data(Experiments, data) == results
        assert list(data["standard"][0])[:3] == ["setting", "space", "semantic_match"]
        assert list(data["ablations"][0]) == ["method", "space", "cv_score", "per_class", "parameters"]
        assert list(data["sensitivity"]["class_match"]) == ["values", "accuracies", "chosen", "stand_ins"]
        assert list(data["convergence"][0]) == ["setting", "objective", "terms", "settled", "stand_ins"]

    def test_infinite_weights(self, results):
        """Tuned on the path of closed forms; where codes are not pinned, large weights stand for infinite ones."""
        tuned = next(row for row in results.standard if row.setting == "tuned")
        assert tuned.class_match == tuned.visual_reconstruction == results.tuned.parameters["class_match"] == np.inf
        assert "λ2 inf, λ3 inf" in tuned.weights
        assert results.sensitivity["class_match"].stand_ins == {"visual_reconstruction": 1e3}
        assert results.sensitivity["semantic_match"].stand_ins == {}
        assert results.convergence[-1].stand_ins == {"class_match": 1e3, "visual_reconstruction": 1e3}
        assert results.convergence[1].stand_ins == {}
        data = json.loads(results.to_json(), parse_constant=pytest.fail)
        assert data["tuned"]["parameters"]["class_match"] == data["standard"][-1]["class_match"] == "inf"
        html = results.to_html()
        assert "class_match (tuned: inf)" in html
        assert "<p>visual_reconstruction 1000 in\nplace of infinity" in html
        assert "<p>class_match 1000 and visual_reconstruction 1000 in\nplace of infinity" in html

    def test_fits_that_diverged_are_left_out(self, results):
        curve = results.sensitivity["class_match"]
        gaps = {space: [None, None, *shares[2:]] for space, shares in curve.accuracies.items()}
        diverged = replace(results, sensitivity={"class_match": replace(curve, accuracies=gaps)})
        assert "2 of the fits diverged" in diverged.to_html()


def test_a_papers_form_that_diverges_is_left_out(dataset, monkeypatch):
    original = JCMSPL.fit

    def fit(self, *samples, **options):
        if self.feature_normalisation == "none":
            raise DivergenceError("far too large")
        return original(self, *samples, **options)

    monkeypatch.setattr(JCMSPL, "fit", fit)
    with pytest.warns(RuntimeWarning, match="paper's form diverged and is left out: far too large"):
        results = reproduce(dataset, max_iter=2, **SMALL)
    assert {row.setting for row in results.standard} == {"default", "tuned"}


def test_on_real_files(data_folder, tmp_path):
    """The whole of it on CUB, with the first 64 features, for time."""
    if not (data_folder / "cub").is_dir():
        pytest.skip("no cub/ in the folder of benchmark data")
    cub = load_dataset(data_folder / "cub")
    small = Dataset(cub.name, np.ascontiguousarray(cub.X[:, :64]), cub.y, cub.classes, cub.parts, cub.source)
    results = reproduce(small, max_iter=5, **SMALL)
    assert results.dataset.paper == "CUB"
    assert {row.setting for row in results.standard} == {"paper's form", "default", "tuned"}
    paper = next(row for row in results.standard if row.setting == "paper's form")
    assert paper.visual_reconstruction == 1e4
    assert max(row.per_class for row in results.standard) > 0.1
    results.save(tmp_path / "out", plots=False)


def test_the_published_tables():
    """Spot checks against the paper, and that harmonic means are those of their accuracies."""
    by_name = {(row["method"], row["features"]): row for row in published.STANDARD}
    assert by_name["JCMSPL (S→V)", "G"]["AwA"] == 86.2
    assert by_name["SAE", "G"]["SUN"] == 65.2
    assert by_name["LESAE", "G"]["ImNet"] == 27.6
    assert published.SETTINGS["AwA"]["visual_reconstruction"] == 1e7
    for rows in published.GENERALIZED.values():
        for seen, unseen, mean in rows.values():
            harmonic = 2 * seen * unseen / (seen + unseen)
            assert mean == pytest.approx(harmonic, abs=1.1)  # ConSE on CUB is a point off in the paper
    assert published.data_set_like("cub", 1, 1, 1) == "CUB"
    assert published.data_set_like("birds", 150, 50, 312) == "CUB"
    assert published.data_set_like("digits", 7, 3, 24) is None


def test_reproduce_command(tmp_path):
    command = ["reproduce", "digits", "-o", tmp_path / "out", "--quiet"]
    assert "report.html" in jcmspl(*command).stdout
    assert (tmp_path / "out" / "report.html").exists()
    assert "--force" in jcmspl(*command, code=1).stderr
