"""Adding a method is one class: everything else finds it by itself."""

import json
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jcmspl
from jcmspl import ClassSearchCV, cli, evaluate, load
from jcmspl.datasets import load_digits
from jcmspl.evaluation.compare import compare
from jcmspl.methods import RidgeVS
from jcmspl.model import registry
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.kinds import Embedding
from jcmspl.model.parameters import WEIGHT
from jcmspl.model.recogniser import FunctionScorer
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8)


@pytest.fixture
def toy():
    """A method of no kind, which reads the samples themselves and scores by a function that is not linear."""

    @dataclass(kw_only=True, eq=False, repr=False)
    class Toy(ZeroShotClassifier):
        """Ridge regression, sample by sample, compared by the euclidean distance."""

        alpha: float = field(default=1.0, kw_only=False, metadata=WEIGHT)

        PAPER: ClassVar = "made up"
        NEEDS: ClassVar = "samples"
        GRID: ClassVar = {"alpha": (0.1, 1.0, 10.0)}
        ARRAYS: ClassVar = {"W": ("d", "m")}

        def _fit(self, prepared, monitor):
            d, m = prepared.class_vectors.shape[1], prepared.statistics.n_features
            gram, cross = self.alpha * np.eye(m), np.zeros((d, m))
            for Z, numbers in prepared.samples(size=7):
                gram += Z.T @ Z
                cross += prepared.class_vectors[numbers].T @ Z
            return {"W": np.linalg.solve(gram, cross.T).T}

        def _scorer(self, class_vectors, space):
            W = self.arrays_["W"]
            return FunctionScorer(lambda Z: -np.linalg.norm((Z @ W.T)[:, None] - class_vectors, axis=2))

    yield Toy
    registry.unregister("Toy")


@pytest.fixture
def curved():
    """A method that maps samples and classes where it likes."""

    @dataclass(kw_only=True, eq=False, repr=False)
    class Curved(Embedding):
        """Squares of what ridge regression reads out of a sample."""

        PAPER: ClassVar = "made up"
        ARRAYS: ClassVar = {"W": ("d", "m")}

        def _fit(self, prepared, monitor):
            gram = prepared.statistics.gram + np.eye(prepared.statistics.n_features)
            cross = prepared.class_vectors.T @ prepared.statistics.class_sums
            return {"W": np.linalg.solve(gram, cross.T).T}

        def _embed(self, Z):
            return np.sign(Z @ self.arrays_["W"].T) * (Z @ self.arrays_["W"].T) ** 2

        def _prototypes(self, class_vectors):
            return np.sign(class_vectors) * class_vectors**2

    yield Curved
    registry.unregister("Curved")


class City:
    """A distance, or the opposite of one, that can be pickled."""

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, Z, P):
        return self.sign * np.abs(Z[:, None] - P).sum(axis=2)


def test_recognisers_of_functions_are_pickled():
    recogniser = fit(RidgeVS(metric=City(1))).recogniser()
    again = pickle.loads(pickle.dumps(recogniser))
    assert_array_equal(again.scores(ZOO.X_new), recogniser.scores(ZOO.X_new))


def fit(model, zoo=ZOO):
    return model.set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)


def test_it_is_registered_and_forgotten(toy):
    assert registry.get("Toy") is toy is registry.methods()["Toy"] is jcmspl.model.registry.get("Toy")
    assert "Toy" in registry.names()
    registry.unregister("Toy")
    with pytest.raises(ValueError, match="there is no method 'Toy'"):
        registry.get("Toy")


def test_a_name_that_is_taken_stays_with_its_owner():
    type("RidgeVS", (ZeroShotClassifier,), {"PAPER": "another", "__module__": "elsewhere"})
    assert registry.get("RidgeVS") is RidgeVS


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_name_of_the_package_is_not_taken_before_it_is_imported():
    code = (
        "from jcmspl.model.bilinear import Bilinear\n"
        "class SAE(Bilinear):\n    PAPER = 'another'\n"
        "import jcmspl; assert jcmspl.methods.SAE.__module__ == 'jcmspl.methods.sae', jcmspl.methods.SAE"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_letters_of_shapes_are_the_methods_own(toy, tmp_path):
    class Kept(toy):
        PAPER = "made up"
        ARRAYS: ClassVar = {"n_first": ("n", "m")}

        def _fit(self, prepared, monitor):
            return {"n_first": np.vstack([Z for Z, _ in prepared.samples()])[:5]}

    fit(Kept()).save(tmp_path / "kept")
    assert load(tmp_path / "kept").arrays_["n_first"].shape == (5, 20)
    registry.unregister("Kept")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_are_normalised_as_the_statistics_are(toy, dtype):
    X = (ZOO.X + 1000).astype(dtype)
    X[:, 3] = 7  # constant: what rounding leaves of it must not look like a signal

    class Sums(toy):
        ARRAYS: ClassVar = {"sums": ("c", "m"), "expected": ("c", "m")}

        def _fit(self, prepared, monitor):
            sums = np.zeros((len(prepared.class_vectors), 20))
            for Z, numbers in prepared.samples(size=11):
                np.add.at(sums, numbers, Z)
            return {"sums": sums, "expected": prepared.statistics.class_sums}

    arrays = fit(Sums(feature_normalisation="zscore"), ZOO._replace(X=X)).arrays_
    assert_allclose(arrays["sums"], arrays["expected"], atol=1e-8)


def test_samples_in_an_order_of_the_methods_own(toy, tmp_path):
    np.save(tmp_path / "X.npy", ZOO.X)
    order = np.random.default_rng(0).permutation(len(ZOO.X))[:50]

    class Ordered(toy):
        ARRAYS: ClassVar = {"found": ("n", "m"), "expected": ("n", "m")}

        def _fit(self, prepared, monitor):
            everything = np.vstack([Z for Z, _ in prepared.samples()])
            blocks = list(prepared.samples(7, order))
            assert_array_equal(np.concatenate([numbers for _, numbers in blocks]), prepared.numbers[order])
            return {"found": np.vstack([Z for Z, _ in blocks]), "expected": everything[order]}

    arrays = fit(Ordered(), ZOO._replace(X=np.load(tmp_path / "X.npy", mmap_mode="r"))).arrays_
    assert_array_equal(arrays["found"], arrays["expected"])


def test_it_learns_from_samples(toy):
    model, ridge = fit(toy(0.5)), fit(RidgeVS(0.5, metric="euclidean"))
    assert_allclose(model.arrays_["W"], ridge.visual_projection_, atol=1e-10)
    assert_array_equal(model.predict(ZOO.X_new, candidates="unseen"), ridge.predict(ZOO.X_new, candidates="unseen"))
    with pytest.raises(TypeError, match="needs all samples at once and does not support partial_fit"):
        toy().partial_fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.raises(TypeError, match="Toy reads samples more than once"):
        toy().fit(iter([(ZOO.X, ZOO.y)]), class_vectors=ZOO.table)


def test_it_has_all_that_models_have(toy, tmp_path):
    model = fit(toy(0.5)).calibrate(ZOO.X, ZOO.y)
    assert set(model.calibration_) == {("own", None)}
    assert model.predict_proba(ZOO.X_new).shape == (len(ZOO.X_new), ZOO.table.n_classes)
    model.save(tmp_path / "toy")
    again = load(tmp_path / "toy")
    assert type(again) is toy
    assert (again.alpha, again.seen_penalty_) == (0.5, model.seen_penalty_)
    assert_array_equal(again.decision_function(ZOO.X_new), model.decision_function(ZOO.X_new))
    with pytest.raises(ValueError, match="the array 'W' has the wrong type or shape"):
        fit(type("Wrong", (toy,), {"_fit": lambda self, prepared, monitor: {"W": np.zeros((2, 2))}})())


def test_it_is_tuned(toy):
    search = fit(ClassSearchCV(toy(), cv=3, extend=0))
    ridge = fit(ClassSearchCV(RidgeVS(metric="euclidean"), {"alpha": (0.1, 1.0, 10.0)}, cv=3, extend=0))
    assert_allclose(search.cv_results_["mean_test_score"], ridge.cv_results_["mean_test_score"])
    assert type(search.best_estimator_) is toy
    assert search.calibrate(ZOO.X, ZOO.y).score(ZOO.X_new, ZOO.y_new) > 0.6


def test_it_is_evaluated_and_compared(toy):
    digits = load_digits()
    report = evaluate(toy().fit(*digits.part("trainval"), class_vectors=digits.classes), digits, progress=False)
    assert [result["space"] for result in report.data["results"]] == ["own"]
    assert 0.3 < report.accuracy <= 1
    assert "Toy on digits" in report.to_text()
    found = compare(digits, ["Toy", "FPL"], repeats=0, progress=False, cv=2, extend=0)
    assert {row.method for row in found.rows} == {"Toy", "FPL"}
    assert set(found.rows[0].parameters) in ({"alpha"}, set())


def test_from_the_command_line(toy, tmp_path, capsys):
    model = str(tmp_path / "toy.safetensors")

    def run(*arguments):
        assert cli.main([*arguments, "--quiet"]) == 0
        return capsys.readouterr().out

    run("fit", "digits", "--model", "Toy", "--set", "alpha=0.25", "-o", model, "--calibrate")
    assert load(model).alpha == 0.25
    assert json.loads(run("evaluate", model, "digits", "--json"))["model"]["name"] == "Toy"
    assert json.loads(run("info", model, "--json"))["model"] == "Toy"
    tuned = json.loads(run("tune", "digits", "--model", "Toy", "--folds", "2", "--json"))
    assert set(tuned["best_params"]) == {"alpha"}
    assert "Toy" in cli_text(capsys, "methods")
    predicted = run("predict", model, "digits", "--part", "test_unseen", "--candidates", "unseen")
    assert len(predicted.splitlines()) == 1 + len(load_digits().rows("test_unseen"))


def cli_text(capsys, *arguments):
    assert cli.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_an_embedding(curved, tmp_path):
    model = fit(curved())
    assert model.score(ZOO.X_new, ZOO.y_new) > 0.5
    Z = model.feature_normalisation_.of_rows(ZOO.X_new)
    E, P = model._embed(Z), model._prototypes(model.class_normalisation_.of_rows(ZOO.table.vectors))
    assert_allclose(model.transform(ZOO.X_new), E)

    def scores(metric):
        return model.set_params(metric=metric).decision_function(ZOO.X_new, candidates=list(ZOO.table))

    assert_allclose(scores("dot"), E @ P.T, atol=1e-12)
    assert_allclose(scores("cosine"), E @ (P / np.linalg.norm(P, axis=1, keepdims=True)).T, atol=1e-12)
    assert_allclose(scores("euclidean"), -np.sum((E[:, None] - P) ** 2, axis=2) / 2, atol=1e-12)
    city_block = scores(lambda Z, P: np.abs(Z[:, None] - P).sum(axis=2))
    assert_allclose(city_block, -np.abs(E[:, None] - P).sum(axis=2), atol=1e-12)
    model.set_params(metric="cosine").save(tmp_path / "m")
    assert_array_equal(load(tmp_path / "m").transform(ZOO.X_new), model.transform(ZOO.X_new))
    city, anti = City(1), City(-1)
    one, two = ([fit(ClassSearchCV(curved(metric=m), {}, cv=3)).best_score_] for m in (city, anti))
    for metrics, expected in (((city, anti), one + two), ((anti, city), two + one)):
        search = fit(ClassSearchCV(curved(), {"metric": metrics}, cv=3))
        assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert one[0] > two[0]
    assert len(fit(ClassSearchCV(curved(), {"metric": (city, "cosine")}, cv=3)).cv_results_["params"]) == 2
    assert list(search.get_feature_names_out()) == [f"curved{i}" for i in range(8)]
    fitted = fit(curved())
    recogniser = fitted.recogniser()
    before = recogniser.scores(ZOO.X_new)
    fitted.set_params(metric="euclidean").fit(ZOO.X + 1, ZOO.y, class_vectors=ZOO.table)
    assert_array_equal(recogniser.scores(ZOO.X_new), before)
    with pytest.raises(ValueError, match="metric must be one of"):
        fitted.set_params(metric="bogus").predict(ZOO.X_new)
    with pytest.raises(ValueError, match="metric must be one of"):
        fit(curved(metric="magic"))
