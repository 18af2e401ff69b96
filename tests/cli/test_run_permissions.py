"""Folders that may be read but not written: what is in them is used, and no work is done in vain."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from jcmspl.datasets import make_zsl, save_npz
from support.command import jcmspl
from support.encoders import write_config, write_pictures, write_vision
from support.shards import write_zarr

pytestmark = pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions of POSIX")

INTO = {
    "fit": ("fit", "data.npz", "-o", "{}/m.safetensors"),
    "tune": ("tune", "data.npz", "--model", "RidgeVS", "--folds", "2", "-o", "{}/t.safetensors"),
    "results": ("tune", "data.npz", "--model", "RidgeVS", "--folds", "2", "--results", "{}/r.csv"),
    "compare": ("compare", "data.npz", "--methods", "FPL", "--untuned", "--repeats", "0", "-o", "{}/out.md"),
    "convert": ("convert", "data.npz", "-o", "{}/again.npz"),
    "folder": ("convert", "data.npz", "-o", "{}/zoo"),
    "predict": ("predict", "m.safetensors", "x.npy", "--candidates", "unseen", "-o", "{}/named.csv"),
    "predictions": ("predict", "m.safetensors", "x.zarr", "--candidates", "unseen", "-o", "{}/named/"),
    "embed": ("embed", "in", "--model", "v.onnx", "-o", "{}/f.npz"),
}


@contextlib.contextmanager
def nobody():
    """Give up the right of root to write anywhere; other users have no such right."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="module")
def made():
    """A folder that anybody may read, unlike pytest's: the inputs of all commands, and what they make of them."""
    folder = Path(tempfile.mkdtemp())
    data = make_zsl(200, 8, 6, 5, 3)
    save_npz(data, folder / "data.npz")
    np.save(folder / "x.npy", data.X)
    write_zarr(folder / "x.zarr", data.X, chunks=(50, 8))
    write_config(folder)
    write_vision(folder / "v.onnx")
    write_pictures(folder / "in")
    jcmspl("fit", "data.npz", "-o", "m.safetensors", cwd=folder)
    (folder / "out").mkdir()
    for command in INTO.values():  # which loads all that is needed: nobody might not be allowed to read it
        jcmspl(*(part.format("out") for part in command), cwd=folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def writable():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", INTO)
def test_output_into_a_folder_that_may_only_be_read(made, command):
    before = content(made)
    with nobody():
        result = jcmspl(*(part.format("in") for part in INTO[command]), cwd=made, code=1)
    told = "Permission denied" if command == "predictions" else "no permission to write into the folder"
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1  # it is found before anything is told of the work
    assert content(made) == before


@pytest.mark.parametrize("command", INTO)
def test_input_from_a_folder_that_may_only_be_read(made, writable, command):
    with nobody():
        jcmspl(*(part.format(writable) for part in INTO[command]), cwd=made)
    assert any(writable.iterdir())
    assert not list(writable.rglob("*.part*"))
