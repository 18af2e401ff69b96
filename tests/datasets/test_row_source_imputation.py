"""Missing values: means of the training samples in one pass, whatever holds the samples."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, load
from jcmspl.datasets import (
    Dataset,
    DatasetError,
    load_arrays,
    load_dataset,
    load_features,
    load_npz,
    row_source,
    save_npz,
)
from support.animals import make_zoo
from support.shards import write_shards

RNG = np.random.default_rng(0)
X = RNG.random((30, 4)).astype(np.float32)
X[RNG.random(X.shape) < 0.2] = np.nan
Y = ["zebra", "horse", "otter"] * 10
VECTORS = {"zebra": [1.0, 0.0], "horse": [0.0, 1.0], "otter": [1.0, 1.0]}
MEANS = np.nanmean(np.asarray(X, dtype=np.float64), axis=0)
FILLED = np.where(np.isnan(X), MEANS.astype(np.float32), X)


def npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def npz(folder):
    np.savez(folder / "x.npz", features=X)
    return folder / "x.npz"


def csv(folder):
    pd.DataFrame(X).add_prefix("f").to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def parquet(folder):
    pd.DataFrame(X).add_prefix("f").to_parquet(folder / "x.parquet", row_group_size=7)
    return folder / "x.parquet"


def shards(folder):
    write_shards(folder, X, (8, 0, 12, 10), "npy")
    return folder


def vectors(folder):
    pd.DataFrame({"v": list(X)}).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


@pytest.mark.parametrize("write", [npy, npz, csv, parquet, shards, vectors])
def test_whatever_holds_the_samples(tmp_path, write, monkeypatch):
    monkeypatch.setattr(row_source, "_ROWS", 7)  # several blocks
    path = write(tmp_path)
    data = load_arrays(path, Y, class_vectors=VECTORS, impute="mean")
    assert_allclose(data.imputation.values, MEANS, rtol=1e-6)
    assert data.imputation.n_values == np.isnan(X).sum()
    assert_allclose(data.X[:], FILLED, rtol=1e-6)
    assert_allclose(data.X[[20, 3, 4]], FILLED[[20, 3, 4]], rtol=1e-6)
    zero = load_arrays(path, Y, class_vectors=VECTORS, impute="zero")
    assert_allclose(zero.part("trainval")[0], np.nan_to_num(X), rtol=1e-6)
    given = load_features(path, imputed_values=MEANS)
    assert_allclose(given.X[:], FILLED, rtol=1e-6)
    given.X[3:9]
    assert given.X.n_imputed == np.isnan(X).sum()  # rows that are read again count once


def test_means_are_those_of_the_training_samples(tmp_path):
    data = load_arrays(X, Y, class_vectors=VECTORS, unseen=["otter"], test_seen=0.2, impute="mean")
    train = data.rows("trainval")
    assert len(train) < 20
    assert_allclose(data.imputation.values, np.nanmean(X[train], axis=0), rtol=1e-6)
    assert str(data.imputation).startswith(f"{np.isnan(X[train]).sum()} missing values")
    assert np.isfinite(data.part("test_unseen")[0]).all()


def test_any_layout(tmp_path):
    parts = {"train": np.arange(20), "test_unseen": np.flatnonzero(np.array(Y[20:]) == "none")}
    data = load_arrays(X, Y, class_vectors=VECTORS)
    save_npz(Dataset("x", X, data.y, data.classes, {**parts}), tmp_path / "x.npz")
    again = load_npz(tmp_path / "x.npz").imputed("mean")
    assert_allclose(again.imputation.values, np.nanmean(X[:20], axis=0), rtol=1e-6)
    assert np.isnan(X).any()  # what was given is as it was


def test_values_that_have_no_mean():
    holes = X.copy()
    holes[:, 2] = np.nan
    with pytest.raises(DatasetError, match=r"the feature 3 \(of 4, from 1 on\) has no value in any of the 30 training"):
        load_arrays(holes, Y, class_vectors=VECTORS, impute="mean")
    assert not load_arrays(holes, Y, class_vectors=VECTORS, impute="zero").X[:][:, 2].any()
    with pytest.raises(ValueError, match="impute must be one of 'mean', 'zero', but is 'median'"):
        load_arrays(X, Y, class_vectors=VECTORS, impute="median")


def test_whole_numbers_have_means_too():
    whole = np.arange(60).reshape(30, 2)
    data = load_arrays(whole, Y, class_vectors=VECTORS, impute="mean")
    assert data.X is whole
    assert_array_equal(data.imputation.values, whole.mean(axis=0))


def test_infinity_is_still_refused(tmp_path):
    bad = X.copy()
    bad[9, 1] = np.inf
    write_shards(tmp_path, bad, (8, 22), "npy")
    with pytest.raises(DatasetError, match="row 1 holds NaN or infinity"):
        load_arrays(tmp_path, Y, class_vectors=VECTORS, impute="mean")


def test_a_model_remembers_what_took_their_place(tmp_path):
    zoo = make_zoo()
    model = JCMSPL().fit(zoo.X, zoo.y, class_vectors=zoo.table)
    model.imputed_values_ = zoo.X.mean(axis=0)
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert_array_equal(loaded.imputed_values_, zoo.X.mean(axis=0))
    loaded.fit(zoo.X, zoo.y, class_vectors=zoo.table)
    assert not hasattr(loaded, "imputed_values_")
    model.imputed_values_ = np.zeros(3)
    with pytest.raises(ValueError, match="the array 'imputed_values' has the wrong type or shape"):
        model.save(tmp_path / "n.safetensors")


def test_a_folder(tmp_path):
    csv(tmp_path).rename(tmp_path / "features.csv")
    (tmp_path / "labels.txt").write_text("\n".join(Y))
    (tmp_path / "classes.csv").write_text("zebra,1,0\nhorse,0,1\notter,1,1\n")
    data = load_dataset(tmp_path, impute="mean", classes_header="no")
    assert_allclose(data.imputation.values, MEANS, rtol=1e-6)


def test_on_dask(tmp_path):
    pytest.importorskip("dask")
    from jcmspl.datasets.row_source import rows_on_dask

    for path in (npy(tmp_path), csv(tmp_path)):
        found = rows_on_dask(load_features(path, imputed_values=MEANS).X, 2)
        assert_allclose(found.compute(scheduler="synchronous"), FILLED, rtol=1e-6)
