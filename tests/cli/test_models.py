"""Any method of the registry from the command line: --model and --set."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from jcmspl import JCMSPL, JCMSPLCV, load
from jcmspl.cli import _models
from jcmspl.datasets import load_digits
from jcmspl.evaluation.compare import tunable_methods
from jcmspl.methods import RidgeVS
from jcmspl.model import registry
from jcmspl.support.names import ABLATIONS
from support.command import jcmspl

ROOT = Path(__file__).parents[2]


def data_of(*arguments):
    """Return the JSON output of a command."""
    return json.loads(jcmspl(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def ridge(tmp_path_factory):
    """The file of a ridge regression on the digits."""
    path = tmp_path_factory.mktemp("ridge") / "ridge.safetensors"
    jcmspl("fit", "digits", "--model", "RidgeVS", "--set", "alpha=0.5", "--calibrate", "-o", path)
    return path


class TestFit:
    # digits have other numbers of features than of attributes
    @pytest.mark.parametrize(
        "name", [name for name in registry.names() if name not in ("TextPrototypes", "IdentityRidge")]
    )
    def test_every_method(self, name, tmp_path):
        path = tmp_path / "m.safetensors"
        data = data_of("fit", "digits", "--model", name, "-o", path, "--quiet")
        assert data["model"] == type(load(path)).__name__ == name
        assert data["n_samples"] == len(load_digits().rows("trainval"))
        assert ("n_iter" in data) == hasattr(load(path), "n_iter_")

    def test_is_the_fit_of_the_library(self, ridge):
        digits = load_digits()
        expected = RidgeVS(alpha=0.5).fit(*digits.part("trainval"), class_vectors=digits.classes)
        np.testing.assert_allclose(load(ridge).visual_projection_, expected.visual_projection_, atol=1e-10)
        assert load(ridge).alpha == 0.5

    def test_text(self, tmp_path):
        text = jcmspl("fit", "digits", "--model", "sae", "-o", tmp_path / "m").stdout  # in any case of letters
        assert text.startswith("trained SAE on ")
        assert "iterations" not in text

    def test_set_is_an_option_by_another_name(self, tmp_path):
        jcmspl("fit", "digits", "--class-match", "2", "--space", "visual", "-o", tmp_path / "a")
        jcmspl("fit", "digits", "--set", "class-match=2", "--set", "space=visual", "-o", tmp_path / "b")
        assert load(tmp_path / "a").get_params() == load(tmp_path / "b").get_params()

    def test_what_is_drawn_has_a_seed(self, tmp_path):
        for name in "ab":
            jcmspl("fit", "digits", "--set", "init=random", "--seed", "3", "-o", tmp_path / name)
        a, b = load(tmp_path / "a"), load(tmp_path / "b")
        np.testing.assert_array_equal(a.visual_projection_, b.visual_projection_)


def test_defaults_that_the_help_tells_are_true():
    model = JCMSPL()
    for name, (_, _, default) in _models.SHORTCUTS.items():
        assert getattr(model, name) == default


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", ("a", [1])),
        ("a=1e-3", ("a", [0.001])),
        ("a=True", ("a", [True])),
        ("a=none", ("a", [None])),
        ("some-thing = sample_l2+center", ("some_thing", ["sample_l2+center"])),
        ("a=0.1, 1,ten", ("a", [0.1, 1, "ten"])),
        ('a="x, y",z', ("a", ["x, y", "z"])),
        ("a=b=c", ("a", ["b=c"])),
    ],
)
def test_settings(text, expected):
    found = _models._setting(text)
    assert found == expected
    assert [type(value) for value in found[1]] == [type(value) for value in expected[1]]


@pytest.mark.parametrize("text", ["a", "=1", "a=", "a= ", "a=1,,2", ""])
def test_no_settings(text):
    with pytest.raises(argparse.ArgumentTypeError):
        _models._setting(text)


class TestTune:
    def test_a_method_with_its_own_grid(self, tmp_path):
        path = tmp_path / "m.safetensors"
        data = data_of("tune", "digits", "--model", "SAE", "--folds", "2", "-o", path)
        assert set(data["best_params"]) == {"weight", "space"}
        assert load(path).weight == data["best_params"]["weight"]

    def test_values_to_try_and_to_keep(self, tmp_path):
        path = tmp_path / "m.safetensors"
        given = ["--set", "alpha=1,10", "--set", "alpha=100", "--set", "space=visual"]
        data = data_of("tune", "digits", "--model", "RPL", *given, "--folds", "2", "-o", path)
        assert list(data["best_params"]) == ["alpha"]
        assert load(path).space == "visual"

    def test_is_the_search_of_the_library(self):
        digits = load_digits()
        search = JCMSPLCV(cv=2, class_match=1.0, space=["semantic", "visual"], progress=False)
        search.fit(*digits.part("trainval"), class_vectors=digits.classes)
        given = ["--folds", "2", "--set", "class_match=1", "--space", "semantic", "visual"]
        data = data_of("tune", "digits", *given, "--quiet")
        assert data["best_params"].items() <= search.best_params_.items()
        assert data["best_score"] == pytest.approx(search.best_score_)


class TestAfterAFit:
    def test_evaluate(self, ridge):
        settings = ["--set", "metric=dot", "--set", "seen_penalty=0.25", "--model", "RidgeVS"]
        plain, dot = (data_of("evaluate", ridge, "digits", "--space", "semantic", *more) for more in ([], settings))
        assert plain["results"][0]["standard"] != dot["results"][0]["standard"]
        assert dot["results"][0]["generalized"]["seen_bias"] == 0.25

    def test_predict(self, ridge, own):
        named = jcmspl("predict", ridge, own / "features.npy", "--set", "space=visual").stdout.splitlines()[1:]
        model = load(ridge).set_params(space="visual")
        X = np.load(own / "features.npy")
        assert [line.split(",")[1] for line in named] == model.predict(X).tolist()
        as_option, as_setting = (
            jcmspl("predict", ridge, own / "features.npy", *bias).stdout
            for bias in (["--seen-penalty", "0.3"], ["--set", "seen_penalty=0.3"])
        )
        assert as_option == as_setting != jcmspl("predict", ridge, own / "features.npy").stdout


class TestMistakes:
    """One sentence, no traceback, nothing written; exit code 2 where the words alone are wrong."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--model", "ESZL"], "did you mean ESZSL?"),
            (["--set", "alpha"], "PARAM=VALUE"),
            (["--set", "alpha="], "PARAM=VALUE"),
            (["--space", "moon"], "invalid choice"),
        ],
    )
    def test_words(self, arguments, message):
        assert message in jcmspl("fit", "digits", *arguments, "-o", "never", code=2).stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--set", "class_macth=1"], "; did you mean class_match?"),
            (["--set", "class_macth=1"], "JCMSPL has no parameter 'class_macth': there are "),
            (["--model", "RidgeVS", "--max-iter", "3"], "RidgeVS has no parameter 'max_iter': there are alpha,"),
            (["--model", "RidgeVS", "--set", "alpha=1,2"], "2 values of alpha, but a model takes one"),
            (["--set", "tol=1", "--tol", "2"], "2 values of tol, but a model takes one"),
            (["--model", "RidgeVS", "--set", "alpha=-1"], "alpha must be"),
            (["--model", "RidgeVS", "--set", "alpha=much"], "alpha must be a number, but is 'much'"),
            (["--set", "space=moon"], "space must be one of"),
            (["--set", "progress=false"], "no parameter 'progress'"),
        ],
    )
    def test_fit(self, arguments, message, tmp_path):
        result = jcmspl("fit", "digits", *arguments, "-o", tmp_path / "m", code=1)
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--model", "SAE"], "holds a model of RidgeVS, not of SAE"),
            (["--set", "alpha=1"], "alpha cannot be changed after a fit; only space, metric, seen_mean_share, "),
            (["--set", "metrik=dot"], "; did you mean metric?"),
            (["--set", "metric=dot,cosine"], "2 values of metric"),
            (["--set", "metric=miles"], "metric must be one of"),
            (["--set", "seen_penalty=much"], "seen_penalty must be a number, but is 'much'"),
        ],
    )
    def test_after_a_fit(self, ridge, arguments, message, own):
        for command in (["evaluate", ridge, "digits"], ["predict", ridge, own / "features.npy"]):
            result = jcmspl(*command, *arguments, code=1)
            assert message in result.stderr
            assert len([line for line in result.stderr.splitlines() if not line.startswith("note: ")]) == 1
            assert result.stdout == ""

    def test_a_bias_twice(self, ridge, own):
        given = ["--seen-penalty", "1", "--set", "seen_penalty=2"]
        assert "2 values of seen_penalty" in jcmspl("predict", ridge, own / "features.npy", *given, code=1).stderr


class TestMethods:
    def test_text(self):
        header, _, *lines = jcmspl("methods").stdout.splitlines()
        assert header.split() == ["method", "year", "kind", "cost", "needs", "paper"]
        assert [line.split()[0] for line in lines[:-2]] == list(registry.names())
        assert next(line.split()[:6] for line in lines if "RPL " in line) == (
            ["RPL", "2015", "Bilinear", "6", "statistics", "Shigeto"]
        )

    def test_all_about_some(self):
        text = jcmspl("methods", "RidgeVS", "SAE").stdout
        assert [line.split(":")[0] for line in text.splitlines() if line and line[0] != " "] == ["RidgeVS", "SAE"]
        assert "    Bilinear, one linear layer; needs statistics; cost 6\n" in text
        assert "alpha=1.0" in text

    def test_some_as_json(self):
        data = data_of("methods", "SAE")
        assert list(data) == ["SAE"]
        assert data["SAE"]["parameters"]["weight"] == 1
        assert data["SAE"]["summary"].startswith("Semantic autoencoder")
        assert (data["SAE"]["year"], data["SAE"]["kind"], data["SAE"]["cost"]) == (2017, "Bilinear", 6)

    def test_an_unknown_one(self):
        assert "did you mean ESZSL?" in jcmspl("methods", "ESZLS", code=1).stderr

    def test_what_can_be_compared(self):
        assert {*registry.names(), *ABLATIONS} == set(tunable_methods())
        assert "invalid choice" in jcmspl("compare", "digits", "--methods", "SEA", code=2).stderr


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not run from a source tree")
def test_the_table_of_the_documentation_is_that_of_the_registry():
    assert jcmspl("methods", "--markdown").stdout in (ROOT / "docs" / "methods.md").read_text()
