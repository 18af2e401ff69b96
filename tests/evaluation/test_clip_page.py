"""The page for users of CLIP vectors: its examples run, on real vectors, and say what it says."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from jcmspl.datasets import load_dataset
from support.command import jcmspl

PAGE = Path(__file__).parents[2] / "docs" / "clip.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(data_folder, tmp_path_factory):
    """The files that the page speaks of, made of clip_cars: half of the classes have labelled pictures."""
    if not PAGE.exists() or not (data_folder / "clip_cars.npz").exists():
        pytest.skip("no docs/clip.md or no clip_cars.npz")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    cars, folder = load_dataset(data_folder / "clip_cars.npz"), tmp_path_factory.mktemp("clip")
    X, y = cars.part("train")
    rows = np.isin(y, list(cars.classes)[:98])
    pandas.DataFrame({"vector": list(X[rows]), "label": y[rows]}).to_parquet(folder / "labelled.parquet")
    np.savez(folder / "labelled.npz", features=X[rows], labels=y[rows])
    X_new, y_new = cars.part("test_seen")
    pandas.DataFrame({"vector": list(X_new)}).to_parquet(folder / "new.parquet")
    np.savez(folder / "new.npz", features=X_new)
    np.savez(folder / "classes.npz", class_names=cars.classes.labels, class_vectors=cars.classes.vectors)
    np.save(folder / "truth.npy", y_new)
    return folder


def test_python(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {}
    first, cosine, measured = blocks("python")
    exec(first, names)
    (said,) = re.findall(r"print\(model.alignment_\)  # (.*)", first)
    assert capsys.readouterr().out.strip() == said
    truth = np.load("truth.npy")
    with_samples = np.mean(names["names"] == truth)
    exec(cosine, names)
    assert 0.5 < np.mean(names["names"] == truth) < with_samples
    exec(measured, names)
    assert Path("base-to-new.html").exists()
    assert names["found"].row(4).harmonic_mean > names["found"].row(0).harmonic_mean


def test_shell(folder):
    """All but the encoder, which no test has."""
    (folder / "model.safetensors").unlink(missing_ok=True)  # of the test above
    ran = 0
    for line in (line for block in blocks("sh") for line in block.splitlines()):
        command = shlex.split(line, comments=True)
        if command[:1] == ["jcmspl"] and command[1] != "embed":
            jcmspl(*command[1:], cwd=folder)
            ran += 1
    assert ran == 3
    assert (folder / "named.csv").read_text().count("\n") == 1636


def test_the_table_is_what_its_command_says(data_folder):
    """The rows of 0 and 16 shots, where nothing is drawn."""
    path = data_folder / "clip_cars.npz"
    if not PAGE.exists() or not path.exists():
        pytest.skip("no docs/clip.md or no clip_cars.npz")
    told = json.loads(jcmspl("evaluate", "JCMSPL", path, "--base-to-new", "--shots", "16", "--json").stdout)["rows"]
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    for shots, row in (("0", told[0]), ("16", told[1])):
        figures = row["draws"][0]
        expected = [100 * figures[name] for name in ("base", "new", "harmonic_mean")]
        assert [float(cell) for cell in rows[shots].split(" | ")[:3]] == pytest.approx(expected, abs=0.15)
