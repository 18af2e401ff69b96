"""A model from what its file holds. Nothing is believed before it is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jcmspl.core.scoring import METRICS
from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_kernel import ClassKernel
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import Label, label_array, sorted_labels
from jcmspl.data.normalisation import Normalisation, parse_feature_normalisation, parse_normalisation
from jcmspl.data.sample_digest import MOST, SampleDigest
from jcmspl.data.whitening import is_triangular
from jcmspl.datasets.splits import HeldOut
from jcmspl.io.archive import Archive, ModelFileError
from jcmspl.model import persistence_v1, registry
from jcmspl.model.adaptation import Adaptation, Agreement
from jcmspl.model.fitted import Columns, FittedModel, checked_names
from jcmspl.model.model_layout import (
    ADAPTED,
    ADAPTED_ARRAYS,
    COLUMNS,
    COMMON,
    FITTED,
    HASHES,
    IMPUTED,
    INFINITY,
    KERNEL,
    KERNEL_ARRAYS,
    PARAMETER,
    SEQUENCES,
    STATISTICS,
    WHITENING,
    decoded,
)
from jcmspl.model.parameters import NamedArrays, array_names, check_arrays
from jcmspl.model.rejection import Threshold
from jcmspl.support.arguments import Float64Array, as_count, as_number, one_of
from jcmspl.support.calls import current_names
from jcmspl.support.names import GROUPS, KERNELS
from jcmspl.support.scaling import Scaling
from jcmspl.support.shown import listed, quoted

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier


def wanted_arrays(version: int, content: dict[str, Any]) -> list[str]:
    """Return the arrays to read: no others, whatever there may be in the file."""
    common = [*COMMON, *STATISTICS, "counts", WHITENING, COLUMNS, IMPUTED, HASHES, *KERNEL_ARRAYS, *ADAPTED_ARRAYS]
    if version == 1:
        return [*common, *persistence_v1.ARRAYS]
    model_class = class_named(content["model"])
    parameters = [PARAMETER + name for name in array_names(model_class)]
    return [*common, *(FITTED + name for name in model_class.ARRAYS), *parameters]


def restored(archive: Archive) -> ZeroShotClassifier:
    """Return the model that a file holds."""
    content, arrays = archive.content, archive.arrays
    model_class = class_named(content["model"])
    _refuse_incomplete(archive)
    given = {name: float(value) if value == INFINITY else value for name, value in content["parameters"].items()}
    parameters: dict[str, Any] = given | _with_prefix(arrays, PARAMETER)
    if parameters.get("class_weight") is not None:
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    for name in SEQUENCES:
        if parameters.get(name) is not None:
            parameters[name] = tuple(parameters[name])
    parameters = current_names(parameters, model_class._get_param_names(), warn=False)
    unknown = set(parameters) - set(model_class._get_param_names())
    if unknown:
        raise ModelFileError(
            f"unknown parameters {listed(sorted(unknown))}: it was written by another version of jcmspl"
        )
    model: ZeroShotClassifier = model_class(**parameters)
    for name in ("seen_mean_share", "cosine_share"):
        if name not in parameters and hasattr(model, name):
            setattr(model, name, 0.0)  # as it was before there was such a parameter
    model._check_parameters()

    labels, n_seen = [decoded(item) for item in content["labels"]], int(content["n_seen"])
    if not 2 <= n_seen <= len(labels):
        raise ModelFileError("the numbers of classes do not fit together")
    common = {name: arrays[name] for name in COMMON if name in arrays}
    sizes = check_arrays(common, COMMON, {"n": len(labels), "c": n_seen})
    kernel = _kernel(content, arrays, sizes["d"])
    fitted_arrays = _with_prefix(arrays, FITTED)
    dimensions = sizes["d"] if kernel is None else len(kernel.shift)
    letters = {"m": sizes["m"], "d": dimensions, "c": sizes["c"]}
    for name in model.ADDED_ARRAYS:
        fitted_arrays.setdefault(name, np.zeros([letters[str(size)] for size in model.ARRAYS[name]]))
    check_arrays(fitted_arrays, model.ARRAYS, letters)
    table = ClassTable(labels, arrays["class_vectors"], content["attributes"], content.get("sources"))
    features, columns = _normalisation(content, arrays, "feature"), _columns(arrays, sizes["d"])
    names, column_names = content["feature_names"], content.get("column_names")
    constants, adaptation, held_out = (content.get(name) for name in ("adaptation_constants", "adaptation", "held_out"))
    calibration = {
        (one_of(space, "space", model.SPACES), _metric(model, metric)): as_number(bias, "seen_penalty")
        for space, metric, bias in content["calibration"]
    }
    rejection = {
        (one_of(space, "space", model.SPACES), _metric(model, metric), one_of(group, "group", GROUPS)): _threshold(
            about
        )
        for space, metric, group, about in content.get("rejection", [])
    }
    if IMPUTED in arrays:
        check_arrays({IMPUTED: arrays[IMPUTED]}, {IMPUTED: ("m",)}, sizes)
    sampled = [decoded(item) for item in content["sampled_labels"]]
    if sampled and not content["one_hot"]:
        table.positions(sampled, "the statistics")
    collected = _statistics(arrays, sampled, sizes["m"], features.scaling)
    means, trained = arrays["class_means"], table.vectors[:n_seen]
    classes = label_array(list(table)[:n_seen])
    # older files know the mean of each training class alone, which counts as a single sample
    as_samples = LabelledSums(classes.tolist(), means, np.ones(len(means)))
    model._fitted = FittedModel(
        arrays=fitted_arrays,
        classes=classes,
        class_table=table,
        class_means=means,
        trained_vectors=trained,
        feature_normalisation=features,
        class_normalisation=replace(_normalisation(content, arrays, "class"), kernel=kernel, columns=columns),
        sample_length=_sample_length(content, features, means, collected),
        # it follows from other arrays of the file
        alignment=None if content["one_hot"] or features.scaling.power else Alignment.of(means, trained),
        timings={str(name): float(value) for name, value in content["timings"].items()},
        given_table=None if content["one_hot"] else table,
        collected=collected,
        samples=_samples(arrays, sampled, sizes["m"]) if sampled else as_samples,
        digest=_digest(content, arrays),
        columns=Columns(
            sizes["m"], None if names is None else np.array(checked_names(names, sizes["m"]), dtype=object)
        ),
        calibration=calibration,
        rejection=rejection,
        adaptation_constants=None if constants is None else _constants(constants),
        adaptation=None if adaptation is None else _adaptation(adaptation, arrays, sizes, content["attributes"]),
        imputed_values=arrays.get(IMPUTED),
        column_names=None if column_names is None else tuple(checked_names(column_names, sizes["m"])),
        held_out=None if held_out is None else _held_out(held_out),
    )
    return model


def _refuse_incomplete(archive: Archive) -> None:
    """Refuse a file that lacks an array it had: a model may work without it, but gives other answers then."""
    written = set(archive.content.get("arrays", ()))  # earlier files do not say
    missing = sorted(written.intersection(wanted_arrays(archive.version, archive.content)) - set(archive.arrays))
    if missing:
        raise ModelFileError(f"the array {missing[0].removeprefix(FITTED)!r} is missing")


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


def class_named(name: Any) -> Any:
    """Return the kind of model that files know by a name."""
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
        # earlier files also say "whiten" where each class had one sample and nothing could be whitened
        is_pardoned = WHITENING not in arrays and "counts" in arrays and bool(np.all(arrays["counts"] <= 1))
        if steps.whiten != (WHITENING in arrays) and not is_pardoned:
            raise ModelFileError(f"the array '{WHITENING}' does not fit the normalisation of samples, {quoted(name)}")
    else:
        scaling = Scaling(parse_normalisation(name, f"{kind}_normalisation")[0])
    if not np.all(arrays[f"{kind}_scale"] > 0):
        raise ModelFileError(f"the array '{kind}_scale' holds values that are not above 0")
    shift, whitening = arrays[f"{kind}_shift"], arrays.get(WHITENING) if kind == "feature" else None
    if whitening is not None:
        check_arrays({WHITENING: whitening}, {WHITENING: ("m", "m")}, {"m": len(shift)})
        _check_whitening(whitening)
    return Normalisation(name, scaling, shift, arrays[f"{kind}_scale"], whitening)


def _check_whitening(T: Float64Array) -> None:
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


def _columns(arrays: NamedArrays, n_attributes: int) -> Float64Array | None:
    if COLUMNS not in arrays:
        return None
    check_arrays({COLUMNS: arrays[COLUMNS]}, {COLUMNS: ("d",)}, {"d": n_attributes})
    if np.any(arrays[COLUMNS] < 0):
        raise ModelFileError(f"the array '{COLUMNS}' holds values below 0")
    return arrays[COLUMNS]


def _kernel(content: dict[str, Any], arrays: NamedArrays, n_attributes: int) -> ClassKernel | None:
    given = content.get("class_kernel")
    if given is None:
        return None
    parts = {name: array for name, array in arrays.items() if name in KERNEL_ARRAYS}
    check_arrays(parts, KERNEL_ARRAYS, {"d": n_attributes})
    name, width = given
    if as_number(width, "the width of the kernel") <= 0:
        raise ModelFileError("the width of the kernel is not above 0")
    return ClassKernel(one_of(name, "class_kernel", KERNELS[1:]), float(width), **_with_prefix(parts, KERNEL))


def _digest(content: dict[str, Any], arrays: NamedArrays) -> SampleDigest | None:
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


def _held_out(given: dict[str, Any]) -> HeldOut:
    share = as_number(given["share"], "the share that was held out")
    if not 0 <= share < 1 or not isinstance(given["drawn_from"], str):
        raise ModelFileError("what was held out of the training data is not known")
    seed = as_count(given["random_state"], "the seed of what was held out", minimum=0)
    return HeldOut(share, seed, given["drawn_from"])


def _constants(given: Any) -> tuple[float, float]:
    pull, temperature = (as_number(value, "a constant of the adaptation") for value in given)
    if min(pull, temperature) <= 0:
        raise ModelFileError("a constant of the adaptation is not above 0")
    return pull, temperature


def _adaptation(about: dict[str, Any], arrays: NamedArrays, sizes: dict[str, int], attributes: Any) -> Adaptation:
    labels = [decoded(item) for item in about["labels"]]
    parts = {name: array for name, array in arrays.items() if name in ADAPTED_ARRAYS}
    check_arrays(parts, ADAPTED_ARRAYS, {"n": len(labels), "d": sizes["d"], "m": sizes["m"]})
    found = _with_prefix(parts, ADAPTED)

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
    """Return how often neighbours agree; files that were written before it was checked have none."""
    if given is None:
        return None
    before, after, error = (as_number(value, "the agreement of neighbours") for value in given)
    if not (0 <= before <= 1 and 0 <= after <= 1 and error >= 0):
        raise ModelFileError("the agreement of neighbours is not between 0 and 1")
    return Agreement(before, after, error)


def _statistics(arrays: NamedArrays, labels: list[Label], m: int, scaling: Scaling) -> LabelledStatistics | None:
    if "gram" not in arrays:
        return None
    sums, counts = {name: arrays[name] for name in STATISTICS}, arrays["counts"]
    check_arrays(sums, STATISTICS, {"m": m, "s": len(labels)})
    statistics = Statistics.from_arrays(sums["gram"], sums["class_sums"], counts, **scaling._asdict())
    if not np.all(counts > 0) or labels != sorted_labels(dict.fromkeys(labels)):
        raise ModelFileError("the statistics have classes without samples, or not in order")
    return LabelledStatistics(labels, statistics)


def _class_weight(stored: Any) -> Any:
    """Return a class_weight from what plain made of it."""
    if isinstance(stored, str):
        return stored
    return {decoded(item): as_number(weight, "class_weight") for item, weight in stored}


def _samples(arrays: NamedArrays, labels: list[Label], m: int) -> LabelledSums:
    counts = arrays["counts"]
    check_arrays({"class_sums": arrays["class_sums"]}, {"class_sums": ("s", "m")}, {"m": m, "s": len(labels)})
    if counts.shape != (len(labels),) or not np.all((counts > 0) & np.isfinite(counts)):
        raise ModelFileError("the array 'counts' does not hold the number of samples of each class")
    if len(set(labels)) != len(labels):
        raise ModelFileError("a class has two sums of samples")
    return LabelledSums(labels, arrays["class_sums"], counts.astype(np.float64))


def _sample_length(
    content: dict[str, Any], features: Normalisation, means: Float64Array, collected: LabelledStatistics | None
) -> float:
    """Return the usual length of a normalised sample, as far as the file tells."""
    if "sample_length" in content:
        length = as_number(content["sample_length"], "the length of samples")
        if length <= 0:
            raise ModelFileError("the length of samples is not above 0")
        return length
    if features.whitening is not None or features.name.endswith("_unit"):
        return 1.0
    with np.errstate(all="ignore"):  # of a file that is damaged
        if collected is not None:
            raw = collected.statistics
            squares = float(features.of_statistics(raw).gram.trace()) / raw.n_samples
        else:
            squares = float((features.of_sums(means, np.ones(len(means))) ** 2).sum(axis=1).mean())
    if not np.isfinite(squares):
        raise ModelFileError("the normalisation of samples does not fit them")
    return float(np.sqrt(squares)) if squares > 0 else 1.0
