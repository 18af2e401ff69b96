"""How much memory there is, and files that claim more of it than there is, or than they have use for."""

import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import loadmat, savemat

from jcmspl.datasets import DatasetError, errors, load_arrays, load_npz, load_xlsa17
from jcmspl.datasets.matlab import open_mat
from jcmspl.support import machine
from support.benchmark_files import write_benchmark


def test_the_system_is_asked():
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024 if Path("/proc/meminfo").exists() else np.inf
    assert 0 < machine.memory_at_hand() <= total


def test_a_limit_on_the_address_space(monkeypatch):
    resource = pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("the system does not tell the size of a process")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**50, 2**50))
    assert 2**49 < next(machine._address_space()) < 2**50  # what is taken already is not at hand
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4096, 4096))
    assert machine.memory_at_hand() == 0


def refused(message, load, *arguments, **options):
    """See that a file is refused before anything of note is allocated."""
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match=message):
            load(*arguments, **options)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("chunks", [None, True])
def test_hdf5_that_claims_what_it_does_not_hold(tmp_path, chunks):
    folder, many = write_benchmark(tmp_path, "7.3"), 600_000_000
    path = folder / "res101.mat"
    with h5py.File(path, "r+") as file:
        del file["labels"]
        file.create_dataset("labels", (1, many), dtype="f8", chunks=chunks)
    refused(r"res101.mat: labels claims 4.5 GB, but only 0 bytes are stored for it", load_xlsa17, folder)


def test_more_entries_than_samples(tmp_path):
    folder = write_benchmark(tmp_path, "7.3", val_loc=np.ones((37, 1)))
    refused(r"att_splits.mat: val_loc has 37 entries, but there are only 36 samples", load_xlsa17, folder)


@pytest.mark.parametrize(
    ("name", "message"), [("labels", "a column for each of the 20000000 labels"), ("val_loc", "has 20,000,000 entries")]
)
def test_matlab_5_with_more_entries_than_samples(tmp_path, name, message):
    folder = write_benchmark(tmp_path)
    path = folder / ("res101.mat" if name == "labels" else "att_splits.mat")
    content = {key: value for key, value in loadmat(path).items() if not key.startswith("__")}
    savemat(path, {**content, name: np.zeros((20_000_000, 1), dtype=np.uint8)}, do_compression=True)
    assert path.stat().st_size < 50_000
    refused(message, load_xlsa17, folder)


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_5_larger_than_memory(tmp_path, monkeypatch, compressed):
    savemat(tmp_path / "a.mat", {"x": np.zeros(2**22, dtype=np.uint8)}, do_compression=compressed)
    monkeypatch.setattr(errors, "memory_at_hand", lambda: 2**21)
    refused(r"a.mat: x takes 4,194,304 bytes of memory", open_mat(tmp_path / "a.mat").array, "x")


def test_a_sparse_matrix_larger_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "memory_at_hand", lambda: 2**21)
    savemat(tmp_path / "a.mat", {"x": sparse.csc_matrix((2**31 - 1, 2**16))})
    refused(r"a.mat: x takes .* GB of memory", open_mat(tmp_path / "a.mat").array, "x")


def bomb(path, **arrays):
    """Write a data set of two samples, some arrays of which are far larger than they should be."""
    content = {
        "features": np.ones((2, 3)),
        "labels": np.array([0, 1]),
        "class_names": np.array([0, 1]),
        "class_vectors": np.eye(2),
        "train": np.array([0, 1]),
    }
    np.savez_compressed(path, **{**content, **arrays})
    return path


@pytest.mark.parametrize("name", ["labels", "train"])
def test_npz_with_more_entries_than_samples(tmp_path, name):
    path = bomb(tmp_path / "a.npz", **{name: np.zeros(20_000_000, dtype=np.int8)})
    assert path.stat().st_size < 50_000
    refused(rf"a.npz: {name} has 20,000,000 entries, but there are only 2 samples", load_npz, path)
    if name == "labels":
        refused("labels has 20,000,000 entries", load_arrays, path, class_vectors=np.eye(2))


def test_npz_larger_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "memory_at_hand", lambda: 2**21)
    path = bomb(tmp_path / "a.npz", features=np.zeros((2, 2_000_000), dtype=np.int8))
    refused(r"a.npz: features takes 4,000,000 bytes of memory, but only 2,097,152 bytes are free", load_npz, path)


def test_parquet_larger_than_memory(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(errors, "memory_at_hand", lambda: 2**21)
    parquet.write_table(pyarrow.table({"a": np.zeros(500_000), "label": np.zeros(500_000)}), tmp_path / "x.parquet")
    refused(r"x.parquet: the table takes .* of memory", load_arrays, tmp_path / "x.parquet", class_vectors=np.eye(2))


def test_rows_of_hdf5_larger_than_memory(tmp_path, monkeypatch):
    data = load_xlsa17(write_benchmark(tmp_path, "7.3", features=np.zeros((20_000, 36))))
    monkeypatch.setattr(errors, "memory_at_hand", lambda: 2**21)
    with pytest.raises(DatasetError, match=r"res101.mat: .* columns of features takes .* of memory"):
        data.part("trainval")
