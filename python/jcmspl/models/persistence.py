"""Models in files: safetensors, with all that is not a tensor as JSON in the metadata.

Nothing in a file is ever executed, and nothing is believed before it is checked.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from jcmspl.core.search import METRICS, SPACES
from jcmspl.core.statistics import Statistics
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import Label, label_array
from jcmspl.data.normalisation import Normalisation, parse_normalisation
from jcmspl.io.atomic import write_atomically
from jcmspl.models.recognising import as_bias
from jcmspl.support.arguments import one_of

#: The version of the format. Files of every version so far can be read.
FORMAT_VERSION = 1
_FORMAT = "jcmspl model"
_TENSORS = (
    "visual_projection",
    "semantic_projection",
    "class_vectors",
    "class_means",
    "objective_terms",
    "feature_shift",
    "feature_scale",
    "class_shift",
    "class_scale",
    "init",
    "gram",
    "class_sums",
    "counts",
)
_LABEL_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}


class ModelFileError(ValueError):
    """A file that holds no model that this version can read."""


def save_model(model: Any, path: Path, *, statistics: bool, overwrite: bool) -> None:
    """Write a fitted estimator."""
    from sklearn.utils.validation import check_is_fitted

    import jcmspl

    check_is_fitted(model, "visual_projection_")
    if _model_class(type(model).__name__) is not type(model):
        raise ValueError(f"a {type(model).__name__} of another module cannot be saved: pickle it")
    model._check_parameters()
    parameters = model.get_params(deep=False)
    if callable(parameters["metric"]):
        raise ValueError("a model whose metric is a function cannot be saved: use a metric by name, or pickle")
    sampled: list[Label] = []
    tensors: dict[str, npt.NDArray[Any]] = {
        "visual_projection": model.visual_projection_,
        "semantic_projection": model.semantic_projection_,
        "class_vectors": model.class_table_.vectors,
        "class_means": model.class_means_,
    }
    for kind in ("feature", "class"):
        normalisation: Normalisation = getattr(model, f"{kind}_normalisation_")
        tensors |= {f"{kind}_shift": normalisation.shift, f"{kind}_scale": normalisation.scale}
    if statistics:
        raw = model.statistics_
        tensors |= {"gram": raw.gram, "class_sums": raw.class_sums, "counts": raw.counts}
        sampled = model._samples_so_far.labels  # more than classes_, if some have not been solved for
    if not isinstance(parameters.get("init", ""), str):
        tensors["init"] = np.asarray(parameters["init"], dtype=np.float64)
        parameters["init"] = None
    content = {
        "model": type(model).__name__,
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "labels": [_encoded(label) for label in model.class_table_],
        "n_seen": len(model.classes_),
        "attributes": model.class_table_.attributes,
        "sampled_labels": [_encoded(label) for label in sampled],
        "one_hot": model._table is None,
        "feature_names": _feature_names(model),
        "feature_normalisation": model.feature_normalisation_.name,
        "class_normalisation": model.class_normalisation_.name,
        "calibration": [[*key, bias] for key, bias in model.calibration_.items() if isinstance(key[1], str)],
        "timings": model.timings_,
    }
    if hasattr(model, "objective_terms_"):  # the result of iterations
        tensors["objective_terms"] = model.objective_terms_
        content |= {"converged": bool(model.converged_), "stationarity": model.stationarity_}
    metadata = {
        "format": _FORMAT,
        "format_version": str(FORMAT_VERSION),
        "jcmspl_version": jcmspl.__version__,
        "content": json.dumps(content, allow_nan=False),
    }
    data = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, metadata)
    write_atomically(path, data, overwrite=overwrite)


def load(path: str | Path) -> Any:
    """Read a model that was written by its ``save`` method. No code in the file is ever run.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    The fitted estimator.

    Raises
    ------
    ModelFileError
        If the file is no model of jcmspl, is damaged, or was written by a newer version.
    """
    return load_model(Path(path))


def load_model(path: Path) -> Any:
    """Read a fitted estimator, or raise ModelFileError (OSError if the file cannot be read at all)."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a model file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(metadata, path)
            present = set(file.keys())
            tensors = {name: file.get_tensor(name) for name in _TENSORS if name in present}
    except SafetensorError as error:
        raise ModelFileError(f"{path} is not a whole safetensors file ({error})") from None
    except (TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged: a tensor is of a type that NumPy does not have ({error})") from None
    try:
        return _restored(json.loads(metadata["content"]), tensors)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: its content does not fit together ({error})") from None


def _check_format(metadata: dict[str, str], path: Path) -> None:
    if metadata.get("format") != _FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a model of jcmspl")
    version = metadata.get("format_version", "")
    if version not in {str(number) for number in range(1, FORMAT_VERSION + 1)}:
        raise ModelFileError(
            f"{path} has format version {version[:20]!r}, written by jcmspl {metadata.get('jcmspl_version', '?')}: "
            f"this version of jcmspl reads up to {FORMAT_VERSION}, so a newer one is needed"
        )
    if "content" not in metadata:
        raise ModelFileError(f"{path} is damaged: it lacks its content")


def _restored(content: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> Any:
    from jcmspl.models.jcmspl import JCMSPL

    model_class = _model_class(content["model"])
    parameters = dict(content["parameters"])
    unknown = set(parameters) - set(inspect.signature(model_class).parameters)
    if unknown:
        raise ModelFileError(f"unknown parameters {sorted(unknown)}: it was written by another version of jcmspl")
    if "init" in inspect.signature(model_class).parameters and parameters.get("init") is None:
        parameters["init"] = _tensor(tensors, "init")
    model = model_class(**parameters)
    model._check_parameters()

    A, B = _tensor(tensors, "visual_projection"), _tensor(tensors, "semantic_projection")
    m, d = A.shape[1], B.shape[1]
    labels, n_seen = [_decoded(item) for item in content["labels"]], int(content["n_seen"])
    if not 2 <= n_seen <= len(labels) or len(A) != len(B) or len(A) < 1:
        raise ModelFileError("the numbers of classes or concepts do not fit together")
    table = ClassTable(labels, _tensor(tensors, "class_vectors", (len(labels), d)), content["attributes"])
    model.visual_projection_, model.semantic_projection_ = A, B
    model.class_table_ = table
    model.classes_ = label_array(list(table)[:n_seen])
    model.class_means_ = _tensor(tensors, "class_means", (n_seen, m))
    model.feature_normalisation_ = _normalisation(content, tensors, "feature", m)
    model.class_normalisation_ = _normalisation(content, tensors, "class", d)
    model.timings_ = {str(name): float(value) for name, value in content["timings"].items()}
    model.calibration_ = {
        (one_of(space, "space", SPACES), one_of(metric, "metric", METRICS)): as_bias(bias)
        for space, metric, bias in content["calibration"]
    }
    if isinstance(model, JCMSPL):
        _restore_iterations(model, content, tensors)
    model.n_features_in_ = m
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in content["feature_names"]], dtype=object)
        if len(model.feature_names_in_) != m:
            raise ModelFileError("the number of feature names does not fit")
    model._table = None if content["one_hot"] else table
    sampled = [_decoded(item) for item in content["sampled_labels"]]
    model._samples_so_far = _statistics(tensors, sampled, m, model.feature_normalisation_.unit_rows)
    if sampled and not content["one_hot"]:
        table.positions(sampled, "the statistics")
    return model


def _restore_iterations(model: Any, content: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> None:
    model.objective_terms_ = _tensor(tensors, "objective_terms")
    model.objective_ = model.objective_terms_.sum(axis=1)
    model.n_iter_, model.converged_ = len(model.objective_), bool(content["converged"])
    model.stationarity_ = {str(name): float(value) for name, value in content["stationarity"].items()}


def _model_class(name: Any) -> Any:
    from jcmspl.models.jcmspl import JCMSPL
    from jcmspl.models.peers import ESZSL, FPL, RPL, SAE, RidgeVS

    known = {model.__name__: model for model in (JCMSPL, RidgeVS, FPL, RPL, SAE, ESZSL)}
    if name not in known:
        raise ModelFileError(f"{name!r} is no kind of model that this version of jcmspl can save or load")
    return known[name]


def _tensor(
    tensors: dict[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...] | None = None
) -> npt.NDArray[np.float64]:
    if name not in tensors:
        raise ModelFileError(f"the tensor {name!r} is missing")
    tensor = tensors[name]
    if tensor.dtype != np.float64 or (tensor.ndim != 2 if shape is None else tensor.shape != shape):
        raise ModelFileError(f"the tensor {name!r} has the wrong type or shape ({tensor.dtype}, {tensor.shape})")
    if not np.isfinite(tensor).all():
        raise ModelFileError(f"the tensor {name!r} holds NaN or infinity")
    return tensor


def _normalisation(
    content: dict[str, Any], tensors: dict[str, npt.NDArray[Any]], kind: str, size: int
) -> Normalisation:
    name = content[f"{kind}_normalisation"]
    unit_rows, _ = parse_normalisation(name, f"{kind}_normalisation")
    shift, scale = _tensor(tensors, f"{kind}_shift", (size,)), _tensor(tensors, f"{kind}_scale", (size,))
    if not np.all(scale > 0):
        raise ModelFileError(f"the tensor '{kind}_scale' holds values that are not above 0")
    return Normalisation(name, unit_rows, shift, scale)


def _statistics(
    tensors: dict[str, npt.NDArray[Any]], labels: list[Label], m: int, unit_rows: bool
) -> LabelledStatistics | None:
    if "gram" not in tensors:
        return None
    counts = tensors["counts"]
    statistics = Statistics.from_arrays(
        _tensor(tensors, "gram", (m, m)),
        _tensor(tensors, "class_sums", (len(labels), m)),
        counts,
        unit_rows=unit_rows,
    )
    if not np.all(counts > 0):
        raise ModelFileError("the tensor 'counts' holds classes without samples")
    return LabelledStatistics(labels, statistics)


def _feature_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if name == "random_state":
        return None  # the state of a generator is of no use once the model is fitted
    raise ValueError(f"the parameter {name}={value!r} cannot be saved: use a number or a string, or pickle the model")


def _encoded(label: Label) -> list[Any]:
    kind = type(label).__name__
    if _LABEL_TYPES.get(kind) is not type(label) or label in (float("inf"), float("-inf")):
        raise ValueError(
            f"the label {label!r} cannot be saved: labels in files are strings, numbers or booleans (or use pickle)"
        )
    return [kind, label]


def _decoded(item: Any) -> Label:
    kind, value = item
    if _LABEL_TYPES.get(kind) is not type(value):
        raise ModelFileError(f"the label {value!r} is not of the type {kind!r}")
    label: Label = value
    return label
