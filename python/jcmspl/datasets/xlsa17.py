"""The layout of the "xlsa17" benchmark files: features in one MATLAB file, classes and splits in another."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.datasets._classes import class_table
from jcmspl.datasets._matlab import MatFile, integers, open_mat
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.errors import DatasetError, about, require_file, require_keys
from jcmspl.datasets.row_source import RowSource
from jcmspl.support.arguments import IntArray, one_of

SPLITS = "att_splits.mat"
ATTRIBUTES = ("att", "original_att")
_NAMES = "allclasses_names"
_FEATURE_KEYS = ("features", "labels")


def load_xlsa17(path: str | Path, *, attributes: str = "att", features: str | None = None) -> Dataset:
    """Read a data set in the layout of the "xlsa17" benchmark files (Xian et al., The Good, the Bad and the Ugly).

    Parameters
    ----------
    path : str or Path
        The folder that holds ``att_splits.mat`` and a file of features, for example ``res101.mat``. Files of MATLAB 7.3
        need h5py (``pip install 'jcmspl[data]'``); their features are read when they are needed.
    attributes : {"att", "original_att"}, default "att"
        Class vectors of length one, or as they were collected.
    features : str, optional
        The name of the file of features, if the folder has several; ".mat" may be left out.

    Returns
    -------
    Dataset
        Labels are the names of the classes. "val" are those samples of ``trainval_loc`` that are in ``val_loc``, and
        "train" are the others: in published files, ``train_loc`` and ``val_loc`` take in samples of ``test_seen_loc``
        as well, which must not be trained on. ``attribute_names``, which :func:`save_xlsa17` adds to the layout, is
        read if it is there.

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
        classes = _class_table(splits, attributes)
    numbers = integers(feature_file, "labels")
    _require_range(feature_file.path, "labels", numbers, classes.n_classes, f"the classes in {SPLITS}")
    X = feature_file.columns("features")
    with about(feature_file.path):
        _require_columns(X, len(numbers))
    with about(splits.path):
        parts = _parts(splits, len(numbers))
        y = classes.labels[numbers - 1]
        return Dataset(folder.resolve().name, X, y, classes, parts, f"{feature_file.path} ({attributes})")


def _feature_file(folder: Path, wanted: str | None) -> MatFile:
    """Return the file of features; without a name, the only one in the folder that has them."""
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


def _opened(path: Path) -> MatFile | None:
    """Return a file among several; None if it cannot be read, for another one may do."""
    try:
        return open_mat(path)
    except (DatasetError, OSError):
        return None


def _class_table(splits: MatFile, attributes: str) -> ClassTable:
    names = splits.texts(_NAMES)
    vectors = splits.array(attributes)
    if vectors.ndim != 2 or vectors.shape[1] != len(names):
        hint = ": transpose it" if vectors.ndim == 2 and vectors.shape[0] == len(names) else ""
        shape = " x ".join(map(str, vectors.shape))
        raise DatasetError(
            f"{attributes} must have a column for each of the {len(names)} classes, but is {shape}{hint}"
        )
    titles = splits.texts("attribute_names") if "attribute_names" in splits.names() else None
    return class_table(names, vectors.T, titles, attributes)


def _require_columns(X: RowSource, n_labels: int) -> None:
    if len(X.shape) != 2 or X.shape[0] != n_labels:
        hint = ": transpose it" if len(X.shape) == 2 and X.shape[1] == n_labels else ""
        shape = " x ".join(map(str, reversed(X.shape)))
        raise DatasetError(f"features must have a column for each of the {n_labels} labels, but is {shape}{hint}")


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
        values = integers(splits, name)
        _require_range(splits.path, name, values, n_samples, "samples")
        return values - 1

    trainval, val = rows("trainval_loc"), rows("val_loc")
    is_val = np.isin(trainval, val)
    if is_val.all():  # a file that validates on all it trains on sets nothing aside
        is_val[:] = False
    return {
        "train": trainval[~is_val],
        "val": trainval[is_val],
        "test_seen": rows("test_seen_loc"),
        "test_unseen": rows("test_unseen_loc"),
    }
