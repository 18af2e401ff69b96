"""Writes the layout of the "xlsa17" benchmark files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.row_source import floats
from jcmspl.datasets.xlsa17 import SPLITS
from jcmspl.io.atomic import open_atomically
from jcmspl.support.arguments import IntArray

#: The name of the file of features that is written.
FEATURES = "features.mat"
_LARGEST = 2**32 - 2**16  # bytes: the size of a variable in MATLAB 5 has 32 bits


def save_xlsa17(dataset: Dataset, folder: str | Path, overwrite: bool = False) -> None:
    """Write a data set in the layout of the "xlsa17" benchmark files, for MATLAB and the scripts of the field.

    ``features.mat`` gets ``features`` (a column for each sample) and ``labels``; ``att_splits.mat`` gets ``att`` (class
    vectors scaled to length one, a column each), ``original_att`` (as they are), ``allclasses_names``, the
    ``*_loc`` vectors, which count from 1, and ``attribute_names`` if there are any. Both files are complete before
    either is moved to its place.

    Parameters
    ----------
    dataset : Dataset
        Its features are read into memory: MATLAB 5 files hold at most 4 GB of them. Use :func:`save_npz` for more.
        Labels that are not text become text.
    folder : str or Path
        Made if it does not exist.
    overwrite : bool, default False
        Whether existing files of these names may be replaced.

    See Also
    --------
    load_xlsa17 : reads it back; ``attributes="original_att"`` gives the very class vectors.
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
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with (
            open_atomically(folder / FEATURES, overwrite=overwrite) as feature_file,
            open_atomically(folder / SPLITS, overwrite=overwrite) as split_file,
        ):
            labels = (dataset.class_numbers + 1)[:, None].astype(np.float64)
            savemat(feature_file, {"features": floats(dataset.X[:]).T, "labels": labels})
            savemat(split_file, splits, do_compression=True)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _splits(dataset: Dataset) -> dict[str, Any]:
    vectors = dataset.classes.vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    content = {
        "att": (vectors / np.where(lengths > 0, lengths, 1)).T,
        "original_att": vectors.T,
        "allclasses_names": _cells(_names(list(dataset.classes))),
        "trainval_loc": _locations(dataset.rows("trainval")),
        "train_loc": _locations(dataset.rows("train")),
        "val_loc": _locations(dataset.rows("val")),
        "test_seen_loc": _locations(dataset.rows("test_seen")),
        "test_unseen_loc": _locations(dataset.rows("test_unseen")),
    }
    if dataset.classes.attributes is not None:
        content["attribute_names"] = _cells(dataset.classes.attributes)
    return content


def _locations(rows: IntArray) -> npt.NDArray[np.float64]:
    return (rows[:, None] + 1).astype(np.float64)  # MATLAB's own type of number, in which nothing overflows


def _cells(texts: Sequence[str]) -> npt.NDArray[Any]:
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells


def _names(labels: Sequence[Label]) -> list[str]:
    names = [str(label) for label in labels]
    if len(set(names)) != len(names):
        raise DatasetError("two labels, such as 1 and '1', are the same as text: the xlsa17 layout knows only names")
    if "" in names:
        raise DatasetError("a class has no name (its label is an empty text), which MATLAB files cannot hold")
    return names
