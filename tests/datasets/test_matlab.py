"""MATLAB 7.3 files that lead out of themselves, or claim what they do not hold."""

import h5py
import numpy as np
import pytest

from jcmspl.datasets import DatasetError, load_sae, load_xlsa17
from support.benchmark_files import write_benchmark
from support.sae_files import written


@pytest.fixture
def secret(tmp_path):
    """A file that is none of the data set's business: 64 bytes, and an HDF5 file with the same numbers."""
    numbers = np.arange(1.0, 9.0)
    (tmp_path / "secret.bin").write_bytes(numbers.tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["numbers"] = numbers[None]
    return tmp_path / "secret.bin"


def external_storage(group, name, secret):
    group.create_dataset(name, (1, 8), dtype="f8", external=[(str(secret), 0, 64)])


def external_link(group, name, secret):
    group[name] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/numbers")


def soft_link_to_an_external_one(group, name, secret):
    external_link(group, "innocent", secret)
    group[name] = h5py.SoftLink(f"{group.name}/innocent")


def virtual_dataset(group, name, secret):
    layout = h5py.VirtualLayout(shape=(1, 8), dtype="f8")
    layout[:] = h5py.VirtualSource(str(secret.with_suffix(".h5")), "numbers", shape=(1, 8))
    group.create_virtual_dataset(name, layout)


WAYS_OUT = pytest.mark.parametrize(
    "way_out", [external_storage, external_link, soft_link_to_an_external_one, virtual_dataset]
)
REASON = "external storage|virtual dataset|it is a link"


@WAYS_OUT
@pytest.mark.parametrize(
    ("file_name", "name"),
    [("res101.mat", "features"), ("res101.mat", "labels"), ("att_splits.mat", "att"), ("att_splits.mat", "val_loc")],
)
def test_variables_in_other_files(tmp_path, secret, way_out, file_name, name):
    folder = write_benchmark(tmp_path / "zoo", "7.3")
    with h5py.File(folder / file_name, "r+") as file:
        del file[name]
        way_out(file, name, secret)
    with pytest.raises(DatasetError, match=rf"{file_name}: {name} is not read, because .*({REASON})"):
        load_xlsa17(folder)


@WAYS_OUT
def test_fields_in_other_files(tmp_path, secret, way_out):
    path = written(tmp_path / "demo.mat", "7.3")
    with h5py.File(path, "r+") as file:
        del file["param/test_labels"]
        way_out(file["param"], "test_labels", secret)
    with pytest.raises(DatasetError, match=rf"demo.mat: param.test_labels is not read, because .*({REASON})"):
        load_sae(path)


@pytest.mark.parametrize("way_out", [external_storage, virtual_dataset])
def test_cells_in_other_files(tmp_path, secret, way_out):
    folder = write_benchmark(tmp_path / "zoo", "7.3")
    with h5py.File(folder / "att_splits.mat", "r+") as file:
        way_out(file["#refs#"], "elsewhere", secret)
        file["allclasses_names"][0, 2] = file["#refs#/elsewhere"].ref
    with pytest.raises(DatasetError, match=rf"att_splits.mat: allclasses_names is not read, because .*({REASON})"):
        load_xlsa17(folder)


def test_other_files_are_not_even_opened(tmp_path, secret, monkeypatch):
    """To tell the shape of a virtual dataset, HDF5 opens its sources: one that is a pipe would be waited for."""
    folder = write_benchmark(tmp_path / "zoo", "7.3")
    with h5py.File(folder / "res101.mat", "r+") as file:
        del file["labels"]
        virtual_dataset(file, "labels", secret)
    shape = h5py.Dataset.shape

    def told(dataset):
        assert not dataset.is_virtual
        return shape.fget(dataset)

    monkeypatch.setattr(h5py.Dataset, "shape", property(told))
    with pytest.raises(DatasetError, match=r"labels is not read, because .*virtual dataset"):
        load_xlsa17(folder)


def test_a_structure_in_another_file_has_no_fields(tmp_path):
    path = written(tmp_path / "demo.mat", "7.3")
    with h5py.File(path, "r+") as file, h5py.File(tmp_path / "other.h5", "w") as other:
        file.copy("param", other)
        del file["param"]
        file["param"] = h5py.ExternalLink("other.h5", "/param")
    with pytest.raises(DatasetError, match=r"demo.mat lacks param.testclasses_id, param.test_labels"):
        load_sae(path)


def test_links_that_are_not_needed_do_no_harm(tmp_path, secret):
    folder = write_benchmark(tmp_path / "zoo", "7.3")
    with h5py.File(folder / "res101.mat", "r+") as file:
        for way_out in (external_storage, external_link, virtual_dataset):
            way_out(file, way_out.__name__, secret)
    assert load_xlsa17(folder).n_samples == 36


def test_an_empty_array_of_some_size(tmp_path):
    """Missing data must not be filled with the content of memory."""
    folder = write_benchmark(tmp_path / "zoo", "7.3")
    with h5py.File(folder / "att_splits.mat", "r+") as file:
        del file["att"]
        file.create_dataset("att", data=np.array([4, 6], dtype=np.uint64)).attrs["MATLAB_empty"] = np.uint8(1)
    with pytest.raises(DatasetError, match=r"att is said to be empty, but its shape is \(4, 6\)"):
        load_xlsa17(folder)


@pytest.mark.parametrize("value", [h5py.Empty("f8"), np.bytes_(b"text"), "text"], ids=["nothing", "bytes", "text"])
def test_variables_of_other_kinds(tmp_path, value):
    for name in ("att", "allclasses_names"):
        folder = write_benchmark(tmp_path / name, "7.3")
        with h5py.File(folder / "att_splits.mat", "r+") as file:
            del file[name]
            file[name] = value
        with pytest.raises(DatasetError, match=rf"att_splits.mat: {name} must (be an array|hold|have)"):
            load_xlsa17(folder)
