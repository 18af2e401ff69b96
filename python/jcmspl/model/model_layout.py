"""The layout of model files: the names and shapes of arrays, and how each part of a model is written and read.

The two directions of a part stand next to each other. Nothing that is read is believed before it is checked.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.core.solver import STATIONARITY
from jcmspl.core.statistics import Statistics
from jcmspl.data.class_kernel import ClassKernel
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics, LabelledSums
from jcmspl.data.labels import Label, as_label_list, sorted_labels
from jcmspl.data.normalisation import Normalisation, parse_feature_normalisation, parse_normalisation
from jcmspl.data.sample_digest import MOST, SampleDigest
from jcmspl.data.whitening import is_triangular
from jcmspl.datasets.splits import HeldOut
from jcmspl.io.archive import Archive, ModelFileError
from jcmspl.model.adaptation import Adaptation, Agreement
from jcmspl.model.fitted import FittedModel
from jcmspl.model.method import check_arrays
from jcmspl.model.parameters import NamedArrays, Shape
from jcmspl.model.prediction_sets import LEVELS, SetCalibration
from jcmspl.model.threshold import Threshold
from jcmspl.support.arguments import Float64Array, as_count, as_number, one_of
from jcmspl.support.names import KERNELS
from jcmspl.support.scaling import Scaling
from jcmspl.support.shown import quoted

# Arrays that every model has: n classes, c of them trained on; and those of the statistics, of s classes.
COMMON: dict[str, Shape] = {
    "class_vectors": ("n", "d"),
    "class_means": ("c", "m"),
    "feature_shift": ("m",),
    "feature_scale": ("m",),
    "class_shift": ("d",),
    "class_scale": ("d",),
}
STATISTICS: dict[str, Shape] = {"gram": ("m", "m"), "class_sums": ("s", "m")}
WHITENING = "feature_whitening"  # (m, m), where samples are whitened; (r, m) where r directions are left
COLUMNS = "class_columns"  # (d,), where the sources of class vectors have shares
IMPUTED = "imputed_values"  # (m,), where the samples had values missing
HASHES = "sample_hashes"  # (h,), where the digest of the training samples is known
KERNEL, ADAPTED = "kernel.", "adapted."
KERNEL_ARRAYS: dict[str, Shape] = {"kernel.anchors": ("a", "d"), "kernel.root": ("a", "r"), "kernel.shift": ("r",)}
ADAPTED_ARRAYS: dict[str, Shape] = {
    "adapted.class_vectors": ("n", "d"),
    "adapted.weights": ("n", "m"),
    "adapted.offsets": ("n",),
    "adapted.moved": ("n",),
    "adapted.backing": ("n",),
}
SETS = "sets."  # a row for each calibration of prediction sets
SET_ARRAYS: dict[str, Shape] = {"sets.thresholds": ("g", len(LEVELS)), "sets.sizes": ("g", len(LEVELS))}
#: All arrays that a file may hold besides those of the method and of parameters.
ARRAYS = (
    *COMMON,
    *STATISTICS,
    "counts",
    WHITENING,
    COLUMNS,
    IMPUTED,
    HASHES,
    *KERNEL_ARRAYS,
    *ADAPTED_ARRAYS,
    *SET_ARRAYS,
)
# Prefixes of the arrays of the method, and of parameters that are arrays.
FITTED, PARAMETER = "fitted.", "parameter."
# Infinity, which JSON does not have, and parameters that are numbers in a row.
_INFINITY, _SEQUENCES = "inf", ("source_shares", "ensemble_factors")
#: The arrays of a method in a file of format version 1: JCMSPL and the linear peers, whose arrays had fixed names.
ARRAYS_V1 = ("visual_projection", "semantic_projection", "objective_terms", "init")


def upgraded(archive: Archive) -> Archive:
    """Return an archive of version 1 as version 2 has it."""
    content, arrays = dict(archive.content), dict(archive.arrays)
    for name in ARRAYS_V1[:3]:
        if name in arrays:
            arrays[FITTED + name] = arrays.pop(name)
    parameters = dict(content["parameters"])
    if "init" in parameters and parameters["init"] is None:
        del parameters["init"]
        arrays["parameter.init"] = arrays.pop("init")
    if "stationarity" in content:  # the result of iterations
        arrays["fitted.stationarity"] = np.array([float(content["stationarity"][name]) for name in STATIONARITY])
        arrays["fitted.converged"] = np.array(float(bool(content["converged"])))
    return Archive(2, {**content, "parameters": parameters}, arrays)


def with_prefix(arrays: NamedArrays, prefix: str) -> NamedArrays:
    """Return the arrays whose names have a prefix, by their names without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _positive(value: Any, name: str) -> float:
    if as_number(value, name) <= 0:
        raise ModelFileError(f"{name} is not above 0")
    return float(value)


# Labels and parameters.
def _numpy_time(kind: str, count: Any, unit: Any) -> Any:
    return np.array(operator.index(count), dtype=f"{kind}[{unit}]")[()]


_LABEL_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
# Times: texts, or numbers of units.
_TIMES: dict[str, Callable[[Any], Label]] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*map(operator.index, parts)),
    "datetime64": lambda parts: _numpy_time("M8", *parts),
    "timedelta64": lambda parts: _numpy_time("m8", *parts),
}


def encoded(label: Label) -> list[Any]:
    """Return a label as JSON has it, with its type."""
    kind = type(label).__name__
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return [kind, [int(label.astype(np.int64)), np.datetime_data(label.dtype)[0]]]
    if type(label) in (datetime.datetime, datetime.date):
        return [kind, label.isoformat()]  # type: ignore[attr-defined]
    if type(label) is datetime.timedelta:
        return [kind, [label.days, label.seconds, label.microseconds]]
    if _LABEL_TYPES.get(kind) is not type(label) or label in (float("inf"), float("-inf")):
        raise ValueError(
            f"the label {quoted(label)} cannot be saved: labels in files are strings, numbers, booleans or times "
            "(or use pickle)"
        )
    return [kind, label]


def decoded(item: Any) -> Label:
    """Return a label that was encoded."""
    kind, value = item
    if kind in _TIMES:
        try:
            return _TIMES[kind](value)
        except (TypeError, ValueError, OverflowError):
            raise ModelFileError(f"the label {quoted(value)} is not of the type {quoted(kind)}") from None
    if _LABEL_TYPES.get(kind) is not type(value):
        raise ModelFileError(f"the label {quoted(value)} is not of the type {quoted(kind)}")
    label: Label = value
    return label


def plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON has it."""
    if name == "class_weight" and isinstance(value, Mapping):
        return [[encoded(label), float(value[label])] for label in as_label_list(list(value), name)]
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


def parameter_of(value: Any, name: str) -> Any:
    """Return a parameter from its form in JSON."""
    if value == _INFINITY:
        return float(value)
    if name == "class_weight" and value is not None and not isinstance(value, str):
        return {decoded(item): as_number(weight, "class_weight") for item, weight in value}
    return tuple(value) if name in _SEQUENCES and value is not None else value


# Normalisations.
def normalisation_arrays(fitted: FittedModel) -> NamedArrays:
    """Return the arrays of both normalisations."""
    samples, classes = fitted.feature_normalisation, fitted.class_normalisation
    optional = {WHITENING: samples.whitening, COLUMNS: classes.columns}
    found = {name: array for name, array in optional.items() if array is not None}
    found |= {"feature_shift": samples.shift, "feature_scale": samples.scale}
    found |= {"class_shift": classes.shift, "class_scale": classes.scale}
    if classes.kernel is not None:
        found |= {name: getattr(classes.kernel, name.removeprefix(KERNEL)) for name in KERNEL_ARRAYS}
    return found


def feature_normalisation_of(content: dict[str, Any], arrays: NamedArrays) -> Normalisation:
    """Return the normalisation of samples."""
    name, whitening = content["feature_normalisation"], arrays.get(WHITENING)
    steps = parse_feature_normalisation(name)
    if steps.power is None:
        raise ModelFileError("the normalisation does not say whether it takes roots")
    # earlier files also say "whiten" where each class had one sample and nothing could be whitened
    is_pardoned = whitening is None and "counts" in arrays and bool(np.all(arrays["counts"] <= 1))
    if steps.whiten != (whitening is not None) and not is_pardoned:
        raise ModelFileError(f"the array '{WHITENING}' does not fit the normalisation of samples, {quoted(name)}")
    found = _normalisation(arrays, "feature", name, steps.scaling(steps.power))
    if whitening is not None:
        check_arrays({WHITENING: whitening}, {WHITENING: ("r", "m")}, {"m": len(found.shift)})
        _check_whitening(whitening)
    return replace(found, whitening=whitening)


def class_normalisation_of(content: dict[str, Any], arrays: NamedArrays, n_attributes: int) -> Normalisation:
    """Return the normalisation of class vectors."""
    name, columns = content["class_normalisation"], arrays.get(COLUMNS)
    scaling = Scaling(parse_normalisation(name, "class_normalisation")[0])
    if columns is not None:
        check_arrays({COLUMNS: columns}, {COLUMNS: ("d",)}, {"d": n_attributes})
        if np.any(columns < 0):
            raise ModelFileError(f"the array '{COLUMNS}' holds values below 0")
    kernel, given = None, content.get("class_kernel")
    if given is not None:
        parts = {one: array for one, array in arrays.items() if one in KERNEL_ARRAYS}
        check_arrays(parts, KERNEL_ARRAYS, {"d": n_attributes})
        kind, width = one_of(given[0], "class_kernel", KERNELS[1:]), _positive(given[1], "the width of the kernel")
        kernel = ClassKernel(kind, width, **with_prefix(parts, KERNEL))
    return replace(_normalisation(arrays, "class", name, scaling), kernel=kernel, columns=columns)


def _normalisation(arrays: NamedArrays, kind: str, name: str, scaling: Scaling) -> Normalisation:
    if not np.all(arrays[f"{kind}_scale"] > 0):
        raise ModelFileError(f"the array '{kind}_scale' holds values that are not above 0")
    return Normalisation(name, scaling, arrays[f"{kind}_shift"], arrays[f"{kind}_scale"], None)


def _check_whitening(T: Float64Array) -> None:
    if T.shape[0] < T.shape[1]:
        return
    if T.shape[0] > T.shape[1]:
        raise ModelFileError(f"the array '{WHITENING}' has more rows than columns")
    if not np.all(T.diagonal() > 0):
        raise ModelFileError(f"the array '{WHITENING}' has values on its diagonal that are not above 0")
    if is_triangular(T):
        return
    try:
        if not np.array_equal(T, T.T):
            raise np.linalg.LinAlgError
        np.linalg.cholesky(T)
    except np.linalg.LinAlgError:
        raise ModelFileError(
            f"the array '{WHITENING}' is neither lower triangular nor symmetric and positive definite"
        ) from None


# Samples: sums by class, statistics, and their digest.
def sample_arrays(fitted: FittedModel, statistics: Statistics | None) -> NamedArrays:
    """Return the sums of samples by class, with the Gram matrix if the statistics are given, and the digest."""
    sums = fitted.samples if statistics is None else statistics
    counts: npt.NDArray[Any] = sums.counts
    if np.all((counts == np.floor(counts)) & (counts < 2**53)):
        counts = counts.astype(np.int64)  # which all versions read; sums of weights stay floats
    found = {"class_sums": sums.sums if isinstance(sums, LabelledSums) else sums.class_sums, "counts": counts}
    if statistics is not None:
        found["gram"] = statistics.gram
    return found if fitted.digest is None else {**found, HASHES: fitted.digest.hashes}


def statistics_of(
    arrays: NamedArrays, labels: list[Label], n_features: int, scaling: Scaling
) -> LabelledStatistics | None:
    """Return the statistics of these classes; None for a file without them."""
    if "gram" not in arrays:
        return None
    sums, counts = {name: arrays[name] for name in STATISTICS}, arrays["counts"]
    check_arrays(sums, STATISTICS, {"m": n_features, "s": len(labels)})
    statistics = Statistics.from_arrays(sums["gram"], sums["class_sums"], counts, **scaling._asdict())
    if not np.all(counts > 0) or labels != sorted_labels(dict.fromkeys(labels)):
        raise ModelFileError("the statistics have classes without samples, or not in order")
    return LabelledStatistics(labels, statistics)


def sums_of(arrays: NamedArrays, labels: list[Label], n_features: int) -> LabelledSums:
    """Return the sums of samples of these classes."""
    sums, counts = {"class_sums": arrays["class_sums"]}, arrays["counts"]
    check_arrays(sums, {"class_sums": ("s", "m")}, {"m": n_features, "s": len(labels)})
    if counts.shape != (len(labels),) or not np.all((counts > 0) & np.isfinite(counts)):
        raise ModelFileError("the array 'counts' does not hold the number of samples of each class")
    if len(set(labels)) != len(labels):
        raise ModelFileError("a class has two sums of samples")
    return LabelledSums(labels, arrays["class_sums"], counts.astype(np.float64))


def sample_length_of(
    content: dict[str, Any], features: Normalisation, means: Float64Array, collected: LabelledStatistics | None
) -> float:
    """Return the usual length of a normalised sample; older files do not say it, but others let it be found."""
    if "sample_length" in content:
        return _positive(content["sample_length"], "the length of samples")
    if features.whitening is not None or features.name.endswith("_unit"):
        return 1.0
    with np.errstate(all="ignore"):  # of a file that is damaged
        if collected is not None:
            raw = collected.statistics
            squares = float(features.of_statistics(raw).squares.sum()) / raw.n_samples
        else:
            squares = float((features.of_sums(means, np.ones(len(means))) ** 2).sum(axis=1).mean())
    if not np.isfinite(squares):
        raise ModelFileError("the normalisation of samples does not fit them")
    return float(np.sqrt(squares)) if squares > 0 else 1.0


def digest_of(content: dict[str, Any], arrays: NamedArrays) -> SampleDigest | None:
    """Return the digest of the training samples; files of older versions have none."""
    hashes = arrays.get(HASHES)
    if hashes is None:
        return None
    if hashes.dtype != np.uint64 or hashes.ndim != 1 or not np.all(hashes[1:] > hashes[:-1]) or len(hashes) > MOST:
        raise ModelFileError(f"the array '{HASHES}' does not hold at most {MOST:,} hashes in ascending order")
    is_complete = content["all_samples_hashed"]
    if not isinstance(is_complete, bool) or not (is_complete or len(hashes)):
        raise ModelFileError(f"it does not say whether the array '{HASHES}' is of all samples")
    return SampleDigest(hashes, is_complete)


def held_out_of(given: dict[str, Any]) -> HeldOut:
    """Return the way in which test samples were drawn."""
    share = as_number(given["share"], "the share that was held out")
    if not 0 <= share < 1 or not isinstance(given["drawn_from"], str):
        raise ModelFileError("what was held out of the training data is not known")
    seed = as_count(given["random_state"], "the seed of what was held out", minimum=0)
    return HeldOut(share, seed, given["drawn_from"])


# Thresholds and adaptation.
def threshold_of(about: dict[str, Any]) -> Threshold:
    """Return a threshold for rejection."""
    found = Threshold(**{name: as_number(value, f"the {name} of a threshold") for name, value in about.items()})
    if not all(0 <= share <= 1 for share in (found.lost, found.rejected, found.auroc)):
        raise ModelFileError("a share of a threshold is not between 0 and 1")
    if found.weight < 0 or found.temperature <= 0:
        raise ModelFileError("the weight or the temperature of a threshold is out of range")
    return found


def temperature_of(given: Any) -> float:
    """Return a calibrated temperature."""
    return _positive(given, "a temperature")


def set_arrays(calibrations: Iterable[SetCalibration]) -> NamedArrays:
    """Return the thresholds and the sizes of calibrated prediction sets, a row for each."""
    every = list(calibrations)
    return {name: np.stack([getattr(one, name.removeprefix(SETS)) for one in every]) for name in SET_ARRAYS}


def set_rows(arrays: NamedArrays) -> Iterator[NamedArrays]:
    """Give the arrays of each calibration of prediction sets."""
    found = {name: array for name, array in arrays.items() if name in SET_ARRAYS}
    if not found:
        return
    for number in range(check_arrays(found, SET_ARRAYS, {})["g"]):
        yield with_prefix({name: array[number] for name, array in found.items()}, SETS)


def about_sets(calibration: SetCalibration) -> dict[str, float]:
    """Return the part of a calibration of prediction sets that is not arrays."""
    return {name: getattr(calibration, name) for name in ("temperature", "n_classes", "n_candidates")}


def sets_of(rows: Iterator[NamedArrays], about: dict[str, Any]) -> SetCalibration:
    """Return the calibration of prediction sets whose arrays are next."""
    arrays = next(rows, None)
    if arrays is None:
        raise ModelFileError("the calibrations of prediction sets do not fit their arrays")
    return SetCalibration(
        temperature=temperature_of(about["temperature"]),
        **arrays,
        n_classes=as_count(about["n_classes"], "the number of classes of prediction sets"),
        n_candidates=_positive(about["n_candidates"], "the number of candidates of prediction sets"),
    )


def constants_of(given: Any) -> tuple[float, float]:
    """Return the constants of an adaptation that were calibrated."""
    pull, temperature = (_positive(value, "a constant of the adaptation") for value in given)
    return pull, temperature


def about_adaptation(adapted: Adaptation) -> dict[str, Any]:
    """Return the part of an adaptation that is not arrays; classes by their numbers."""
    number = {label: i for i, label in enumerate(adapted.classes)}
    return {
        "labels": [encoded(label) for label in adapted.classes],
        "n_samples": adapted.n_samples,
        "rounds": adapted.rounds,
        "lost": [number[label] for label in adapted.lost],
        "merged": [[number[one], number[two]] for one, two in adapted.merged],
        "agreement": adapted.agreement,
    }


def adaptation_of(about: dict[str, Any], arrays: NamedArrays, sizes: dict[str, int], attributes: Any) -> Adaptation:
    """Return an adaptation."""
    labels = [decoded(item) for item in about["labels"]]
    parts = {name: array for name, array in arrays.items() if name in ADAPTED_ARRAYS}
    check_arrays(parts, ADAPTED_ARRAYS, {"n": len(labels), "d": sizes["d"], "m": sizes["m"]})
    found = with_prefix(parts, ADAPTED)

    def named(number: Any) -> Label:
        return labels[as_count(number, "the number of a class", minimum=0, maximum=len(labels) - 1)]

    return Adaptation(
        classes=ClassTable(labels, found.pop("class_vectors"), attributes),
        **found,
        n_samples=as_count(about["n_samples"], "the number of samples", minimum=0),
        rounds=as_count(about["rounds"], "the number of rounds", minimum=0),
        lost=tuple(map(named, about["lost"])),
        merged=tuple((named(one), named(two)) for one, two in about["merged"]),
        agreement=_agreement(about.get("agreement")),
    )


def _agreement(given: Any) -> Agreement | None:
    if given is None:  # in files that were written before it was checked
        return None
    before, after, error = (as_number(value, "the agreement of neighbours") for value in given)
    if not (0 <= before <= 1 and 0 <= after <= 1 and error >= 0):
        raise ModelFileError("the agreement of neighbours is not between 0 and 1")
    return Agreement(before, after, error)
