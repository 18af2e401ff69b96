"""Files that are not regular are refused, not waited for."""

import os

import numpy as np
import pytest

from jcmspl import load
from jcmspl.datasets import load_arrays, load_dataset, load_npz, load_sae, load_xlsa17
from jcmspl.datasets.arrays import load_features
from jcmspl.datasets.class_files import load_classes
from jcmspl.io.files import write_atomically
from support.benchmark_files import write_benchmark

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")

X, Y, VECTORS = np.eye(4), [0, 1, 2, 3], np.eye(4)
READERS = {
    "model": load,
    "d.npz": load_npz,
    "e.npz": load_dataset,
    "d.mat": load_sae,
    "e.mat": load_dataset,
    "anything": load_dataset,
    "c.csv": load_classes,
    "c.npy": load_classes,
    "c.npz": load_classes,
    "x.npy": load_features,
    "x.npz": load_features,
    "x.csv": load_features,
    "x.parquet": load_features,
    "y.txt": lambda path: load_arrays(X, path, class_vectors=VECTORS),
    "y.npy": lambda path: load_arrays(X, path, class_vectors=VECTORS),
    "split.csv": lambda path: load_arrays(X, Y, class_vectors=VECTORS, split=path),
}


@pytest.mark.parametrize("name", READERS)
def test_pipes_and_devices(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(OSError, match=rf"{name} is a named pipe, but a regular file is expected"):
        READERS[name](path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=rf"{name} is a device, but a regular file is expected"):
        READERS[name](path)


def test_a_pipe_of_labels_beside_a_file_of_features(tmp_path):
    np.save(tmp_path / "x.npy", X)
    os.mkfifo(tmp_path / "labels")
    with pytest.raises(OSError, match="labels is a named pipe"):
        load_arrays(tmp_path / "x.npy", str(tmp_path / "labels"), class_vectors=VECTORS)


@pytest.mark.parametrize("name", ["att_splits.mat", "res101.mat"])
def test_pipes_in_a_folder(tmp_path, name):
    folder = write_benchmark(tmp_path / "zoo")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(OSError, match=rf"{name} is a named pipe"):
        load_xlsa17(folder)


def test_links_to_files_are_files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "link.npy").symlink_to("x.npy")
    assert load_features(tmp_path / "link.npy").X.shape == (4, 4)


def test_a_pipe_is_not_written_over(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is a device or a pipe, which a file cannot replace"):
        write_atomically(tmp_path / "pipe", b"", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
