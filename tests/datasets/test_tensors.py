"""Features in safetensors files: mapped into memory, of all types of numbers."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from jcmspl import JCMSPL
from jcmspl.datasets import DatasetError, load_arrays, load_dataset, load_features, make_zsl
from jcmspl.datasets.tensors import TensorReader

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
VECTORS = {"zebra": [1.0, 0.0], "horse": [0.0, 1.0]}


def written(path, entries, content=b""):
    """Write a header and bytes as they are."""
    header = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    return path


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
def test_features_are_mapped(dtype, tmp_path):
    save_file({"embeds": X.astype(dtype), "label": np.array([0, 1] * 3)}, tmp_path / "a.safetensors")
    data = load_dataset(tmp_path / "a.safetensors", class_vectors=VECTORS, label_names=list(VECTORS))
    np.testing.assert_array_equal(data.X, X.astype(dtype))
    assert isinstance(data.X, np.memmap)
    assert data.y.tolist() == ["zebra", "horse"] * 3


def test_bfloat16(tmp_path):
    halves = (X.view(np.uint32) >> 16).astype("<u2")
    entry = {"dtype": "BF16", "shape": [6, 3], "data_offsets": [0, 36]}
    path = written(tmp_path / "a.safetensors", {"x": entry}, halves.tobytes())
    np.testing.assert_allclose(load_features(path).X, X, rtol=1e-2)
    np.testing.assert_array_equal(load_features(path).X.view(np.uint32) >> 16, halves)


def test_which_array(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"image": X, "text": X[:, :2].copy(), "ids": np.arange(6)}, path)
    assert load_features(path, array="text").X.shape == (6, 2)
    with pytest.raises(DatasetError, match=r"several matrices: it holds .*array \(--array\)"):
        load_features(path)
    with pytest.raises(DatasetError, match="no array 'sound'"):
        load_features(path, array="sound")
    with pytest.raises(DatasetError, match="has no named arrays: leave array"):
        load_features(tmp_path / "a.npy", array="text")
    with pytest.raises(DatasetError, match="has no array 'labels'"):
        load_arrays(path, class_vectors=VECTORS, array="image")
    with pytest.raises(DatasetError, match="has no ids 'name'"):
        load_features(path, array="image", id_column="name")


@pytest.mark.parametrize(
    ("entries", "content", "told"),
    [
        ({"x": {"dtype": "F32", "shape": [2**40, 2], "data_offsets": [0, 8]}}, b"12345678", "not a safetensors file"),
        ({"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [8, 16]}}, b"1234567812345678", "not a safetensors"),
        (
            {"x": {"dtype": "F8_E4M3", "shape": [1, 2], "data_offsets": [0, 2]}},
            b"12",
            "type F8_E4M3|not a safetensors file",
        ),
        ({"x": {"dtype": "F32", "shape": [2, 0], "data_offsets": [0, 0]}}, b"", "x|row for each sample|columns"),
        (b"{" * 1000, b"", "not a safetensors file"),
        ({}, b"", "holds nothing"),
    ],
)
def test_damaged_files(entries, content, told, tmp_path):
    path = written(tmp_path / "a.safetensors", entries, content)
    with pytest.raises(ValueError, match=told):
        load_arrays(path, ["zebra"], class_vectors=VECTORS)


def test_a_model_is_no_data(tmp_path):
    data = make_zsl()
    path = tmp_path / "m.safetensors"
    JCMSPL().fit(*data.part("trainval"), class_vectors=data.classes).save(path)
    with pytest.raises(DatasetError, match=r"is a model, but samples .* swapped\?"):
        TensorReader(path)
