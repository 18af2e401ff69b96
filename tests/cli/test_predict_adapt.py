"""--adapt of predict and evaluate."""

import json

import numpy as np
import pytest

from jcmspl import load
from jcmspl.datasets import load_digits
from support.command import jcmspl


def test_predict_adapts_to_the_samples_that_are_named(model, tmp_path):
    options = ("--part", "test_unseen", "--candidates", "unseen", "--set", "space=visual")
    result = jcmspl("predict", model, "digits", *options, "--adapt", "--json")
    named = [json.loads(line)["labels"][0] for line in result.stdout.splitlines()]
    X, _ = load_digits().part("test_unseen")
    expected = load(model).set_params(space="visual").adapt(X, candidates="unseen")
    assert named == expected.predict(X, candidates="unseen").tolist()
    assert result.stderr.strip() == str(expected.adapted_)
    assert not jcmspl("predict", model, "digits", *options, "--adapt", "--quiet").stderr


def test_predict_tells_of_classes_that_do_not_occur(model, tmp_path):
    digits = load_digits()
    np.save(tmp_path / "few.npy", digits.part("test_unseen")[0][:2])
    result = jcmspl(
        "predict", model, tmp_path / "few.npy", "--candidates", "unseen", "--set", "space=visual", "--adapt"
    )
    assert "note: the model was adapted to 2 samples among 3 candidates" in result.stderr


def test_evaluate(model):
    found = json.loads(jcmspl("evaluate", model, "digits", "--adapt", "--json").stdout)["results"]
    assert [result.get("transductive", False) for result in found] == [False, False, False, True]
    assert "transductive" in jcmspl("evaluate", model, "digits", "--adapt").stdout


@pytest.mark.parametrize("command", [("predict", "--part", "test_unseen"), ("evaluate",)])
def test_where_it_cannot_be(model, command):
    name, *options = command
    message = jcmspl(name, model, "digits", *options, "--adapt", "--set", "metric=euclidean", code=1).stderr
    assert "by cosine in the visual space" in message
    assert "--set metric=cosine" in message
