"""The layout of the demonstration files of SAE (Kodirov et al., Semantic Autoencoder): one MATLAB file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.errors import DatasetError, about, require_keys
from jcmspl.datasets.matlab import MatFile, integers, length_of, open_mat
from jcmspl.support.arguments import IntArray

_WANTED = ("X_tr", "X_te", "S_tr", "param.testclasses_id", "param.test_labels")
_TRAIN_LABELS = ("param.train_labels", "param.trainlabels", "train_labels")


def load_sae(path: str | Path) -> Dataset:
    """Read a data set in the layout of the SAE demonstration files.

    Parameters
    ----------
    path : str or Path
        A MATLAB file with the samples ``X_tr`` and ``X_te`` in rows; ``S_tr``, the class vector of each training
        sample; ``S_te_pro`` or, without it, ``S_te_gt``, the vectors of the unseen classes; ``param.testclasses_id``,
        the numbers of these classes; ``param.test_labels``, the class number of each test sample; and optionally
        ``param.train_labels``.

    Returns
    -------
    Dataset
        Labels are the numbers in the file. Without ``param.train_labels``, training samples with equal rows in
        ``S_tr`` are a class, and these classes are numbered from 1 on in the order in which they first occur, without
        the numbers of unseen classes. There is no "test_seen": see :meth:`Dataset.held_out`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from scipy.io import savemat
    >>> from jcmspl.datasets import load_sae
    >>> classes = {"testclasses_id": [3, 4], "test_labels": [3, 4], "train_labels": [1, 1, 2]}
    >>> samples = {"X_tr": [[1.0, 0], [0.9, 0], [0, 1]], "X_te": [[1.0, 1], [0.0, 0]]}
    >>> vectors = {"S_tr": [[1.0, 0], [1, 0], [0, 1]], "S_te_pro": [[1.0, 1], [1.0, 2]]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     savemat(Path(folder, "demo.mat"), {**samples, **vectors, "param": classes})
    ...     print(load_sae(Path(folder, "demo.mat")).unseen)
    [3, 4]
    """
    file = open_mat(Path(path))
    there = file.names()
    vectors_name = "S_te_gt" if "S_te_gt" in there and "S_te_pro" not in there else "S_te_pro"
    require_keys(file.path, (*_WANTED, vectors_name), there)
    with about(file.path):
        vectors = _matrix(file, vectors_name, length_of(file, "param.testclasses_id"), "param.testclasses_id")
        X_test = _matrix(file, "X_te", length_of(file, "param.test_labels"), "param.test_labels")
        unseen = integers(file, "param.testclasses_id")
        y_test = integers(file, "param.test_labels")
        stray = np.setdiff1d(y_test, unseen)
        if len(stray):
            raise DatasetError(f"param.test_labels holds {stray[0]}, which is not in param.testclasses_id")
        n_train = math.prod(file.shape("S_tr")[:1])
        X_train, S = _matrix(file, "X_tr", n_train, "S_tr"), _matrix(file, "S_tr", n_train, "X_tr")
        if X_train.shape[1] != X_test.shape[1] or S.shape[1] != vectors.shape[1]:
            named = {"X_tr": X_train, "X_te": X_test, "S_tr": S, vectors_name: vectors}
            shapes = ", ".join(f"{name} is {_text(matrix.shape)}" for name, matrix in named.items())
            raise DatasetError(f"training and test data do not fit together: {shapes}")
        y_train = _train_labels(file, S, unseen)
        seen, first = np.unique(y_train, return_index=True)
        _require_one_vector_each(S, y_train, seen, first)
        table = ClassTable(np.concatenate([seen, unseen]), np.vstack([S[first], vectors]))
        parts = {"train": np.arange(len(S)), "test_unseen": np.arange(len(S), len(S) + len(y_test))}
        X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
        return Dataset(file.path.stem, X, y, table, parts, str(file.path))


def _matrix(file: MatFile, name: str, n_rows: int, like: str) -> npt.NDArray[np.generic]:
    shape = file.shape(name)
    if len(shape) != 2 or shape[0] != n_rows:
        raise DatasetError(f"{name} is {_text(shape)}, but {like} says that there are {n_rows} rows")
    return file.array(name)


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _train_labels(file: MatFile, S: npt.NDArray[np.generic], unseen: IntArray) -> IntArray:
    given = next((name for name in _TRAIN_LABELS if name in file.names()), None)
    if given is not None:
        if length_of(file, given) != len(S):
            raise DatasetError(f"{given} has {length_of(file, given)} labels, but S_tr has {len(S)} rows")
        labels = integers(file, given)
        both = np.intersect1d(labels, unseen)
        if len(both):
            raise DatasetError(
                f"seen and unseen classes overlap: {both[0]} is in both {given} and param.testclasses_id "
                f"({len(both)} such classes in all)"
            )
        return labels
    _, first, inverse = np.unique(S, axis=0, return_index=True, return_inverse=True)
    by_occurrence = np.empty(len(first), dtype=np.int64)
    by_occurrence[np.argsort(first)] = np.arange(len(first))
    free = np.setdiff1d(np.arange(1, len(first) + len(unseen) + 1), unseen)[: len(first)]
    return np.asarray(free[by_occurrence[inverse.ravel()]], dtype=np.int64)


def _require_one_vector_each(S: npt.NDArray[np.generic], labels: IntArray, seen: IntArray, first: IntArray) -> None:
    expected = S[first][np.searchsorted(seen, labels)]
    different = np.flatnonzero(np.any((expected != S) & ~(np.isnan(S) & np.isnan(expected)), axis=1))
    if len(different):
        raise DatasetError(f"the rows of S_tr for the class {labels[different[0]]} differ: a class has one vector")
