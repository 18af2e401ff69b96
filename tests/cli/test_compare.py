"""The command that compares."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from jcmspl import cli
from jcmspl.datasets import make_zsl, save_npz
from support.command import jcmspl


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "small.npz"
    save_npz(make_zsl(200, 8, 6, 8, 3, noise=0.5, random_state=0), path)
    return str(path)


def run(capsys, *arguments):
    assert cli.main(["compare", *map(str, arguments), "--quiet"]) == 0
    return capsys.readouterr().out


def methods_in(text):
    lines = text.split("\n\n")[1].splitlines()[3:]
    return {line.split()[0] for line in lines}


def test_names_with_commas_and_without(data, capsys):
    text = run(capsys, data, "--methods", "RPL,FPL", "RidgeVS", "--repeats", "0")
    assert methods_in(text) == {"RPL", "FPL", "RidgeVS"}


def test_a_split_without_unseen_classes_is_not_replaced_by_another(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat(list("abcdefgh"), 5)
    np.save(tmp_path / "X.npy", rng.normal(size=(40, 4)))
    (tmp_path / "y.txt").write_text("\n".join(y))
    (tmp_path / "classes.json").write_text(json.dumps({name: rng.normal(size=3).tolist() for name in "abcdefgh"}))
    (tmp_path / "split.txt").write_text("\n".join("test_seen" if i % 5 == 0 else "train" for i in range(40)))
    own = ["compare", tmp_path / "X.npy", "--labels", tmp_path / "y.txt", "--classes", tmp_path / "classes.json"]
    own += ["--methods", "RidgeVS", "--untuned", "--repeats", "0"]
    for options in (["--split", tmp_path / "split.txt"], ["--unseen", "0"]):
        assert cli.main([*map(str, [*own, *options])]) == 1
        assert "no samples of unseen classes" in capsys.readouterr().err
    assert cli.main([*map(str, own)]) == 0
    assert "20% of the classes are held out" in capsys.readouterr().err


def test_groups(data, capsys):
    text = run(capsys, data, "--methods", "linear", "--repeats", "0", "--untuned")
    assert {"JCMSPL", "IPL", "RPL", "TextPrototypes"} <= methods_in(text)


def test_what_there_is_not():
    told = jcmspl("compare", "digits", "--methods", "RPL,SEA", code=2).stderr
    assert "invalid choice: 'RPL,SEA'" in told
    assert "classical" in told


@pytest.mark.parametrize("form", ["html", "csv", "md", "tex", "json", "txt"])
def test_files(form, data, tmp_path, capsys):
    out = tmp_path / f"out.{form}"
    options = ("--methods", "FPL,RPL", "--repeats", "2", "--time", "--untuned", "-o", out)
    assert run(capsys, data, *options) == ""  # quiet: the file has it
    assert "corrected resampled t-test" in run(capsys, data, *options, "--force", "--json")
    assert "RPL" in out.read_text()
    if form == "tex":
        first, *rows = [line for line in out.read_text().splitlines() if line.endswith(r"\\")]
        assert "fit, s" in first
        assert {line.count(" & ") for line in rows[:2]} == {first.count(" & ")}
    if form == "csv":
        with open(out) as file:
            assert all(float(row["fit_seconds"]) > 0 for row in csv.DictReader(file))


def test_a_page_needs_matplotlib(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    assert cli.main(["compare", "no-such-data", "-o", str(tmp_path / "page.html")]) == 1
    assert "pip install 'jcmspl[plots]'" in capsys.readouterr().err


INTERRUPTED = """
import os, signal, sys
from jcmspl import cli
from jcmspl.methods import RPL
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored in the background
original = RPL.fit
def fit(self, *samples, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return original(self, *samples, **options)
RPL.fit = fit
sys.exit(cli.main(sys.argv[1:]))
"""


def test_ctrl_c_writes_what_is_done(data, tmp_path):
    out = tmp_path / "out.md"
    options = ["--methods", "FPL,RPL", "--untuned", "--repeats", "0", "-o", str(out)]
    command = [sys.executable, "-c", INTERRUPTED, "compare", data, *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 130, result.stderr
    assert methods_in(result.stdout) == {"FPL"}
    assert "Interrupted: RPL" in out.read_text()
    assert "jcmspl: interrupted; the methods that were done are compared" in result.stderr
