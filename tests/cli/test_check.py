"""The command that checks a data set."""

import dataclasses
import json

import numpy as np
import pytest

from jcmspl import cli
from jcmspl.datasets import make_zsl, save_npz


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data set with a wrong label, and the row of it."""
    data = make_zsl(300, 32, 12, 12, 3, noise=0.3, random_state=2)
    y, row = np.array(data.y), data.rows("trainval")[4]
    y[row] = next(label for label in data.seen if label != y[row])
    path = tmp_path_factory.mktemp("data") / "wrong.npz"
    save_npz(dataclasses.replace(data, y=y), path)
    return path, row


def test_the_wrong_label_is_the_first_of_the_table(data, capsys):
    path, row = data
    assert cli.main(["check", str(path), "--quiet", "--rows", "1"]) == 0
    title, _, _, _, first = capsys.readouterr().out.splitlines()[:5]
    assert title.startswith("Labels: ")
    assert first.split()[0] == str(row)


def test_json_is_printed_and_written(data, capsys, tmp_path):
    path, row = data
    assert cli.main(["check", str(path), "--quiet", "--json", "-o", str(tmp_path / "found.json")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["labels"][0]["index"] == row
    assert json.loads((tmp_path / "found.json").read_text()) == printed


def test_another_method_judges(data, capsys):
    path, row = data
    assert cli.main(["check", str(path), "--quiet", "--json", "--model", "RPL", "--set", "alpha=10"]) == 0
    assert row in [one["index"] for one in json.loads(capsys.readouterr().out)["labels"]]


@pytest.mark.parametrize(
    ("options", "message"), [(["-o", "issues.xlsx"], "must end in .json or .txt"), (["--rows", "0"], "at least 1")]
)
def test_mistakes(data, capsys, options, message):
    assert cli.main(["check", str(data[0]), *options]) == 1
    assert message in capsys.readouterr().err
