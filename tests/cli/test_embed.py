"""From pictures and descriptions to a report, by the command line."""

import csv
import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest
from PIL import Image

from jcmspl.cli import main
from jcmspl.embed import images
from support.command import jcmspl_process
from support.encoders import write_config, write_pictures, write_text, write_tokenizer, write_vision
from support.processes import interruptible

COLOURS = {
    "black": (0, 0, 0),
    "red": (1, 0, 0),
    "green": (0, 1, 0),
    "blue": (0, 0, 1),
    "yellow": (1, 1, 0),
    "magenta": (1, 0, 1),
    "cyan": (0, 1, 1),
    "white": (1, 1, 1),
}
WORDS = (("dull", "fiery"), ("bare", "leafy"), ("warm", "watery"))  # of each channel, without it and with it


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """A folder with pictures of eight colours, their descriptions, and two encoders that know nothing of each other."""
    folder = tmp_path_factory.mktemp("colours")
    rng = np.random.default_rng(0)
    lines = ["class,text"]
    for name, channels in COLOURS.items():
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(10):
            pixels = np.clip(
                60 + 130 * np.array(channels) + rng.normal(0, 25, (6, 8, 3)) + rng.normal(0, 12, 3), 0, 255
            )
            Image.fromarray(pixels.astype(np.uint8)).save(folder / "pictures" / name / f"{number}.png")
        said = [pair[value] for pair, value in zip(WORDS, channels, strict=True)]
        lines += [f"{name},a {' '.join(said)} thing", f"{name},{' '.join(reversed(said))}"]
    (folder / "descriptions.csv").write_text("\n".join(lines) + "\n")
    write_config(folder)
    write_vision(folder / "vision.onnx")
    write_text(folder / "text.onnx")
    write_tokenizer(folder / "tokenizer.json", [word for line in lines for word in line.split(",")])
    return folder


@pytest.fixture
def here(colours, tmp_path, monkeypatch):
    """A copy of it to work in."""
    shutil.copytree(colours, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def run(capsys, command, code=0):
    """Run a command in this process, and return what it printed and said."""
    assert main(command.split()) == code, capsys.readouterr().err
    return capsys.readouterr()


def test_the_whole_way(here, capsys):
    shown = run(capsys, "embed pictures --model vision.onnx -o features.npz")
    assert shown.out == "wrote 80 samples x 6 features, 8 classes, to features.npz\n"
    assert shown.err == "vision.onnx: 4 x 4 pixels, shorter side 4, bicubic; image_embeds\n"
    shown = run(capsys, "embed --text descriptions.csv --model text.onnx -o classes.npz")
    assert shown.out == "wrote vectors of 8 classes, 6 values each, to classes.npz\n"
    assert shown.err == "text.onnx: mean of last_hidden_state\n"
    assert not list(here.glob("*.partial"))

    run(capsys, "fit features.npz --classes classes.npz --unseen 0.2 -o m.safetensors --quiet")
    data = json.loads(run(capsys, "info features.npz --classes classes.npz --unseen 0.2 --json").out)
    assert len(data["unseen_classes"]) == 2
    tested = "features.npz --classes classes.npz --unseen 0.2 -o report.html"
    out = run(capsys, f"evaluate m.safetensors {tested} --json --quiet").out
    assert json.loads(out)["results"][0]["standard"]["per_class"] >= 0.9  # of two colours never seen
    assert data["unseen_classes"][0] in (here / "report.html").read_text()

    candidates = ",".join(data["unseen_classes"])
    lines = run(capsys, f"predict m.safetensors features.npz --candidates {candidates} --exact-labels").out.splitlines()
    with np.load("features.npz") as arrays:
        labels, paths = arrays["labels"], arrays["paths"]
    assert all(path.startswith(label) for path, label in zip(paths, labels, strict=True))
    named = [row["label"] for row in csv.DictReader(lines)]
    unseen = [row for row, label in enumerate(labels) if label in data["unseen_classes"]]
    assert np.mean([named[row] == labels[row] for row in unseen]) >= 0.9


def test_with_less_typing(here, capsys):
    """In one folder, with these names, they are a data set."""
    os.mkdir("mine")
    run(capsys, "embed pictures --model vision.onnx -o mine/features.npz --quiet")
    run(capsys, "embed --text descriptions.csv --model text.onnx -o mine/classes.npz --quiet")
    run(capsys, "tune mine --model ESZSL --set visual_penalty=1,10 -o m.safetensors --quiet")
    assert "80" in run(capsys, "info mine").out


def test_unsorted_pictures(here, capsys):
    run(capsys, "embed pictures --model vision.onnx -o features.npz --quiet")
    run(capsys, "embed --text descriptions.csv --model text.onnx -o classes.npz --quiet")
    run(capsys, "fit features.npz --classes classes.npz -o m.safetensors --quiet")
    shown = run(capsys, "embed pictures/red --model vision.onnx -o new.npz")
    assert "without classes" in shown.out
    assert len(run(capsys, "predict m.safetensors new.npz --candidates all --quiet").out.splitlines()) == 11


def test_json_and_templates(here, capsys):
    shown = run(capsys, "embed pictures --model vision.onnx -o f.npz --pooling cls --quiet --json")
    data = json.loads(shown.out)
    assert data["took"] == "cls of tokens"
    assert (data["n_samples"], data["n_features"], data["n_classes"], data["damaged"]) == (80, 6, 8, {})
    one, two = ("--template {}", "--template {} --template thing{}")
    for options, name in ((one, "one.npz"), (two, "two.npz")):
        run(capsys, f"embed --text descriptions.csv --model text.onnx -o {name} --quiet {options}")
    with np.load("one.npz") as first, np.load("two.npz") as second:
        assert not np.allclose(first["class_vectors"], second["class_vectors"])


def test_damaged_pictures(here, capsys):
    (here / "pictures" / "red" / "<script>.png").write_text("x")
    shown = run(capsys, "embed pictures --model vision.onnx -o features.npz", code=1)
    assert "jcmspl embed: 1 of 81 pictures below pictures cannot be read (red/<script>.png: is empty" in shown.err
    assert (here / "features.npz.partial").exists()
    assert not (here / "features.npz").exists()
    shown = run(capsys, "embed pictures --model vision.onnx -o features.npz --skip-damaged")
    assert "note: red/<script>.png was left out: is empty, or not a picture" in shown.err
    assert "note: 80 of them were reused" in shown.err
    assert "wrote 80 samples" in shown.out
    assert sorted(path.name for path in here.glob("features*")) == ["features.npz"]


def test_labels_of_ones_own(here, capsys):
    (here / "labels.csv").write_text("path,label\nred/0.png,warm\nblue/1.png,cold\n")
    shown = run(capsys, "embed pictures --model vision.onnx -o features.npz --labels labels.csv")
    assert "wrote 2 samples x 6 features, 2 classes" in shown.out
    assert "note: 78 other files were left out: black/0.png" in shown.err
    with np.load("features.npz") as arrays:
        assert arrays["labels"].tolist() == ["warm", "cold"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("embed --model vision.onnx -o f.npz", "one of the two"),
        ("embed pictures --text d.csv --model vision.onnx -o f.npz", "one of the two"),
        ("embed pictures --model vision.onnx -o f.csv", "written as .npz, but the output is f.csv"),
        ("embed pictures --model vision.onnx -o no/f.npz", "does not exist"),
        ("embed pictures --model vision.onnx -o descriptions.csv", "written as .npz"),
        ("embed none --model vision.onnx -o f.npz", "none does not exist"),
        ("embed pictures --model none.onnx -o f.npz", "none.onnx does not exist"),
        ("embed pictures --model descriptions.csv -o f.npz", "descriptions.csv is not an ONNX model"),
        ("embed pictures --model vision.onnx --template {} -o f.npz", "--template is for descriptions"),
        ("embed --text descriptions.csv --model text.onnx --size 3 -o f.npz", "--size is for pictures"),
        ("embed --text descriptions.csv --model text.onnx --skip-damaged -o f.npz", "--skip-damaged is for pictures"),
        ("embed --text none.csv --model text.onnx -o f.npz", "none.csv does not exist"),
        ("embed pictures --model vision.onnx --size 5 -o f.npz", "vision.onnx: its pictures must have the height 4"),
        ("embed pictures --model vision.onnx --batch-size 0 -o f.npz", "batch_size must be from 1"),
    ],
)
def test_mistakes(here, capsys, command, sentence):
    before = sorted(here.rglob("*"))
    shown = run(capsys, command, code=1)
    assert sentence in shown.err
    assert shown.out == ""
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("option", ["--size 0", "--size 2x3x4", "--resize all", "--mean a,b", "--normalise clipp"])
def test_wrong_usage(capsys, option):
    with pytest.raises(SystemExit) as end:
        main(f"embed pictures --model m.onnx -o f.npz {option}".split())
    assert end.value.code == 2
    assert option.split()[0] in capsys.readouterr().err


def test_existing_output(here, capsys):
    (here / "f.npz").write_text("precious")
    assert "--force" in run(capsys, "embed pictures --model vision.onnx -o f.npz", code=1).err
    assert (here / "f.npz").read_text() == "precious"
    run(capsys, "embed pictures --model vision.onnx -o f.npz --force --quiet")
    assert len(np.load("f.npz")["features"]) == 80


@pytest.mark.parametrize(
    "command",
    [
        "fit pictures -o m.safetensors",
        "fit pictures --classes descriptions.csv -o m.safetensors",
        "tune pictures",
        "compare pictures",
        "convert pictures -o x.npz",
        "info pictures",
        "evaluate {model} pictures",
        "predict {model} pictures",
        "predict {model} pictures/red",
        "predict {model} pictures/red/0.png",
    ],
)
def test_pictures_in_place_of_features(here, capsys, model, command):
    """Commands that take features name the command that makes them."""
    shown = run(capsys, command.format(model=model), code=1)
    assert "holds pictures, but features are wanted: make them first" in shown.err
    assert "jcmspl embed" in shown.err


def test_features_without_classes(here, capsys):
    run(capsys, "embed pictures --model vision.onnx -o features.npz --quiet")
    assert "--classes FILE" in run(capsys, "tune features.npz", code=1).err
    assert "without class vectors (--classes)" in run(capsys, "fit features.npz -o m.safetensors").err


@pytest.mark.parametrize(
    ("missing", "extra", "command"),
    [
        ("onnxruntime", "jcmspl[embed]", "embed pictures --model vision.onnx -o f.npz"),
        ("PIL", "jcmspl[embed]", "embed pictures --model vision.onnx -o f.npz"),
        ("tokenizers", "jcmspl[embed]", "embed --text descriptions.csv --model text.onnx -o f.npz"),
    ],
)
def test_without_the_packages(here, capsys, monkeypatch, missing, extra, command):
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    assert extra in run(capsys, command, code=1).err


# The command in a process of its own, which waits in the midst of its work.
HALTED = """
import sys, time
from jcmspl.embed import resumable as kept
add = kept.KeptInFile.add
def then_wait(self, *arguments):
    add(self, *arguments)
    print("done", flush=True)
    time.sleep(60)
kept.KeptInFile.add = then_wait
from jcmspl.cli import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path, monkeypatch, capsys, sent):
    write_config(tmp_path)
    write_vision(tmp_path / "m.onnx")
    write_pictures(tmp_path / "in")
    command = ["embed", "in", "--model", "m.onnx", "-o", "f.npz", "--batch-size", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interruptible("-c", HALTED, *command, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "done\n"
        process.send_signal(sent)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == (130 if sent == signal.SIGINT else 143)
    if sent == signal.SIGINT:
        assert "interrupted; 2 of 6 pictures are done and kept in f.npz.partial: the same command continues" in messages
    assert not (tmp_path / "f.npz").exists()
    assert (tmp_path / "f.npz.partial").exists()
    monkeypatch.chdir(tmp_path)
    run(capsys, " ".join(command))
    with np.load("f.npz") as arrays:
        assert len(arrays["features"]) == 6
    assert not (tmp_path / "f.npz.partial").exists()


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("room", ["half of the first line", "four pictures and a half"])
def test_no_room(tmp_path, monkeypatch, capsys, room):
    """The file is named, and the same command continues when there is room."""
    import resource

    write_config(tmp_path)
    write_vision(tmp_path / "m.onnx")
    write_pictures(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    found = images("in", "m.onnx", keep="f.npz.partial")
    content = (tmp_path / "f.npz.partial").read_bytes()
    first_line = content.index(b"\n") + 1
    record = (len(content) - first_line) // 6
    most = first_line // 2 if room == "half of the first line" else first_line + 9 * record // 2
    (tmp_path / "f.npz.partial").unlink()

    command = ["embed", "in", "--model", "m.onnx", "-o", "f.npz", "--batch-size", "2", "--quiet"]
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
    result = jcmspl_process(*command, cwd=tmp_path, code=1, **limit)
    assert result.stderr == "jcmspl embed: f.npz.partial cannot be written: File too large\n"
    assert (tmp_path / "f.npz.partial").exists() == (room != "half of the first line")
    assert not (tmp_path / "f.npz").exists()
    shown = run(capsys, " ".join(command[:-1]))
    assert ("4 of them were reused" in shown.err) == (room != "half of the first line")
    with np.load("f.npz") as arrays:
        np.testing.assert_allclose(arrays["features"], found.features, rtol=1e-6)


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_first_line_that_was_cut(tmp_path, monkeypatch, capsys, part):
    """As by kill -9, or when the power fails: the same command begins anew."""
    write_config(tmp_path)
    write_vision(tmp_path / "m.onnx")
    write_pictures(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    images("in", "m.onnx", keep="f.npz.partial")
    content = (tmp_path / "f.npz.partial").read_bytes()
    (tmp_path / "f.npz.partial").write_bytes(content[: int(part * content.index(b"\n"))])
    assert "wrote 6 samples" in run(capsys, "embed in --model m.onnx -o f.npz").out
