"""The project's own file of a data set: one .npz of plain arrays, nothing pickled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jcmspl.data.labels import LabelArray, label_array
from jcmspl.datasets._classes import class_table
from jcmspl.datasets._numpy_files import NpzReader, write_npz
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.errors import DatasetError, about, require_keys
from jcmspl.datasets.row_source import floats
from jcmspl.io.atomic import open_atomically

_WANTED = ("features", "labels", "class_names", "class_vectors", "train")
_CHUNK_BYTES = 2**25


def save_npz(dataset: Dataset, path: str | Path, overwrite: bool = False) -> None:
    """Write a data set to one .npz file, whole or not at all.

    The arrays are ``features`` (rows are samples), ``labels``, ``class_names``, ``class_vectors``, ``attribute_names``
    (if there are any), ``name``, ``source``, and the row numbers ``train``, ``val``, ``test_seen`` and ``test_unseen``,
    which count from 0. Features are written in a stream, so they may be larger than memory. They are not compressed, so
    that :func:`load_npz` can map them; ``np.load`` reads the file too.

    Parameters
    ----------
    dataset : Dataset
        Labels must be all text or all numbers.
    path : str or Path
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jcmspl.datasets import load_digits, load_npz, save_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(load_digits(), Path(folder) / "digits.npz")
    ...     load_npz(Path(folder) / "digits.npz")
    Dataset 'digits': 1,797 samples x 64 features, 7 seen and 3 unseen classes
    """
    table = dataset.classes
    arrays = {
        "labels": _plain(dataset.y),
        "class_names": _plain(table.labels),
        "class_vectors": table.vectors,
        **dataset.parts,
        "name": np.array(dataset.name),
        "source": np.array(dataset.source),
    }
    if table.attributes is not None:
        arrays["attribute_names"] = np.array(table.attributes)
    dtype = floats(dataset.X[:1]).dtype
    rows = max(1, _CHUNK_BYTES // (dtype.itemsize * dataset.n_features))
    with open_atomically(Path(path), overwrite=overwrite) as file:
        chunks = (floats(dataset.X[first : first + rows]) for first in range(0, dataset.n_samples, rows))
        write_npz(file, (dataset.n_samples, dataset.n_features), dtype, chunks, **arrays)


def load_npz(path: str | Path) -> Dataset:
    """Read a data set that was written by :func:`save_npz`, or by ``np.savez`` with the same names.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Dataset
        Its features are mapped into memory unless the file is compressed.
    """
    reader = NpzReader(Path(path))
    there = reader.names()
    require_keys(reader.path, _WANTED, there)
    with about(reader.path):
        attributes = reader.array("attribute_names").tolist() if "attribute_names" in there else None
        table = class_table(reader.array("class_names"), reader.array("class_vectors"), attributes, "class_vectors")
        parts = {part: reader.array(part) for part in PARTS if part in there}
        name, source = (str(reader.array(key)) if key in there else "" for key in ("name", "source"))
        X = reader.mapped("features")
        return Dataset(name or reader.path.stem, X, reader.array("labels"), table, parts, source or str(reader.path))


def _plain(labels: LabelArray) -> LabelArray:
    """Return labels as an array without objects."""
    plain = label_array(labels.tolist())
    if plain.dtype.kind not in "Uiufb":
        raise DatasetError("labels can be saved if they are all text or all numbers, but these are of different kinds")
    return plain
