"""The field's files as others write them: xlsa17 folders in MATLAB 5 and 7.3, with the traps of the real ones.

Nothing of jcmspl is used here, so that a mistake in its writer cannot hide one in its readers.
"""

import h5py
import numpy as np
from scipy.io import savemat

NAMES = ["walrus", "ant+lion", "Zebra", "blue+whale", "ox", "märz"]  # in no order, of different lengths
PER_CLASS = 6


def benchmark_content(seed=0):
    """Return the variables of the two files: columns, counted from 1, small unsigned types.

    Unseen classes are ox and märz (5, 6); blue+whale (4) is for validation; the first sample of each seen class is in
    test_seen_loc. As in the published files, train_loc and val_loc take in samples of test_seen_loc.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(1, 7), PER_CLASS))
    att = rng.random((4, 6)) + 0.1
    rows = np.arange(1, len(labels) + 1)
    seen = labels <= 4
    test_seen = np.array([rows[labels == c][0] for c in range(1, 5)])
    trainval = np.setdiff1d(rows[seen], test_seen)
    column = {"dtype": np.uint16}
    features = {
        "features": rng.random((7, len(labels)), dtype=np.float32),
        "labels": labels.astype(np.uint8)[:, None],
        "image_files": _cells([f"/BS/some/where/{i}.jpg" for i in rows]),
    }
    splits = {
        "att": att / np.linalg.norm(att, axis=0),
        "original_att": 100 * att,
        "allclasses_names": _cells(NAMES),
        "trainval_loc": np.array(rng.permutation(trainval), **column)[:, None],
        "test_seen_loc": np.array(test_seen, **column)[:, None],
        "test_unseen_loc": np.array(rows[~seen], **column)[:, None],
        "train_loc": np.array(rows[labels <= 3], **column)[:, None],
        "val_loc": np.array(rows[labels == 4], **column)[:, None],
    }
    return features, splits


def _cells(texts):
    cells = np.empty((len(texts), 1), dtype=object)
    for i, text in enumerate(texts):
        cells[i, 0] = np.array([text])
    return cells


def write_benchmark(folder, version="5", features_name="res101.mat", **changes):
    """Write both files; changes replace variables, or leave them out if they are None."""
    folder.mkdir(exist_ok=True)
    for name, content in zip((features_name, "att_splits.mat"), benchmark_content(), strict=True):
        content = {key: changes.get(key, value) for key, value in content.items()}
        content = {key: value for key, value in content.items() if value is not None}
        write = savemat if version == "5" else write_mat73
        write(folder / name, content)
    return folder


def write_mat73(path, content):
    """Write what MATLAB's save -v7.3 writes: axes reversed, texts as UTF-16 codes, cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        references = file.create_group("#refs#")
        for name, value in content.items():
            _write(file, references, name, value)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def _write(group, references, name, value):
    if isinstance(value, dict):
        inner = group.create_group(name)
        for key, item in value.items():
            _write(inner, references, key, item)
        return
    value = np.asarray(value)
    if value.size == 0:
        group.create_dataset(name, data=np.array(value.shape, dtype=np.uint64)).attrs["MATLAB_empty"] = np.uint8(1)
    elif value.dtype == object:
        cells = group.create_dataset(name, value.T.shape, dtype=h5py.ref_dtype)
        for where, cell in np.ndenumerate(value.T):
            key = f"{len(references):x}"
            _write(references, references, key, cell)
            cells[where] = references[key].ref
    elif value.dtype.kind == "U":
        codes = np.frombuffer(str(value.ravel()[0]).encode("utf-16-le"), dtype=np.uint16)
        group.create_dataset(name, data=codes[:, None]).attrs["MATLAB_class"] = np.bytes_("char")
    else:
        group.create_dataset(name, data=value.T, chunks=value.size > 1000 or None)
