"""Models in files: whatever arrays and parameters there are, the classes, and the statistics if they are wanted.

Nothing is believed before it is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.search import METRICS
from jcmspl.core.statistics import Statistics
from jcmspl.data.class_kernel import ClassKernel
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import Label, as_label_list, label_array, sorted_labels
from jcmspl.data.normalisation import Normalisation, parse_feature_normalisation, parse_normalisation
from jcmspl.io.archive import Archive, ModelFileError, read_archive, reading, write_archive
from jcmspl.io.json_text import as_data
from jcmspl.models import persistence_v1, registry
from jcmspl.models.adaptation import Adaptation
from jcmspl.models.arrays import NamedArrays, Shape, check_arrays
from jcmspl.models.open_set import Threshold
from jcmspl.models.parameters import array_names
from jcmspl.models.remembered import Remembered
from jcmspl.support.arguments import Float64Array, as_count, as_number, one_of
from jcmspl.support.names import GROUPS, KERNELS
from jcmspl.support.scaling import Scaling
from jcmspl.support.shown import listed, quoted
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from jcmspl.models.classifier import ZeroShotClassifier

#: The version of the format. Files of every version so far can be read.
FORMAT_VERSION = 2
# Arrays that every model has: n classes, c of them trained on; and those of the statistics, of s classes.
_COMMON: dict[str, Shape] = {
    "class_vectors": ("n", "d"),
    "class_means": ("c", "m"),
    "feature_shift": ("m",),
    "feature_scale": ("m",),
    "class_shift": ("d",),
    "class_scale": ("d",),
}
_STATISTICS: dict[str, Shape] = {"gram": ("m", "m"), "class_sums": ("s", "m")}
_WHITENING = "feature_whitening"  # (m, m), where samples are whitened
_COLUMNS = "class_columns"  # (d,), where the sources of class vectors have shares
_IMPUTED = "imputed_values"  # (m,), where the samples had values missing
_KERNEL = "kernel."
_KERNEL_ARRAYS: dict[str, Shape] = {"kernel.anchors": ("a", "d"), "kernel.root": ("a", "r"), "kernel.shift": ("r",)}
_ADAPTED = "adapted."
_ADAPTED_ARRAYS: dict[str, Shape] = {
    "adapted.class_vectors": ("n", "d"),
    "adapted.weights": ("n", "m"),
    "adapted.offsets": ("n",),
    "adapted.moved": ("n",),
    "adapted.backing": ("n",),
}
# Prefixes of the arrays of the method, and of parameters that are arrays.
_FITTED, _PARAMETER = "fitted.", "parameter."
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
# What stands for infinity, which JSON does not have.
_INFINITY = "inf"
# Parameters that are numbers in a row.
_SEQUENCES = ("source_shares", "penalty_factors")
_LABEL_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}


def save_model(model: ZeroShotClassifier, path: Path, *, statistics: bool, overwrite: bool) -> None:
    """Write a fitted model."""
    check_is_fitted(model)
    require_name_of_model(path)
    if _model_class(type(model).__name__) is not type(model):
        raise ValueError(
            f"this {type(model).__name__} is not the one that files know by that name (it was defined again since, or "
            "elsewhere): fit it anew, or pickle it"
        )
    model._check_parameters()
    parameters: dict[str, Any] = model.get_params(deep=False)
    if callable(parameters.get("metric")):
        raise ValueError("a model whose metric is a function cannot be saved: use a metric by name, or pickle")
    arrays: NamedArrays = {
        "class_vectors": model.class_table_.vectors,
        "class_means": model.class_means_,
        "class_sums": model._samples.sums,
        "counts": _whole_if_possible(model._samples.counts),
        **{_FITTED + name: array for name, array in model.arrays_.items()},
    }
    for kind in ("feature", "class"):
        normalisation: Normalisation = getattr(model, f"{kind}_normalisation_")
        arrays |= {f"{kind}_shift": normalisation.shift, f"{kind}_scale": normalisation.scale}
        if normalisation.whitening is not None:
            arrays[_WHITENING] = normalisation.whitening
    if model.class_normalisation_.columns is not None:
        arrays[_COLUMNS] = model.class_normalisation_.columns
    kernel = model.class_normalisation_.kernel
    if kernel is not None:
        arrays |= {name: getattr(kernel, name.removeprefix(_KERNEL)) for name in _KERNEL_ARRAYS}
    imputed = getattr(model, "imputed_values_", None)
    if imputed is not None:
        arrays[_IMPUTED] = np.asarray(imputed, dtype=np.float64)
        check_arrays({_IMPUTED: arrays[_IMPUTED]}, {_IMPUTED: ("m",)}, {"m": model.n_features_in_})
    adapted: Adaptation | None = getattr(model, "adapted_", None)
    if adapted is not None:
        arrays |= {name: getattr(adapted, name.removeprefix(_ADAPTED)) for name in _ADAPTED_ARRAYS}
    for name in [name for name in array_names(model) if not isinstance(parameters[name], (str, type(None)))]:
        arrays[_PARAMETER + name] = np.asarray(parameters.pop(name), dtype=np.float64)
    if statistics:
        raw = model.statistics_
        arrays |= {"gram": raw.gram, "class_sums": raw.class_sums, "counts": _whole_if_possible(raw.counts)}
    names, columns = (getattr(model, name, None) for name in ("feature_names_in_", "column_names_"))
    content = {
        "model": type(model).__name__,
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "labels": [_encoded(label) for label in model.class_table_],
        "n_seen": len(model.classes_),
        "attributes": model.class_table_.attributes,
        "sources": model.class_table_.sources,
        "sampled_labels": [_encoded(label) for label in model._samples.labels],  # may be more than those trained on
        "sample_length": model._sample_length,
        "one_hot": model._table is None,
        "feature_names": None if names is None else [str(name) for name in names],
        "column_names": None if columns is None else _names(list(columns), model.n_features_in_),
        "feature_normalisation": model.feature_normalisation_.name,
        "class_normalisation": model.class_normalisation_.name,
        "class_kernel": None if kernel is None else [kernel.name, kernel.width],
        "calibration": [[*key, bias] for key, bias in model.calibration_.items() if not callable(key[1])],
        "rejection": [[*key, as_data(one)] for key, one in model.rejection_.items() if not callable(key[1])],
        "adaptation_constants": getattr(model, "adaptation_constants_", None),
        "adaptation": None if adapted is None else _about_adaptation(adapted),
        "timings": model.timings_,
    }
    write_archive(path, Archive(FORMAT_VERSION, content, arrays), overwrite=overwrite)


def _about_adaptation(adapted: Adaptation) -> dict[str, Any]:
    """Return what is no array of it; classes by their numbers."""
    number = {label: i for i, label in enumerate(adapted.classes)}
    return {
        "labels": [_encoded(label) for label in adapted.classes],
        "n_samples": adapted.n_samples,
        "rounds": adapted.rounds,
        "lost": [number[label] for label in adapted.lost],
        "merged": [[number[one], number[two]] for one, two in adapted.merged],
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
    >>> model = jcmspl.RPL().fit(*digits.part("trainval"), class_vectors=digits.classes)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "model.safetensors"))
    ...     again = jcmspl.load(Path(folder, "model.safetensors"))
    >>> type(again).__name__, len(again.classes_)
    ('RPL', 7)
    """
    return load_model(Path(path))


def load_model(path: Path) -> ZeroShotClassifier:
    """Read a fitted model, or raise ModelFileError (OSError if the file cannot be read at all)."""
    archive = read_archive(path, FORMAT_VERSION, _wanted)
    with reading(path):
        return _restored(persistence_v1.upgraded(archive) if archive.version == 1 else archive)


def _wanted(version: int, content: dict[str, Any]) -> list[str]:
    """Return the arrays to read: no others, whatever there may be in the file."""
    common = [*_COMMON, *_STATISTICS, "counts", _WHITENING, _COLUMNS, _IMPUTED, *_KERNEL_ARRAYS, *_ADAPTED_ARRAYS]
    if version == 1:
        return [*common, *persistence_v1.ARRAYS]
    model_class = _model_class(content["model"])
    parameters = [_PARAMETER + name for name in array_names(model_class)]
    return [*common, *(_FITTED + name for name in model_class.ARRAYS), *parameters]


def _restored(archive: Archive) -> ZeroShotClassifier:
    content, arrays = archive.content, archive.arrays
    model_class = _model_class(content["model"])
    given = {name: float(value) if value == _INFINITY else value for name, value in content["parameters"].items()}
    parameters: dict[str, Any] = given | _with_prefix(arrays, _PARAMETER)
    if parameters.get("class_weight") is not None:
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    for name in _SEQUENCES:
        if parameters.get(name) is not None:
            parameters[name] = tuple(parameters[name])
    unknown = set(parameters) - set(model_class._get_param_names())
    if unknown:
        raise ModelFileError(
            f"unknown parameters {listed(sorted(unknown))}: it was written by another version of jcmspl"
        )
    model: ZeroShotClassifier = model_class(**parameters)
    if "seen_samples" not in parameters and hasattr(model, "seen_samples"):
        model.seen_samples = 0.0  # as it was before there was such a parameter
    model._check_parameters()

    labels, n_seen = [_decoded(item) for item in content["labels"]], int(content["n_seen"])
    if not 2 <= n_seen <= len(labels):
        raise ModelFileError("the numbers of classes do not fit together")
    common = {name: arrays[name] for name in _COMMON if name in arrays}
    sizes = check_arrays(common, _COMMON, {"n": len(labels), "c": n_seen})
    kernel = _kernel(content, arrays, sizes["d"])
    model.arrays_ = _with_prefix(arrays, _FITTED)
    dimensions = sizes["d"] if kernel is None else len(kernel.shift)
    check_arrays(model.arrays_, model.ARRAYS, {"m": sizes["m"], "d": dimensions, "c": sizes["c"]})
    table = ClassTable(labels, arrays["class_vectors"], content["attributes"], content.get("sources"))
    model.class_table_ = table
    model.classes_ = label_array(list(table)[:n_seen])
    model.class_means_ = arrays["class_means"]
    model.feature_normalisation_ = _normalisation(content, arrays, "feature")
    columns = _columns(arrays, sizes["d"])
    model.class_normalisation_ = replace(_normalisation(content, arrays, "class"), kernel=kernel, columns=columns)
    model.timings_ = {str(name): float(value) for name, value in content["timings"].items()}
    model.calibration_ = {
        (one_of(space, "space", model.SPACES), _metric(model, metric)): as_number(bias, "seen_bias")
        for space, metric, bias in content["calibration"]
    }
    model.rejection_ = {
        (one_of(space, "space", model.SPACES), _metric(model, metric), one_of(group, "group", GROUPS)): _threshold(
            about
        )
        for space, metric, group, about in content.get("rejection", [])
    }
    constants = content.get("adaptation_constants")
    if constants is not None:
        model.adaptation_constants_ = _constants(constants)
    if content.get("adaptation") is not None:
        model.adapted_ = _adaptation(content["adaptation"], arrays, sizes, content["attributes"])
    model._competition = OneWarning()
    model._remembered = Remembered()
    model.n_features_in_ = sizes["m"]
    if _IMPUTED in arrays:
        check_arrays({_IMPUTED: arrays[_IMPUTED]}, {_IMPUTED: ("m",)}, sizes)
        model.imputed_values_ = arrays[_IMPUTED]
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array(_names(content["feature_names"], sizes["m"]), dtype=object)
    if content.get("column_names") is not None:
        model.column_names_ = tuple(_names(content["column_names"], sizes["m"]))
    model._table = None if content["one_hot"] else table
    sampled = [_decoded(item) for item in content["sampled_labels"]]
    model._collected = _statistics(arrays, sampled, sizes["m"], model.feature_normalisation_.scaling)
    if sampled and not content["one_hot"]:
        table.positions(sampled, "the statistics")
    model._samples = _samples(arrays, sampled, sizes["m"]) if sampled else _means_as_samples(model)
    model._sample_length = _sample_length(content, model)
    model._trained_vectors = table.vectors[:n_seen]
    return model


def _with_prefix(arrays: NamedArrays, prefix: str) -> NamedArrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _metric(model: Any, metric: Any) -> Any:
    """Return the metric that a calibration is for, as far as the method has one."""
    return one_of(metric, "metric", METRICS) if hasattr(model, "metric") else None


def _threshold(about: dict[str, Any]) -> Threshold:
    found = Threshold(**{name: as_number(value, f"the {name} of a threshold") for name, value in about.items()})
    if not all(0 <= share <= 1 for share in (found.lost, found.rejected, found.auroc)):
        raise ModelFileError("a share of a threshold is not between 0 and 1")
    return found


def _model_class(name: Any) -> Any:
    try:
        return registry.get(name)
    except (ValueError, TypeError):
        raise ModelFileError(
            f"{quoted(name)} is no kind of model that this version of jcmspl can save or load"
        ) from None


def _normalisation(content: dict[str, Any], arrays: NamedArrays, kind: str) -> Normalisation:
    name = content[f"{kind}_normalisation"]
    if kind == "feature":
        steps = parse_feature_normalisation(name)
        if steps.power is None:
            raise ModelFileError("the normalisation does not say whether it takes roots")
        scaling = steps.scaling(steps.power)
    else:
        scaling = Scaling(parse_normalisation(name, f"{kind}_normalisation")[0])
    if not np.all(arrays[f"{kind}_scale"] > 0):
        raise ModelFileError(f"the array '{kind}_scale' holds values that are not above 0")
    shift, whitening = arrays[f"{kind}_shift"], arrays.get(_WHITENING) if kind == "feature" else None
    if whitening is not None:
        check_arrays({_WHITENING: whitening}, {_WHITENING: ("m", "m")}, {"m": len(shift)})
        if np.triu(whitening, 1).any() or not np.all(whitening.diagonal() > 0):
            raise ModelFileError(f"the array '{_WHITENING}' is not lower triangular with a diagonal above 0")
    return Normalisation(name, scaling, shift, arrays[f"{kind}_scale"], whitening)


def _names(names: Any, n_features: int) -> list[str]:
    """Return the names of features."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError("the names of features are not a list of texts")
    if len(names) != n_features:
        raise ModelFileError("the number of feature names does not fit")
    return names


def _columns(arrays: NamedArrays, n_attributes: int) -> Float64Array | None:
    if _COLUMNS not in arrays:
        return None
    check_arrays({_COLUMNS: arrays[_COLUMNS]}, {_COLUMNS: ("d",)}, {"d": n_attributes})
    if np.any(arrays[_COLUMNS] < 0):
        raise ModelFileError(f"the array '{_COLUMNS}' holds values below 0")
    return arrays[_COLUMNS]


def _kernel(content: dict[str, Any], arrays: NamedArrays, n_attributes: int) -> ClassKernel | None:
    given = content.get("class_kernel")
    if given is None:
        return None
    parts = {name: array for name, array in arrays.items() if name in _KERNEL_ARRAYS}
    check_arrays(parts, _KERNEL_ARRAYS, {"d": n_attributes})
    name, width = given
    if as_number(width, "the width of the kernel") <= 0:
        raise ModelFileError("the width of the kernel is not above 0")
    return ClassKernel(one_of(name, "class_kernel", KERNELS[1:]), float(width), **_with_prefix(parts, _KERNEL))


def _constants(given: Any) -> tuple[float, float]:
    pull, temperature = (as_number(value, "a constant of the adaptation") for value in given)
    if min(pull, temperature) <= 0:
        raise ModelFileError("a constant of the adaptation is not above 0")
    return pull, temperature


def _adaptation(about: dict[str, Any], arrays: NamedArrays, sizes: dict[str, int], attributes: Any) -> Adaptation:
    labels = [_decoded(item) for item in about["labels"]]
    parts = {name: array for name, array in arrays.items() if name in _ADAPTED_ARRAYS}
    check_arrays(parts, _ADAPTED_ARRAYS, {"n": len(labels), "d": sizes["d"], "m": sizes["m"]})
    found = _with_prefix(parts, _ADAPTED)

    def named(number: Any) -> Label:
        return labels[as_count(number, "the number of a class", minimum=0, maximum=len(labels) - 1)]

    return Adaptation(
        classes=ClassTable(labels, found.pop("class_vectors"), attributes),
        **found,
        n_samples=as_count(about["n_samples"], "the number of samples", minimum=0),
        rounds=as_count(about["rounds"], "the number of rounds", minimum=0),
        lost=tuple(map(named, about["lost"])),
        merged=tuple((named(one), named(two)) for one, two in about["merged"]),
    )


def _statistics(arrays: NamedArrays, labels: list[Label], m: int, scaling: Scaling) -> LabelledStatistics | None:
    if "gram" not in arrays:
        return None
    sums, counts = {name: arrays[name] for name in _STATISTICS}, arrays["counts"]
    check_arrays(sums, _STATISTICS, {"m": m, "s": len(labels)})
    statistics = Statistics.from_arrays(sums["gram"], sums["class_sums"], counts, **scaling._asdict())
    if not np.all(counts > 0) or labels != sorted_labels(dict.fromkeys(labels)):
        raise ModelFileError("the statistics have classes without samples, or not in order")
    return LabelledStatistics(labels, statistics)


def _whole_if_possible(counts: Float64Array) -> npt.NDArray[Any]:
    """Return numbers of samples as integers, which all versions read; sums of weights as they are."""
    whole = np.all((counts == np.floor(counts)) & (counts < 2**53))
    return counts.astype(np.int64) if whole else counts


def _class_weight(stored: Any) -> Any:
    """Return a class_weight from what _plain made of it."""
    if isinstance(stored, str):
        return stored
    return {_decoded(item): as_number(weight, "class_weight") for item, weight in stored}


def _samples(arrays: NamedArrays, labels: list[Label], m: int) -> LabelledSums:
    counts = arrays["counts"]
    check_arrays({"class_sums": arrays["class_sums"]}, {"class_sums": ("s", "m")}, {"m": m, "s": len(labels)})
    if counts.shape != (len(labels),) or not np.all((counts > 0) & np.isfinite(counts)):
        raise ModelFileError("the array 'counts' does not hold the number of samples of each class")
    if len(set(labels)) != len(labels):
        raise ModelFileError("a class has two sums of samples")
    return LabelledSums(labels, arrays["class_sums"], counts.astype(np.float64))


def _means_as_samples(model: ZeroShotClassifier) -> LabelledSums:
    """Return what older files know of samples: the mean of each training class, as if it were a single one."""
    means = model.class_means_
    return LabelledSums(model.classes_.tolist(), means, np.ones(len(means)))


def _sample_length(content: dict[str, Any], model: ZeroShotClassifier) -> float:
    """Return the usual length of a normalised sample, as far as the file tells."""
    if "sample_length" in content:
        length = as_number(content["sample_length"], "the length of samples")
        if length <= 0:
            raise ModelFileError("the length of samples is not above 0")
        return length
    features, means = model.feature_normalisation_, model.class_means_
    if features.whitening is not None or features.name.endswith("_unit"):
        return 1.0
    with np.errstate(all="ignore"):  # of a file that is damaged
        if model._collected is not None:
            raw = model._collected.statistics
            squares = float(features.of_statistics(raw).gram.trace()) / raw.n_samples
        else:
            squares = float((features.of_sums(means, np.ones(len(means))) ** 2).sum(axis=1).mean())
    if not np.isfinite(squares):
        raise ModelFileError("the normalisation of samples does not fit them")
    return float(np.sqrt(squares)) if squares > 0 else 1.0


def _plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON has it."""
    if name == "class_weight" and isinstance(value, Mapping):
        items = as_label_list(list(value), name)
        return [[_encoded(label), float(value[label])] for label in items]
    if name in _SEQUENCES and value is not None:
        return [float(number) for number in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value == np.inf:
        return _INFINITY
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if name == "random_state":
        return None  # the state of a generator is of no use once the model is fitted
    raise ValueError(f"the parameter {name}={value!r} cannot be saved: use a number or a string, or pickle the model")


def _encoded(label: Label) -> list[Any]:
    kind = type(label).__name__
    if _LABEL_TYPES.get(kind) is not type(label) or label in (float("inf"), float("-inf")):
        raise ValueError(
            f"the label {quoted(label)} cannot be saved: labels in files are strings, numbers or booleans "
            "(or use pickle)"
        )
    return [kind, label]


def _decoded(item: Any) -> Label:
    kind, value = item
    if _LABEL_TYPES.get(kind) is not type(value):
        raise ModelFileError(f"the label {quoted(value)} is not of the type {quoted(kind)}")
    label: Label = value
    return label
