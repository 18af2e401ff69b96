"""Models in files: whatever arrays and parameters there are, the classes, and the statistics if they are wanted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.normalisation import Normalisation
from jcmspl.io.archive import Archive, read_archive, reading, write_archive
from jcmspl.io.json_text import as_data
from jcmspl.model import persistence_v1
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.fitted import checked_names
from jcmspl.model.model_layout import (
    ADAPTED,
    ADAPTED_ARRAYS,
    COLUMNS,
    FITTED,
    HASHES,
    IMPUTED,
    KERNEL,
    KERNEL_ARRAYS,
    PARAMETER,
    WHITENING,
    encoded,
    plain,
)
from jcmspl.model.parameters import NamedArrays, array_names, check_arrays
from jcmspl.model.restored import class_named, restored, wanted_arrays
from jcmspl.support.arguments import Float64Array

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

#: The version of the format. Files of every version so far can be read.
FORMAT_VERSION = 2
# Endings of files that a model cannot be.
_OTHER_KINDS = (
    ".pkl",
    ".pickle",
    ".joblib",
    ".npy",
    ".npz",
    ".mat",
    ".h5",
    ".hdf5",
    ".onnx",
    ".pt",
    ".pth",
    ".csv",
    ".json",
)


def save_model(model: ZeroShotClassifier, path: Path, *, statistics: bool, overwrite: bool) -> None:
    """Write a fitted model."""
    check_is_fitted(model)
    require_name_of_model(path)
    if class_named(type(model).__name__) is not type(model):
        raise ValueError(
            f"this {type(model).__name__} is not the one that files know by that name (it was defined again since, or "
            "elsewhere): fit it anew, or pickle it"
        )
    model._check_parameters()
    parameters: dict[str, Any] = model.get_params(deep=False)
    if callable(parameters.get("metric")):
        raise ValueError("a model whose metric is a function cannot be saved: use a metric by name, or pickle")
    fitted = model._fitted
    arrays: NamedArrays = {
        "class_vectors": fitted.class_table.vectors,
        "class_means": fitted.class_means,
        "class_sums": fitted.samples.sums,
        "counts": _whole_if_possible(fitted.samples.counts),
        **{FITTED + name: array for name, array in fitted.arrays.items()},
    }
    for kind in ("feature", "class"):
        normalisation: Normalisation = getattr(fitted, f"{kind}_normalisation")
        arrays |= {f"{kind}_shift": normalisation.shift, f"{kind}_scale": normalisation.scale}
        if normalisation.whitening is not None:
            arrays[WHITENING] = normalisation.whitening
    if fitted.class_normalisation.columns is not None:
        arrays[COLUMNS] = fitted.class_normalisation.columns
    kernel = fitted.class_normalisation.kernel
    if kernel is not None:
        arrays |= {name: getattr(kernel, name.removeprefix(KERNEL)) for name in KERNEL_ARRAYS}
    if fitted.imputed_values is not None:
        arrays[IMPUTED] = np.asarray(fitted.imputed_values, dtype=np.float64)
        check_arrays({IMPUTED: arrays[IMPUTED]}, {IMPUTED: ("m",)}, {"m": fitted.columns.n_features})
    digest = fitted.digest
    if digest is not None:
        arrays[HASHES] = digest.hashes
    adapted = fitted.adaptation
    if adapted is not None:
        arrays |= {name: getattr(adapted, name.removeprefix(ADAPTED)) for name in ADAPTED_ARRAYS}
    for name in [name for name in array_names(model) if not isinstance(parameters[name], (str, type(None)))]:
        arrays[PARAMETER + name] = np.asarray(parameters.pop(name), dtype=np.float64)
    if statistics:
        raw = model.statistics_
        arrays |= {"gram": raw.gram, "class_sums": raw.class_sums, "counts": _whole_if_possible(raw.counts)}
    (m, names), columns = fitted.columns, fitted.column_names
    content = {
        "model": type(model).__name__,
        "parameters": {name: plain(value, name) for name, value in parameters.items()},
        "labels": [encoded(label) for label in fitted.class_table],
        "n_seen": len(fitted.classes),
        "attributes": fitted.class_table.attributes,
        "sources": fitted.class_table.sources,
        "sampled_labels": [encoded(label) for label in fitted.samples.labels],  # may be more than those trained on
        "sample_length": fitted.sample_length,
        "one_hot": fitted.given_table is None,
        "feature_names": None if names is None else [str(name) for name in names],
        "column_names": None if columns is None else checked_names(list(columns), m),
        "feature_normalisation": fitted.feature_normalisation.name,
        "class_normalisation": fitted.class_normalisation.name,
        "class_kernel": None if kernel is None else [kernel.name, kernel.width],
        "calibration": [[*key, bias] for key, bias in fitted.calibration.items() if not callable(key[1])],
        "rejection": [[*key, as_data(one)] for key, one in fitted.rejection.items() if not callable(key[1])],
        "adaptation_constants": fitted.adaptation_constants,
        "adaptation": None if adapted is None else _about_adaptation(adapted),
        "all_samples_hashed": digest is not None and digest.is_complete,
        "held_out": as_data(fitted.held_out),
        "timings": fitted.timings,
        "arrays": sorted(arrays),
    }
    write_archive(path, Archive(FORMAT_VERSION, content, arrays), overwrite=overwrite)


def _about_adaptation(adapted: Adaptation) -> dict[str, Any]:
    """Return what is no array of it; classes by their numbers."""
    number = {label: i for i, label in enumerate(adapted.classes)}
    return {
        "labels": [encoded(label) for label in adapted.classes],
        "n_samples": adapted.n_samples,
        "rounds": adapted.rounds,
        "lost": [number[label] for label in adapted.lost],
        "merged": [[number[one], number[two]] for one, two in adapted.merged],
        "agreement": adapted.agreement,
    }


def require_name_of_model(path: str | Path) -> None:
    """Refuse a name by which others would take the file for what it is not."""
    if Path(path).suffix.lower() in _OTHER_KINDS:
        raise ValueError(
            f"a model is saved as a safetensors file, but {path} is named like another kind: name it .safetensors "
            "(pickle.dump(model, file) writes a pickle, model.recogniser().to_onnx(path) an ONNX file)"
        )


def load(path: str | Path) -> ZeroShotClassifier:
    """Read a model that was written by its ``save`` method. No code in the file is ever run.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    The fitted model: a JCMSPL, or whichever method was saved.

    Raises
    ------
    ModelFileError
        If the file is no model of jcmspl, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import jcmspl
    >>> from jcmspl.datasets import load_digits
    >>> digits = load_digits()
    >>> model = jcmspl.methods.RPL().fit(*digits.part("trainval"), class_vectors=digits.classes)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "model.safetensors"))
    ...     again = jcmspl.load(Path(folder, "model.safetensors"))
    >>> type(again).__name__, len(again.classes_)
    ('RPL', 7)
    """
    return load_model(Path(path))


def load_model(path: Path) -> ZeroShotClassifier:
    """Read a fitted model, or raise ModelFileError (OSError if the file cannot be read at all)."""
    archive = read_archive(path, FORMAT_VERSION, wanted_arrays)
    with reading(path):
        return restored(persistence_v1.upgraded(archive) if archive.version == 1 else archive)


def _whole_if_possible(counts: Float64Array) -> npt.NDArray[Any]:
    """Return numbers of samples as integers, which all versions read; sums of weights as they are."""
    whole = np.all((counts == np.floor(counts)) & (counts < 2**53))
    return counts.astype(np.int64) if whole else counts
