"""Any data set by its path, and files that are not what they should be."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from jcmspl.datasets import DatasetError, load_dataset, load_digits, save_npz
from support.benchmark_files import write_benchmark
from support.sae_files import written as write_sae


def test_layouts_are_found_out(tmp_path):
    folder = write_benchmark(tmp_path / "zoo")
    for path in (folder, folder / "res101.mat", folder / "att_splits.mat", str(folder)):
        assert load_dataset(path).name == "zoo"
    assert load_dataset(folder, attributes="original_att").classes.vectors.max() > 1
    assert load_dataset(write_sae(tmp_path / "sae.mat")).name == "sae"
    save_npz(load_digits(), tmp_path / "d.npz")
    assert load_dataset(tmp_path / "d.npz").name == "digits"
    assert load_dataset("digits").name == "digits"


def test_layouts_can_be_named(tmp_path):
    folder = write_benchmark(tmp_path / "digits")
    assert load_dataset(folder, layout="xlsa17").n_features == 7
    assert load_dataset("anything", layout="digits").n_features == 64
    with pytest.raises(DatasetError, match=r"res101.mat lacks X_tr, X_te, S_tr"):
        load_dataset(folder / "res101.mat", layout="sae")
    with pytest.raises(ValueError, match="layout must be one of 'xlsa17', 'sae', 'npz', 'arrays', 'digits'"):
        load_dataset(folder, layout="awa")
    with pytest.raises(NotADirectoryError, match="is a file"):
        load_dataset(folder / "res101.mat", layout="arrays")


def test_unknown_layouts(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing does not exist"):
        load_dataset(tmp_path / "nothing")
    with pytest.raises(DatasetError, match=r"it holds nothing; expected is a folder with att_splits.mat"):
        load_dataset(tmp_path)
    for name in "abcdefghijkl":
        (tmp_path / name).touch()
    with pytest.raises(DatasetError, match=r"it holds a, b, c, d, e, f, g, h, i, j, \.\.\. \(12 in all\); expected"):
        load_dataset(tmp_path)
    with pytest.raises(DatasetError, match="/a has no known layout: expected is"):
        load_dataset(tmp_path / "a")
    savemat(tmp_path / "x.mat", {"x": 1, "features": np.eye(2)})
    with pytest.raises(DatasetError, match="it holds the variables features, x; expected is"):
        load_dataset(tmp_path / "x.mat")


@pytest.fixture(scope="module")
def good_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    for version in ("5", "7.3"):
        write_benchmark(folder / version, version)
    save_npz(load_dataset(folder / "5"), folder / "x.npz")
    return folder


@pytest.mark.parametrize("name", ["res101.mat", "att_splits.mat"])
@pytest.mark.parametrize(
    "content",
    [b"", b"no MATLAB file", b"\0" * 1000, b"\x89HDF\r\n\x1a\n" + b"\0" * 600],
    ids=["empty", "text", "zeros", "HDF5"],
)
def test_not_a_matlab_file(tmp_path, good_files, name, content):
    folder = shutil.copytree(good_files / "5", tmp_path / "zoo")
    (folder / name).write_bytes(content)
    with pytest.raises(DatasetError, match=rf"{name} is not a MATLAB file, or it is damaged") as caught:
        load_dataset(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", ["5", "7.3"])
@pytest.mark.parametrize("name", ["res101.mat", "att_splits.mat"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
@example(share=0.5)
@example(share=0.999)
def test_files_that_are_cut_short(tmp_path, good_files, version, name, share):
    folder = tmp_path / "zoo"
    shutil.copytree(good_files / version, folder, dirs_exist_ok=True)
    whole = (good_files / version / name).read_bytes()
    (folder / name).write_bytes(whole[: int(share * len(whole))])
    try:
        data = load_dataset(folder)
        data.X[:]
    except DatasetError as error:
        assert str(folder / name) in str(error)  # noqa: PT017 - or it works
        assert "\n" not in str(error)  # noqa: PT017 - or it works
    else:
        assert data.n_samples == 36  # nothing that is needed was cut off


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_npz_files_that_are_cut_short(tmp_path, good_files, share):
    whole = (good_files / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DatasetError, match=r"x.npz is not a NumPy .npz file, or it is damaged or cut short"):
        load_dataset(tmp_path / "x.npz")


@pytest.mark.parametrize("missing", [1, 8, 60, 150])
def test_a_cut_through_variables_that_are_not_needed_is_found(tmp_path, good_files, missing):
    folder = shutil.copytree(good_files / "5", tmp_path / "zoo")
    whole = (folder / "att_splits.mat").read_bytes()
    (folder / "att_splits.mat").write_bytes(whole[:-missing])  # within val_loc or train_loc
    with pytest.raises(DatasetError, match=r"att_splits.mat is cut short or damaged: it ends within a variable"):
        load_dataset(folder)
