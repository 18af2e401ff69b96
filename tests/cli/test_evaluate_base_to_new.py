"""--base-to-new of evaluate."""

import json

import numpy as np
import pytest

from jcmspl import evaluate
from jcmspl.datasets import load_dataset
from jcmspl.methods import ESZSL
from support.command import jcmspl


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file with short names, as embeddings are often kept."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((8, 6))
    y = np.repeat(np.arange(8), 8)
    X = vectors[y] + 0.5 * rng.standard_normal((len(y), 6))
    path = tmp_path_factory.mktemp("data") / "pairs.npz"
    np.savez(path, X=X.astype(np.float16), y=y, S=vectors, part=np.tile([0, 0, 0, 0, 0, 1, 1, 1], 8))
    return path


def test_figures_are_those_of_python(data):
    options = ("--shots", "2", "all", "--draws", "2", "--seed", "3", "--base", "random", "--set", "visual_penalty=10")
    told = json.loads(jcmspl("evaluate", "eszsl", data, "--base-to-new", *options, "--json").stdout)
    model = ESZSL(visual_penalty=10)
    how = {"shots": [2, None], "n_draws": 2, "random_state": 3, "base": "random"}
    assert told == json.loads(evaluate(model, load_dataset(data), protocol="base-to-new", **how).to_json())


def test_text_and_page(data, tmp_path):
    result = jcmspl("evaluate", "ESZSL", data, "--base-to-new", "-o", tmp_path / "page.html")
    assert "plain cosine" in result.stdout
    assert f"wrote {tmp_path / 'page.html'}" in result.stderr
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_tuned(data):
    told = json.loads(jcmspl("evaluate", "ESZSL", data, "--base-to-new", "--tune", "--json", "--quiet").stdout)
    assert told["model"] == "ClassSearchCV"


def test_the_method_of_a_file(data, tmp_path):
    jcmspl("fit", data, "--model", "ESZSL", "--set", "visual_penalty=10", "-o", tmp_path / "m.safetensors")
    of_file, of_name = (
        json.loads(jcmspl("evaluate", model, data, "--base-to-new", "--json", *options).stdout)
        for model, options in (
            (tmp_path / "m.safetensors", ()),
            ("ESZSL", ("--set", "visual_penalty=10")),
        )
    )
    assert of_file["rows"] == of_name["rows"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ESZSL", "--shots", "2"), "--shots: only available with --base-to-new"),
        (("ESZSL", "--base-to-new", "--adapt", "--space", "visual"), "--space, --adapt: not available"),
        (("ESZLS", "--base-to-new"), "ESZLS is neither a file nor a method"),
        (("ESZSL", "--base-to-new", "--model", "SAE"), "leave --model out"),
        (("ESZSL", "--base-to-new", "--base", "own"), "has no unseen classes"),
    ],
)
def test_mistakes(data, arguments, words):
    model, *options = arguments
    assert words in jcmspl("evaluate", model, data, *options, code=1).stderr


def test_shots_that_are_none(data):
    assert "numbers above 0 or all" in jcmspl("evaluate", "ESZSL", data, "--base-to-new", "--shots", "0", code=2).stderr
