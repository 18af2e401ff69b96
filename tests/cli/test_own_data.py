"""Files as people store embeddings, on the command line; mistakes in their names and order."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from safetensors.numpy import save_file

from jcmspl import load
from jcmspl.cli import main
from jcmspl.datasets import make_zsl
from support.command import jcmspl

DATA = make_zsl(120, 6, 4, 5, 2)
X = np.asarray(DATA.X, dtype=np.float32)
Y = DATA.y.tolist()
CLASSES = list(DATA.classes)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vectors = dict(zip(CLASSES, DATA.classes.vectors.tolist(), strict=True))
    (tmp_path / "classes.json").write_text(json.dumps(vectors))
    (tmp_path / "names.txt").write_text("\n".join(CLASSES))
    table = pa.table(
        {"id": [f"{i}.jpg" for i in range(len(X))], "embedding": X.tolist(), "text": ["x"] * len(X), "label": Y}
    )
    parquet.write_table(table, "a.parquet")
    feather.write_feather(table, "a.feather")
    rows = [{"id": f"{i}.jpg", "embedding": x.tolist(), "label": y} for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    numbers = np.array([CLASSES.index(label) for label in Y])
    save_file({"emb": X, "label": numbers}, "a.safetensors")
    np.savez("a.npz", emb=X, other=X[:, :2], target=numbers)
    return tmp_path


FORMS = [
    "a.parquet",
    "a.feather",
    "a.jsonl",
    "a.jsonl --vector embedding",
    "a.safetensors --label-names names.txt",
    "a.npz --array emb --labels target --label-names names.txt",
]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_model_from_every_form(form, here):
    fit = ["--classes", "classes.json", "--model", "ESZSL", "--quiet", "-o"]
    jcmspl("fit", *form.split(), *fit, "m.safetensors")
    assert load("m.safetensors").classes_.tolist() == sorted(set(Y))
    options = [part for part in form.split() if part not in ("--labels", "target", "--label-names", "names.txt")]
    named = jcmspl("predict", "m.safetensors", *options, "--seen-penalty", "0").stdout.splitlines()
    assert [line.rsplit(",", 1)[1] for line in named[1:]] == load("m.safetensors").predict(X, seen_penalty=0).tolist()


def test_without_class_vectors(here):
    shown = jcmspl("fit", "a.parquet", "-o", "m.safetensors")
    assert "note: without class vectors (--classes)" in shown.stderr
    assert load("m.safetensors").unseen_classes_.size == 0
    told = jcmspl("fit", "a.parquet", "--unseen", "0.2", "-o", "n.safetensors", code=1).stderr
    assert "unseen classes need class vectors" in told
    assert "--classes FILE" in jcmspl("tune", "a.parquet", code=1).stderr


def test_evaluate_takes_the_classes_of_the_model(here):
    jcmspl("fit", "a.parquet", "--classes", "classes.json", "--unseen", "0.3", "-o", "m.safetensors")
    own = jcmspl("evaluate", "m.safetensors", "a.jsonl", "--json").stdout
    given = jcmspl("evaluate", "m.safetensors", "a.jsonl", "--classes", "classes.json", "--json").stdout
    assert json.loads(own)["results"] == json.loads(given)["results"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("fit digit -o m.safetensors", "did you mean digits?"),
        ("fit a.parqet --classes classes.json -o m.safetensors", "did you mean a.parquet?"),
        ("fit a.parquet --classes clases.json -o m.safetensors", "did you mean classes.json?"),
        ("predict old.safetensors a.jsonl --array emb", "--array is not available for standard input and JSON lines"),
        ("predict old.safetensors a.feather --array emb", "no named arrays"),
        ("predict old.safetensors a.npz", "name the one of features with array (--array)"),
        ("predict a.parquet old.safetensors", "give the model first, then the data"),
        ("evaluate a.parquet old.safetensors", "give the model first, then the data"),
        ("fit old.safetensors --classes classes.json -o m.safetensors", "are the files swapped?"),
        ("fit a.safetensors --classes classes.json -o m.safetensors", "--label-names"),
    ],
)
def test_mistakes(command, told, here):
    jcmspl("fit", "a.parquet", "--classes", "classes.json", "--model", "ESZSL", "-o", "old.safetensors")
    assert told in jcmspl(*command.split(), code=1).stderr


def test_info_of_a_model(here):
    jcmspl("fit", "a.parquet", "--classes", "classes.json", "-o", "m.safetensors")
    about = json.loads(jcmspl("info", "m.safetensors", "--json").stdout)
    assert about["sha256"] == hashlib.sha256((here / "m.safetensors").read_bytes()).hexdigest()
    assert about["training_samples"] == len(X)
    counts = [Y.count(label) for label in set(Y)]
    assert about["samples_per_class"] == f"{min(counts)} to {max(counts)}"
    assert about["written"].endswith("UTC")
    assert about["jcmspl_version"]
    jcmspl("fit", "a.jsonl", "--classes", "classes.json", "--model", "ESZSL", "-o", "n.safetensors")
    other = json.loads(jcmspl("info", "n.safetensors", "--json").stdout)
    assert other["training_digest"] == about["training_digest"]  # the same samples, another model
    assert other["sha256"] != about["sha256"]


@pytest.mark.parametrize(
    "command",
    [
        "fit a.parquet --classes classes.json -o out.safetensors",
        "tune a.parquet --classes classes.json --model ESZSL --set visual_penalty=1,10 -o out.safetensors",
        "convert a.parquet --classes classes.json -o out.npz",
    ],
)
def test_quiet_is_quiet(command, here, capsys):
    assert main([*command.split(), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*command.split(), "--quiet", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_info_of_samples_and_labels(here, capsys):
    assert main(["info", "a.parquet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_samples"], found["n_features"], found["ids"]) == (len(X), X.shape[1], "id")
    assert sorted(found["seen_classes"]) == sorted(set(Y))
    assert "n_attributes" not in found
