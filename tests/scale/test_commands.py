"""Commands with --dask: the files that they write are those that they write without it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl import ClassSearchCV, evaluate, load
from jcmspl.datasets import load_digits
from jcmspl.methods import RidgeVS
from support.command import jcmspl_process as jcmspl
from support.processes import interruptible

pytest.importorskip("distributed", reason="dask is not installed: pip install 'jcmspl[dask]'")


@pytest.fixture(scope="module")
def data(own):
    files = {"--labels": "labels.txt", "--classes": "classes.csv", "--split": "split.csv"}
    return [own / "features.npy", *(part for option, name in files.items() for part in (option, own / name))]


@pytest.fixture(scope="module")
def scheduler(client):
    return client.scheduler.address


def test_fit_with_a_process_for_each_core(model, data, tmp_path):
    jcmspl("fit", *data, "-o", tmp_path / "there.safetensors", "--calibrate", "--dask", timeout=600)
    here, there = load(model), load(tmp_path / "there.safetensors")
    assert_allclose(there.visual_projection_, here.visual_projection_, atol=1e-6)
    assert there.seen_penalty_ == pytest.approx(here.seen_penalty_, abs=1e-6)


def test_predict(model, own, scheduler, tmp_path):
    options = ["--candidates", "unseen", "--exact-labels", "-o", tmp_path / "there.csv"]
    jcmspl("predict", model, own / "features.npy", *options, "--dask", scheduler, timeout=600)
    here = load(model).predict(np.load(own / "features.npy"), candidates="unseen")
    lines = [f"{row},{label}" for row, label in enumerate(here)]
    assert (tmp_path / "there.csv").read_text().splitlines() == ["row,label", *lines]


def test_predict_into_a_folder(model, own, scheduler, tmp_path):
    features = np.load(own / "features.npy")
    (tmp_path / "rows").mkdir()
    for number, piece in enumerate(np.array_split(features, 3)):
        np.save(tmp_path / "rows" / f"{number}.npy", piece)
    jcmspl("predict", model, tmp_path / "rows", "-o", f"{tmp_path}/there/", "--dask", scheduler, timeout=600)
    jcmspl("predict", model, tmp_path / "rows", "-o", f"{tmp_path}/here/", timeout=600)
    there, here = ({file.name: file.read_text() for file in (tmp_path / name).iterdir()} for name in ("there", "here"))
    assert there == here
    assert len(here) >= 3


def test_evaluate(model, data, scheduler):
    found = jcmspl("evaluate", model, *data, "--space", "visual", "--json", "--dask", scheduler, timeout=600)
    here = json.loads(evaluate(load(model), load_digits(), spaces=["visual"], progress=False).to_json())
    (one,), (other,) = json.loads(found.stdout)["results"], here["results"]
    assert one["standard"] == other["standard"]
    assert one["generalized"]["ausuc"] == pytest.approx(other["generalized"]["ausuc"], abs=1e-3)  # of float32


def test_tune(data, scheduler):
    found = jcmspl("tune", *data, "--model", "RidgeVS", "--folds", "2", "--json", "--dask", scheduler, timeout=600)
    here = ClassSearchCV(RidgeVS(), cv=2).fit(*load_digits().part("trainval"), class_vectors=load_digits().classes)
    assert json.loads(found.stdout)["best_score"] == pytest.approx(here.best_score_)


def test_bad_values_are_told_in_a_sentence(own, scheduler, tmp_path):
    X = np.load(own / "features.npy")
    X[7] = np.nan
    np.save(tmp_path / "bad.npy", X)
    options = ["--labels", own / "labels.txt", "--classes", own / "classes.csv", "--unseen", "0.2"]
    result = jcmspl(
        "fit", tmp_path / "bad.npy", *options, "-o", tmp_path / "m", "--dask", scheduler, code=1, timeout=600
    )
    assert result.stderr.startswith("jcmspl fit: partition 0: ")
    assert "NaN or infinity" in result.stderr
    assert not (tmp_path / "m").exists()


def test_no_scheduler(data, tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    code = "import jcmspl.cli._dask as one; one._SECONDS = 1; from jcmspl.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", code, "fit", *data, "-o", tmp_path / "m", "--dask", "tcp://127.0.0.1:9"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 1
    assert "there is no dask scheduler with workers at tcp://127.0.0.1:9" in result.stderr


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes as Linux lists them")
def test_an_interrupt_ends_all_of_it(tmp_path):
    n = 60_000
    np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, 2048))  # minutes of work
    np.save(tmp_path / "y.npy", np.arange(n) % 5)
    np.save(tmp_path / "classes.npy", np.random.default_rng(0).random((5, 4)))
    options = ["--labels", "y.npy", "--classes", "classes.npy", "--unseen", "0.2", "-o", "m.safetensors", "--dask"]
    command = ["-m", "jcmspl", "fit", "X.npy", *options]
    with interruptible(*command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True) as process:
        _wait_until(lambda: len(_children(process.pid)) > 1)
        children = _children(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert told == "jcmspl: interrupted; nothing was written\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "classes.npy", "y.npy"]
    _wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def _children(pid):
    """Return the processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        if parent == pid:
            found.append(int(path.parent.name))
    return found


def _wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
