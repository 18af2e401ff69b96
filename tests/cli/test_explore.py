"""The command that makes a page to try a model in."""

import json
from pathlib import Path

import numpy as np

from jcmspl.cli import main
from jcmspl.datasets import make_zsl


def run(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def test_the_page(model, tmp_path, capsys):
    out = tmp_path / "explore.html"
    told = run(capsys, "explore", model, "digits", "-o", out, "--samples", 25)
    assert told.out.splitlines()[0] == "JCMSPL on digits"
    assert "25 of 791 samples" in told.out
    assert told.err == f"wrote {out}\n"
    assert "Draw a digit" in out.read_text(encoding="utf-8")
    again = run(capsys, "explore", model, "digits", "-o", out, code=1).err
    assert "exists already" in again
    found = run(capsys, "explore", model, "digits", "-o", out, "--force", "--json", "--quiet", "--candidates", "unseen")
    data = {"title": "JCMSPL on digits", "samples": 500, "classes": 3, "made_up_classes": True}
    assert (json.loads(found.out), found.err) == (data, "")


def test_data_of_ones_own(model, own, tmp_path, capsys):
    """Other samples than images have no field to draw in; --seed draws others."""
    out = tmp_path / "own.html"
    run(capsys, "explore", model, own, "-o", out, "--seed", 3, "--adapt")
    text = out.read_text(encoding="utf-8")
    assert "Draw a digit" not in text
    assert "adapted to the unlabelled test samples" in text


def test_mistakes(model, tmp_path, capsys):
    told = run(capsys, "explore", model, "digits", "-o", tmp_path / "page.pdf", code=1).err
    assert "written as .html" in told
    assert not list(tmp_path.iterdir())
    run(capsys, "fit", "digits", "--model", "ConSE", "-o", tmp_path / "conse.safetensors", "--quiet")
    told = run(capsys, "explore", tmp_path / "conse.safetensors", "digits", "-o", tmp_path / "page.html", code=1).err
    assert "those of ConSE are not: explore a model of JCMSPL" in told
    assert not (tmp_path / "page.html").exists()
    kernel = tmp_path / "kernel.safetensors"
    run(capsys, "fit", "digits", "--set", "class_kernel=rbf", "-o", kernel, "--quiet")
    assert "Without made-up classes" in run(capsys, "explore", kernel, "digits", "-o", tmp_path / "page.html").out


def test_the_page_of_the_demo(tmp_path, capsys):
    told = run(capsys, "demo", "-o", tmp_path / "page.txt", code=1).err
    assert "written as .html" in told
    out = tmp_path / "digits.html"
    told = run(capsys, "demo", "-o", out, "--quiet")
    page = out.read_text(encoding="utf-8")
    assert page.index("Draw a 2, a 4 or a 6") < page.index('id="pad"') < page.index('class="steps"')
    assert page.count('class="big"') == page.count('name="layer"') == 3
    assert "-o digits.html" not in told.out


def test_the_samples_that_the_fit_held_out(tmp_path, monkeypatch, capsys):
    """As evaluate does: samples that the model was trained on would look better than new ones."""
    monkeypatch.chdir(tmp_path)
    data = make_zsl(480, 12, 8, 8, 4, random_state=0)
    np.save("X.npy", data.X)
    Path("y.txt").write_text("".join(f"{label}\n" for label in data.y))
    rows = zip(data.classes, data.classes.vectors.tolist(), strict=True)
    Path("c.csv").write_text("".join(f"{label},{','.join(map(str, vector))}\n" for label, vector in rows))
    files = ["X.npy", "--labels", "y.txt", "--classes", "c.csv"]
    run(capsys, "fit", *files, "--unseen", "0.25", "--hold-out", "0.2", "--seed", "3", "-o", "m", "--quiet")
    told = run(capsys, "explore", "m", *files, "-o", "page.html").out
    tested = json.loads(run(capsys, "evaluate", "m", *files, "--json", "--quiet").out)["dataset"]["samples"]
    assert f"All {tested['test_seen'] + tested['test_unseen']} samples" in told
    assert "training samples" not in told
    split = run(capsys, "explore", "m", *files, "--unseen", "0.25", "-o", "split.html").out
    assert "All 480 samples" in split
    assert "of them training samples" in split
