"""Layouts of benchmark files in MATLAB format: "xlsa17" (two files) and the demonstration file of SAE."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.reading import floats
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.errors import DatasetError, about, require_keys
from jcmspl.datasets.matlab import MatFile, integers, length_of, open_mat
from jcmspl.datasets.row_source import LazyIds
from jcmspl.io.files import cleaning_up, open_atomically, require_file
from jcmspl.support.arguments import IntArray, one_of

SPLITS = "att_splits.mat"
ATTRIBUTES = ("att", "original_att")
_NAMES = "allclasses_names"
_FEATURE_KEYS = ("features", "labels")
_IDS = "image_files"
_LARGEST = 2**32 - 2**16  # bytes: the size of a variable in MATLAB 5 has 32 bits


def load_xlsa17(path: str | Path, *, attributes: str = "att", features: str | None = None) -> Dataset:
    """Read a data set in the layout of the "xlsa17" benchmark files (Xian et al., The Good, the Bad and the Ugly).

    Parameters
    ----------
    path : str or Path
        The folder that holds ``att_splits.mat`` and a file of features, for example ``res101.mat``. Files of MATLAB 7.3
        need h5py (``pip install 'jcmspl[data]'``); their features are read on demand.
    attributes : {"att", "original_att"}, default "att"
        Class vectors scaled to length one, or the original ones.
    features : str, optional
        The name of the file of features, if the folder has several; ".mat" may be left out.

    Returns
    -------
    Dataset
        Labels are the names of the classes. "val" are the samples of ``trainval_loc`` that are in ``val_loc``, and
        "train" are its others: in published files, ``train_loc`` and ``val_loc`` include samples of ``test_seen_loc``,
        which must not be trained on. ``ids`` are the texts of ``image_files``, if there are any. ``attribute_names``,
        which :func:`save_xlsa17` adds to the layout, is read if it exists.

    Examples
    --------
    >>> import tempfile
    >>> from jcmspl.datasets import load_digits, load_xlsa17, save_xlsa17
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_xlsa17(load_digits(), folder)
    ...     data = load_xlsa17(folder, attributes="original_att")
    >>> data.unseen
    ['two', 'four', 'six']
    """
    one_of(attributes, "attributes", ATTRIBUTES)
    folder = Path(path)
    if not folder.is_dir():
        require_file(folder)
        raise NotADirectoryError(f"{folder} is a file: the xlsa17 layout is a folder that holds {SPLITS}")
    splits = open_mat(folder / SPLITS)
    require_keys(splits.path, (attributes, _NAMES, "trainval_loc", "test_unseen_loc"), splits.names())
    feature_file = _feature_file(folder, features)
    require_keys(feature_file.path, _FEATURE_KEYS, feature_file.names())

    with about(splits.path):
        names = splits.texts(_NAMES)
        _require_columns(attributes, splits.shape(attributes), len(names), "classes")
        vectors = splits.array(attributes)
        titles = splits.texts("attribute_names") if "attribute_names" in splits.names() else None
        classes = ClassTable(names, vectors.T, titles)
    with about(feature_file.path):
        _require_columns("features", feature_file.shape("features"), length_of(feature_file, "labels"), "labels")
    numbers = integers(feature_file, "labels")
    _require_range(feature_file.path, "labels", numbers, classes.n_classes, f"the classes in {SPLITS}")
    X = feature_file.columns("features")
    with about(splits.path):
        parts = _parts(splits, len(numbers))
        y = classes.labels[numbers - 1]
        ids = _ids(feature_file, len(numbers))
        source = f"{feature_file.path} ({attributes})"
        return Dataset(folder.resolve().name, X, y, classes, parts, source, ids, _IDS.removesuffix("s"))


def save_xlsa17(dataset: Dataset, folder: str | Path, overwrite: bool = False) -> None:
    """Write a data set in the layout of the "xlsa17" benchmark files, for MATLAB and the scripts of the field.

    ``features.mat`` gets ``features`` (a column for each sample), ``labels`` and, if the samples have ids,
    ``image_files``; ``att_splits.mat`` gets ``att`` (class vectors scaled to length one, a column each),
    ``original_att`` (as they are), ``allclasses_names``, the ``*_loc`` vectors, which count from 1, and
    ``attribute_names`` if there are any. Both files are complete before either moves to its place.

    Parameters
    ----------
    dataset : Dataset
        Its features are read into memory: MATLAB 5 files hold at most 4 GB of them. Use :func:`save_npz` for more.
        Labels become text.
    folder : str or Path
        Created if it does not exist.
    overwrite : bool, default False
        Whether existing files of these names may be replaced.

    See Also
    --------
    load_xlsa17 : reads it back; ``attributes="original_att"`` gives the same class vectors.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jcmspl.datasets import load_xlsa17, make_zsl, save_xlsa17
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_xlsa17(make_zsl(), Path(folder, "made_up"))
    ...     print(load_xlsa17(Path(folder, "made_up")).n_samples)
    1000
    """
    from scipy.io import savemat

    folder = Path(folder)
    size = dataset.n_samples * dataset.n_features * max(dataset.X.dtype.itemsize, 4)
    if size > _LARGEST:
        raise DatasetError(
            f"{dataset.name} has {size / 2**30:.1f} GB of features, but MATLAB 5 files hold at most 4 GB of them: "
            "use save_npz"
        )
    splits = _splits(dataset)
    with cleaning_up():
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            with (
                open_atomically(folder / "features.mat", overwrite=overwrite) as feature_file,
                open_atomically(folder / SPLITS, overwrite=overwrite) as split_file,
            ):
                labels = (dataset.class_numbers + 1)[:, None].astype(np.float64)
                ids = {} if dataset.ids is None else {_IDS: _cells(dataset.ids[:])}
                savemat(feature_file, {"features": floats(dataset.X[:]).T, "labels": labels, **ids})
                savemat(split_file, splits, do_compression=True)
        except BaseException:
            if is_new:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise


def _feature_file(folder: Path, wanted: str | None) -> MatFile:
    """Return the file of features: the named one, or the only one in the folder that has features."""
    if wanted is not None:
        exact = folder / wanted
        return open_mat(exact if exact.suffix == ".mat" else exact.with_name(exact.name + ".mat"))
    candidates = sorted(file for file in folder.glob("*.mat") if file.name != SPLITS and not file.name.startswith("."))
    if not candidates:
        raise FileNotFoundError(f"{folder} has no file of features (such as res101.mat) beside {SPLITS}")
    if len(candidates) == 1:
        return open_mat(candidates[0])
    usable = [file for file in map(_opened, candidates) if file and set(_FEATURE_KEYS) <= set(file.names())]
    if len(usable) == 1:
        return usable[0]
    names = ", ".join(file.name for file in candidates)
    raise DatasetError(
        f"{folder} has {len(usable)} files with features and labels: name one of {names} (its path, or features=...)"
    )


def _ids(file: MatFile, n_samples: int) -> LazyIds | None:
    """Return the names of the image files, read on demand; None if the file has none."""
    if _IDS not in file.names():
        return None
    shape = file.shape(_IDS)
    if n_samples not in (*shape[:1], math.prod(shape)):  # texts of equal length may be rows of characters
        raise DatasetError(f"{file.path}: {_IDS} is {_size(shape)}, but there are {n_samples:,} samples")
    return LazyIds(n_samples, lambda: file.texts(_IDS))


def _opened(path: Path) -> MatFile | None:
    """Return a file, or None if it cannot be read: another one may be usable."""
    try:
        return open_mat(path)
    except (DatasetError, OSError):
        return None


def _require_columns(name: str, shape: tuple[int, ...], count: int, what: str) -> None:
    if len(shape) != 2 or shape[1] != count:
        hint = ": transpose it" if len(shape) == 2 and shape[0] == count else ""
        raise DatasetError(f"{name} must have a column for each of the {count} {what}, but is {_size(shape)}{hint}")


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a single value"


def _require_range(path: Path, name: str, values: IntArray, largest: int, what: str) -> None:
    outside = values[(values < 1) | (values > largest)]
    if len(outside):
        raise DatasetError(
            f"{path}: {name} holds {outside[0]}, but must be 1 to {largest}, the number of {what} "
            "(files of this field count from 1)"
        )


def _parts(splits: MatFile, n_samples: int) -> dict[str, IntArray]:
    there = splits.names()

    def rows(name: str) -> IntArray:
        if name not in there:
            return np.empty(0, dtype=np.int64)
        values = integers(splits, name, most=n_samples)
        _require_range(splits.path, name, values, n_samples, "samples")
        return values - 1

    trainval, val = rows("trainval_loc"), rows("val_loc")
    is_val = np.isin(trainval, val)
    if is_val.all():  # all training samples are for validation: nothing is set aside
        is_val[:] = False
    return {
        "train": trainval[~is_val],
        "val": trainval[is_val],
        "test_seen": rows("test_seen_loc"),
        "test_unseen": rows("test_unseen_loc"),
    }


def _splits(dataset: Dataset) -> dict[str, Any]:
    names = [str(label) for label in dataset.classes]
    if len(set(names)) != len(names):
        raise DatasetError("two labels, such as 1 and '1', are the same as text: the xlsa17 layout knows only names")
    if "" in names:
        raise DatasetError("a class has no name (its label is an empty text), which MATLAB files cannot hold")
    vectors = dataset.classes.vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    content = {
        "att": (vectors / np.where(lengths > 0, lengths, 1)).T,
        "original_att": vectors.T,
        _NAMES: _cells(names),
        # float64, the default type of MATLAB, in which nothing overflows
        **{f"{part}_loc": (dataset.rows(part)[:, None] + 1).astype(np.float64) for part in ("trainval", *PARTS)},
    }
    if dataset.classes.attributes is not None:
        content["attribute_names"] = _cells(dataset.classes.attributes)
    return content


def _cells(texts: Sequence[str]) -> npt.NDArray[Any]:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells


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
            shapes = ", ".join(f"{name} is {_size(matrix.shape)}" for name, matrix in named.items())
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
        raise DatasetError(f"{name} is {_size(shape)}, but {like} says that there are {n_rows} rows")
    return file.array(name)


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
