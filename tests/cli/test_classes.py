"""`jcmspl classes`: classes of a model that are listed, added and removed."""

import json

import numpy as np
import pytest

from jcmspl import ClassTable, load
from jcmspl.cli import main
from jcmspl.datasets import make_zsl
from jcmspl.methods import ESZSL
from support.command import jcmspl

NEW = np.linspace(0.1, 0.9, 4)
SAMPLES = np.random.default_rng(0).normal(size=(3, 6))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model of numbered classes, a file of a new class, and samples of that."""
    monkeypatch.chdir(tmp_path)
    data = make_zsl(60, 6, 4, 4, 2)
    X, numbers = data.part("trainval")
    labels = {name: number for number, name in enumerate(data.classes)}
    y = [labels[name] for name in numbers]
    vectors = ClassTable(range(6), data.classes.vectors, ["a", "b", "c", "d"])
    ESZSL().fit(X, y, class_vectors=vectors).save("m.safetensors", statistics=True)
    (tmp_path / "new.json").write_text(json.dumps({"okapi": NEW.tolist()}))
    lines = [json.dumps({"v": row.tolist(), "label": "okapi"}) for row in SAMPLES]
    (tmp_path / "few.jsonl").write_text("\n".join(lines))
    return tmp_path


def listed(path):
    classes = json.loads(jcmspl("classes", path, "--json").stdout)["classes"]
    return {one["class"]: (one["samples"], one["trained"]) for one in classes}


def test_a_class_comes_and_goes(files):
    before = listed("m.safetensors")
    shown = jcmspl("classes", "m.safetensors", "--add", "new.json", "--samples", "few.jsonl", "-o", "more.safetensors")
    assert "wrote more.safetensors with 7 classes" in shown.stdout
    assert listed("more.safetensors") == {**before, "okapi": (3, False)}
    by_hand = load("m.safetensors").add_classes({"okapi": NEW}, SAMPLES, ["okapi"] * 3)
    model = load("more.safetensors")
    np.testing.assert_array_equal(model.decision_function(SAMPLES), by_hand.decision_function(SAMPLES))
    assert model.state.collected is not None  # the statistics are kept
    jcmspl("classes", "more.safetensors", "--remove", "okapi", "--force")
    assert listed("more.safetensors") == before


def test_a_class_may_be_replaced(files):
    unseen = str(load("m.safetensors").unseen_classes_[0])
    (files / "other.json").write_text(json.dumps({unseen: NEW.tolist()}))
    told = jcmspl("classes", "m.safetensors", "--add", "other.json", "--force", code=1).stderr
    assert f"knows {unseen} already" in told
    jcmspl("classes", "m.safetensors", "--remove", unseen, "--add", "other.json", "--force")
    np.testing.assert_array_equal(load("m.safetensors").class_table_[int(unseen)], NEW)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--add new.json", "replace it with --force"),
        ("--remove okapo --force", "has no class 'okapo'"),
        ("--remove 0 --force", "was trained on 0"),
        ("--add new.jsn --force", "did you mean new.json?"),
        ("--samples few.jsonl --force", "no class vectors for 1 of the 1 classes"),
        ("--labels few.jsonl", "are for --samples FILE"),
        ("-o n.safetensors", "nothing to change"),
        ("--add m.safetensors --force", "are the files swapped?"),
    ],
)
def test_mistakes(options, told, files):
    before = (files / "m.safetensors").read_bytes()
    assert told in jcmspl("classes", "m.safetensors", *options.split(), code=1).stderr
    assert (files / "m.safetensors").read_bytes() == before


def test_quiet(files, capsys):
    assert main(["classes", "m.safetensors", "--add", "new.json", "-o", "q.safetensors", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
