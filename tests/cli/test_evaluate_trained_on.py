"""`jcmspl evaluate` does not take training samples for a test: it tests with what the fit held out, or refuses."""

import json

import numpy as np
import pytest

from jcmspl import load
from jcmspl.cli import main
from jcmspl.datasets import load_arrays, make_zsl

OWN = ["X.npy", "--labels", "y.txt", "--classes", "c.csv"]
HELD_OUT = ["--unseen", "0.25", "--hold-out", "0.2", "--seed", "3"]
NOTE = "so the test uses the samples that the model was not trained on"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Own data in files."""
    monkeypatch.chdir(tmp_path)
    data = make_zsl(480, 12, 8, 8, 4, random_state=0)
    write(tmp_path, np.asarray(data.X, dtype=np.float32), data.y)
    vectors = [
        f"{label}," + ",".join(map(str, vector.tolist()))
        for label, vector in zip(data.classes, data.classes.vectors, strict=True)
    ]
    (tmp_path / "c.csv").write_text("\n".join(vectors) + "\n")
    return data


def write(folder, X, y, prefix=""):
    np.save(folder / f"{prefix}X.npy", X)
    (folder / f"{prefix}y.txt").write_text("".join(f"{label}\n" for label in y))


def run(capsys, *arguments, code=0):
    """Run a command and return what it printed, and its messages."""
    found = main(list(arguments))
    printed = capsys.readouterr()
    assert found == code, printed.err
    return printed.out, printed.err


@pytest.mark.filterwarnings("always::jcmspl.exceptions.TrainedOnWarning")
def test_training_samples_are_refused(own, capsys):
    """A fit to all samples of seen classes is not tested with a fifth of them."""
    run(capsys, "fit", *OWN, "--unseen", "0.25", "--calibrate", "-o", "m.safetensors")
    test = ["evaluate", "m.safetensors", *OWN, "--unseen", "0.25", "--hold-out", "0.2"]
    out, err = run(capsys, *test, code=1)
    assert out == ""
    n = len(load_arrays("X.npy", "y.txt", class_vectors="c.csv", unseen=0.25).held_out(0.2).rows("test_seen"))
    assert f"{n} of {n} test samples of seen classes were in the training data" in err
    out, err = run(capsys, *test, "--allow-trained")
    sentence = f"{n} of {n} test samples of seen classes were in the training data"
    assert f"Warning: {sentence}." in out
    assert sentence in err
    out, err = run(capsys, *test, "--allow-trained", "--json", "--quiet")
    assert json.loads(out)["trained_on"] == {"test_seen": n, "test_unseen": 0, "is_exact": True}
    assert json.loads(run(capsys, *test[:-2], "--json")[0])["dataset"]["samples"]["test_seen"] == 0


@pytest.mark.parametrize(
    "command", [["fit"], ["tune", "--model", "RPL", "--set", "alpha=0.1,1", "--folds", "2"]], ids=["fit", "tune"]
)
def test_the_split_of_the_fit_is_used_again(own, capsys, command):
    run(capsys, *command, *OWN, *HELD_OUT, "-o", "m.safetensors")
    held_out = load_arrays("X.npy", "y.txt", class_vectors="c.csv", unseen=0.25, random_state=3).held_out(0.2, 3)
    one, err = run(capsys, "evaluate", "m.safetensors", *OWN, "--json")
    assert NOTE in err
    other, err = run(capsys, "evaluate", "m.safetensors", *OWN, *HELD_OUT, "--json")
    assert "note" not in err
    one, other = json.loads(one), json.loads(other)
    assert one["results"] == other["results"]
    assert one["trained_on"] == {"test_seen": 0, "test_unseen": 0, "is_exact": True}
    parts = ("trainval", "test_seen", "test_unseen")
    assert one["dataset"]["samples"] == {part: len(held_out.rows(part)) for part in parts}


@pytest.mark.filterwarnings("always::jcmspl.exceptions.TrainedOnWarning")
def test_repeated_samples_are_held_out_again(own, tmp_path, capsys):
    """Those that were held out are known by their numbers, though each is also in the training data."""
    X = np.repeat(np.load("X.npy")[:4], 120, axis=0)
    write(tmp_path, X, own.y)
    run(capsys, "fit", *OWN, *HELD_OUT, "--model", "RPL", "-o", "m.safetensors")
    out, _ = run(capsys, "evaluate", "m.safetensors", *OWN, "--allow-trained", "--json")
    found = json.loads(out)
    assert found["dataset"]["samples"]["test_seen"] == found["trained_on"]["test_seen"] > 0


def test_another_split_is_not_taken_for_a_test(own, capsys):
    run(capsys, "fit", *OWN, *HELD_OUT, "-o", "m.safetensors")
    _, err = run(capsys, "evaluate", "m.safetensors", *OWN, "--hold-out", "0.2", "--seed", "4", code=1)
    assert "test samples of seen classes were in the training data" in err
    _, err = run(capsys, "evaluate", "m.safetensors", *OWN, "--unseen", "0.25", "--seed", "4", code=1)
    assert "it would be tested on what it was trained on" in err


def test_a_split_in_a_file(own, tmp_path, capsys):
    dataset = load_arrays("X.npy", "y.txt", class_vectors="c.csv", unseen=0.25, test_seen=0.3)
    names = np.full(len(own.y), "", dtype=object)
    for part, rows in dataset.parts.items():
        names[rows] = part
    (tmp_path / "split.txt").write_text("".join(f"{name}\n" for name in names))
    run(capsys, "fit", *OWN, "--split", "split.txt", "-o", "m.safetensors")
    (one, _), (other, _) = (
        run(capsys, "evaluate", "m.safetensors", *OWN, *more, "--json") for more in ([], ["--split", "split.txt"])
    )
    assert json.loads(one)["results"] == json.loads(other)["results"]


def test_new_samples_are_all_tested(own, tmp_path, capsys):
    run(capsys, "fit", *OWN, *HELD_OUT, "-o", "m.safetensors")
    seen = np.isin(own.y, load("m.safetensors").classes_)
    write(tmp_path, np.load("X.npy")[::-1] + 1, own.y[::-1], "new")
    out, err = run(
        capsys, "evaluate", "m.safetensors", "newX.npy", "--labels", "newy.txt", "--classes", "c.csv", "--json"
    )
    found = json.loads(out)["dataset"]["samples"]
    assert (found["test_seen"], found["test_unseen"]) == (seen.sum(), (~seen).sum())
    assert NOTE in err


def test_a_fit_to_all_classes_cannot_be_tested(own, capsys):
    run(capsys, "fit", *OWN, "-o", "m.safetensors")
    _, err = run(capsys, "evaluate", "m.safetensors", *OWN, code=1)
    assert "data set X has no samples to test with" in err
    assert "hold some out of the fit" in err


@pytest.mark.filterwarnings("always:.*classes that the model does not know")
def test_a_plain_classifier_is_tested_among_its_classes(own, tmp_path, capsys):
    data = ["X.npy", "--labels", "y.txt"]
    run(capsys, "fit", *data, "--hold-out", "0.2", "-o", "m.safetensors")
    out, err = run(capsys, "evaluate", "m.safetensors", *data, "--json")
    found = json.loads(out)
    assert NOTE in err
    assert (found["dataset"]["samples"]["test_unseen"], found["dataset"]["n_unseen_classes"]) == (0, 0)
    part = load_arrays("X.npy", "y.txt", class_vectors=None).held_out(0.2).part("test_seen")
    assert found["results"][0]["standard"]["per_class"] == pytest.approx(load("m.safetensors").score(*part))
    run(capsys, "evaluate", "m.safetensors", *data, "-o", "r.html", "--quiet")
    write(tmp_path, np.load("X.npy")[:5], ["yeti"] * 5, "strange")
    _, err = run(capsys, "evaluate", "m.safetensors", "strangeX.npy", "--labels", "strangey.txt", code=1)
    assert "5 samples of 1 classes that the model does not know are left out of the test: 'yeti'" in err
    assert "does not know their classes" in err


def test_info_tells_how_many_samples_are_known(own, capsys):
    run(capsys, "fit", *OWN, *HELD_OUT, "-o", "m.safetensors")
    n = len(load("m.safetensors").training_digest_)
    assert (
        json.loads(run(capsys, "info", "m.safetensors", "--json")[0])["training_samples_known"] == f"{n} different ones"
    )
