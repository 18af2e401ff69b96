"""Models in files: arrays and parameters, the classes, and the statistics on request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.scoring import METRICS
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledSums
from jcmspl.data.labels import label_array
from jcmspl.data.reading import Columns
from jcmspl.io.archive import Archive, ModelFileError, read_archive, reading, write_archive
from jcmspl.io.json_text import as_data
from jcmspl.model import model_layout as layout
from jcmspl.model import registry
from jcmspl.model.fitted import FittedModel, checked_names
from jcmspl.model.method import check_arrays
from jcmspl.model.model_layout import COMMON, FITTED, IMPUTED, PARAMETER, decoded, encoded, with_prefix
from jcmspl.model.parameters import NamedArrays, array_names
from jcmspl.support.arguments import as_number, one_of
from jcmspl.support.calls import current_names
from jcmspl.support.names import GROUPS, HEADS
from jcmspl.support.shown import listed, quoted

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier

#: The version of the format. Files of every version so far can be read.
FORMAT_VERSION = 2
# Endings of files that a model cannot be.
_OTHER_KINDS = (
    *(".pkl", ".pickle", ".joblib", ".npy", ".npz", ".mat", ".h5"),
    *(".hdf5", ".onnx", ".pt", ".pth", ".csv", ".json"),
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
    fitted = model.state
    (m, names), columns, kernel = fitted.columns, fitted.column_names, fitted.class_normalisation.kernel
    digest, adapted = fitted.digest, fitted.adaptation
    arrays: NamedArrays = {
        "class_vectors": fitted.class_table.vectors,
        "class_means": fitted.class_means,
        **layout.sample_arrays(fitted, model.statistics_ if statistics else None),
        **layout.normalisation_arrays(fitted),
        **{FITTED + name: array for name, array in fitted.arrays.items()},
    }
    if fitted.imputed_values is not None:
        arrays[IMPUTED] = np.asarray(fitted.imputed_values, dtype=np.float64)
        check_arrays({IMPUTED: arrays[IMPUTED]}, {IMPUTED: ("m",)}, {"m": m})
    sets = {key: one for key, one in fitted.set_calibration.items() if not callable(key[1])}
    if sets:
        arrays |= layout.set_arrays(sets.values())
    if adapted is not None:
        arrays |= {name: getattr(adapted, name.removeprefix(layout.ADAPTED)) for name in layout.ADAPTED_ARRAYS}
    for name in array_names(model):
        if not isinstance(parameters[name], (str, type(None))):
            arrays[PARAMETER + name] = np.asarray(parameters.pop(name), dtype=np.float64)
    content = {
        "model": type(model).__name__,
        "parameters": {name: layout.plain(value, name) for name, value in parameters.items()},
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
        "temperatures": [[*key, one] for key, one in fitted.temperatures.items() if not callable(key[1])],
        "sets": [[*key, layout.about_sets(one)] for key, one in sets.items()],
        "adaptation_constants": fitted.adaptation_constants,
        "adaptation": None if adapted is None else layout.about_adaptation(adapted),
        "all_samples_hashed": digest is not None and digest.is_complete,
        "held_out": as_data(fitted.held_out),
        "timings": fitted.timings,
        "arrays": sorted(arrays),
    }
    write_archive(path, Archive(FORMAT_VERSION, content, arrays), overwrite=overwrite)


def restored(archive: Archive) -> ZeroShotClassifier:
    """Return the model that a file holds."""
    content, arrays = archive.content, archive.arrays
    model_class = class_named(content["model"])
    _refuse_incomplete(archive)
    model = _with_parameters(model_class, content["parameters"], arrays)
    labels, n_seen = [decoded(item) for item in content["labels"]], int(content["n_seen"])
    if not 2 <= n_seen <= len(labels):
        raise ModelFileError("the numbers of classes do not fit together")
    common = {name: arrays[name] for name in COMMON if name in arrays}
    sizes = check_arrays(common, COMMON, {"n": len(labels), "c": n_seen})
    m, d = sizes["m"], sizes["d"]
    features = layout.feature_normalisation_of(content, arrays)
    normalisation = layout.class_normalisation_of(content, arrays, d)
    kernel, fitted_arrays = normalisation.kernel, with_prefix(arrays, FITTED)
    letters = {"m": features.n_outputs, "d": d if kernel is None else len(kernel.shift), "c": sizes["c"]}
    for name in model.ADDED_ARRAYS:
        fitted_arrays.setdefault(name, np.zeros([letters[str(size)] for size in model.ARRAYS[name]]))
    check_arrays(fitted_arrays, model.ARRAYS, letters, precision=model.PRECISION)
    if IMPUTED in arrays:
        check_arrays({IMPUTED: arrays[IMPUTED]}, {IMPUTED: ("m",)}, sizes)
    table = ClassTable(labels, arrays["class_vectors"], content["attributes"], content.get("sources"))
    sampled, one_hot = [decoded(item) for item in content["sampled_labels"]], content["one_hot"]
    if sampled and not one_hot:
        table.positions(sampled, "the statistics")
    collected = layout.statistics_of(arrays, sampled, m, features.scaling)
    means, trained = arrays["class_means"], table.vectors[:n_seen]
    classes = label_array(list(table)[:n_seen])
    # older files know the mean of each training class alone, which counts as a single sample
    as_samples = LabelledSums(classes.tolist(), means, np.ones(len(means)))
    names, column_names = content["feature_names"], content.get("column_names")
    constants, adaptation, held_out = (content.get(name) for name in ("adaptation_constants", "adaptation", "held_out"))
    model._fitted = FittedModel(
        arrays=fitted_arrays,
        classes=classes,
        class_table=table,
        class_means=means,
        trained_vectors=trained,
        feature_normalisation=features,
        class_normalisation=normalisation,
        sample_length=layout.sample_length_of(content, features, means, collected),
        # it follows from other arrays of the file
        alignment=None if one_hot or features.scaling.power else Alignment.of(means, trained),
        timings={str(name): float(value) for name, value in content["timings"].items()},
        given_table=None if one_hot else table,
        collected=collected,
        samples=layout.sums_of(arrays, sampled, m) if sampled else as_samples,
        digest=layout.digest_of(content, arrays),
        columns=Columns(m, None if names is None else np.array(checked_names(names, m), dtype=object)),
        calibration={_key(model, *key): as_number(bias, "seen_penalty") for *key, bias in content["calibration"]},
        rejection=_by_group(model, content.get("rejection", []), layout.threshold_of),
        temperatures=_by_group(model, content.get("temperatures", []), layout.temperature_of),
        set_calibration=_by_group(model, content.get("sets", []), partial(layout.sets_of, layout.set_rows(arrays))),
        adaptation_constants=None if constants is None else layout.constants_of(constants),
        adaptation=None
        if adaptation is None
        else layout.adaptation_of(adaptation, arrays, letters | {"d": d}, content["attributes"]),
        imputed_values=arrays.get(IMPUTED),
        column_names=None if column_names is None else tuple(checked_names(column_names, m)),
        held_out=None if held_out is None else layout.held_out_of(held_out),
    )
    return model


def _with_parameters(model_class: Any, given: dict[str, Any], arrays: NamedArrays) -> ZeroShotClassifier:
    """Return an unfitted model with parameters of a file."""
    parameters = {name: layout.parameter_of(value, name) for name, value in given.items()}
    parameters |= with_prefix(arrays, PARAMETER)
    parameters = current_names(parameters, model_class._get_param_names(), warn=False)
    unknown = set(parameters) - set(model_class._get_param_names())
    if unknown:
        raise ModelFileError(
            f"unknown parameters {listed(sorted(unknown))}: it was written by another version of jcmspl"
        )
    model: ZeroShotClassifier = model_class(**parameters)
    for name in ("seen_mean_share", "cosine_share"):
        if name not in parameters and hasattr(model, name):
            setattr(model, name, 0.0)  # the behaviour before there was this parameter
    model._check_parameters()
    return model


def _key(model: Any, space: Any, metric: Any) -> tuple[str, Any]:
    """Return the space and, if the method has one, the metric that a calibration is for."""
    known = None if model.own_metric is None else one_of(metric, "metric", (*METRICS, *HEADS))
    return one_of(space, "space", model.SPACES), known


def _by_group(model: Any, given: Any, read: Callable[[Any], Any]) -> dict[tuple[str, Any, str], Any]:
    """Return values by the space, the metric and the group of candidates that they are for."""
    return {(*_key(model, *key), one_of(group, "group", GROUPS)): read(about) for *key, group, about in given}


def _refuse_incomplete(archive: Archive) -> None:
    """Refuse a file that lacks an array it had: a model may work without it, but gives other answers then."""
    written = set(archive.content.get("arrays", ()))  # earlier files do not say
    missing = sorted(written.intersection(wanted_arrays(archive.version, archive.content)) - set(archive.arrays))
    if missing:
        raise ModelFileError(f"the array {missing[0].removeprefix(FITTED)!r} is missing")


def wanted_arrays(version: int, content: dict[str, Any]) -> list[str]:
    """Return the arrays to read, and leave any others in the file."""
    if version == 1:
        return [*layout.ARRAYS, *layout.ARRAYS_V1]
    model_class = class_named(content["model"])
    parameters = [PARAMETER + name for name in array_names(model_class)]
    return [*layout.ARRAYS, *(FITTED + name for name in model_class.ARRAYS), *parameters]


def class_named(name: Any) -> Any:
    """Return the kind of model that files know by a name."""
    try:
        return registry.get(name)
    except (ValueError, TypeError):
        raise ModelFileError(
            f"{quoted(name)} is no kind of model that this version of jcmspl can save or load"
        ) from None


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
        return restored(layout.upgraded(archive) if archive.version == 1 else archive)
