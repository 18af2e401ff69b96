"""Describe the content of a model file or of a data set."""

from __future__ import annotations

import argparse
import hashlib
import textwrap
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jcmspl.cli._options import add_data, add_output, columns_of, dataset_of, show
from jcmspl.support.shown import shown

_LINE = 100  # characters
_NO_NAMES: tuple[str, list[str]] = ("attributes", [])  # n_attributes is enough for attributes without names
EXAMPLES = """\
  jcmspl info cub.safetensors
  jcmspl info cub/

  # compare the whole content with its checksums
  jcmspl info cub.npz --verify
"""
LOADS = ("jcmspl.datasets", "jcmspl.model.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument("--verify", action="store_true", help="read a whole .npz file and compare its checksums")
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets.arrays import SUFFIXES
    from jcmspl.datasets.database import DATABASES
    from jcmspl.datasets.loading import is_without_classes
    from jcmspl.io.archive import written_by
    from jcmspl.model.persistence import load

    path = Path(arguments.data)
    if arguments.verify and (path.suffix != ".npz" or arguments.classes is not None):
        raise ValueError(f"--verify is for .npz files of data sets, which have checksums, but DATA is {path}")
    of_data = (".mat", *DATABASES, *SUFFIXES["features"])
    is_of_data = path.suffix in of_data and (path.suffix != ".safetensors" or written_by(path) is None)
    if path.is_file() and not is_of_data:
        data = {**_about_model(load(arguments.data)), **_about_file(path)}
    else:
        data = _about_data(dataset_of(arguments, supervised=True))
        if arguments.classes is None and is_without_classes(arguments.data):
            data = {name: value for name, value in data.items() if "attributes" not in name}
    show(arguments, data, _text({name: value for name, value in data.items() if (name, value) != _NO_NAMES}))


def _text(data: dict[str, Any]) -> str:
    """Return one line per item, wrapped below its value."""
    width = max(len(name) for name in data) + 2
    layout = textwrap.TextWrapper(_LINE, subsequent_indent=" " * width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        line
        for name, value in data.items()
        for line in layout.wrap(f"{name.replace('_', ' ').ljust(width)}{_shown(value)}") or [name]
    )


def _shown(value: Any) -> str:
    from jcmspl.data.labels import some

    if isinstance(value, list):
        return f"{len(value)}: {some(value, 4)}" if value else "none"
    if isinstance(value, dict):
        return ", ".join(f"{shown(name)} {_shown(part)}" for name, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else shown(value, 200)


def _about_file(path: Path) -> dict[str, Any]:
    """Return the versions that wrote a model file, the time of its last change, and its digest."""
    from jcmspl.io.archive import written_by

    changed = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {**(written_by(path) or {}), "written": f"{changed:%Y-%m-%d %H:%M:%S} UTC", "sha256": digest}


def _about_model(model: Any) -> dict[str, Any]:
    own, known = (model.own_space, model.own_metric), model.training_digest_
    counts = model.state.samples.without(model.unseen_classes_.tolist()).counts

    def in_own_space(found: dict[tuple[str, Any, str], Any]) -> dict[str, Any] | str:
        """Return the values for the model's space and metric, by group of candidates."""
        return {group: one for (*where, group), one in found.items() if tuple(where) == own} or "not calibrated"

    about = {
        "model": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if not hasattr(value, "shape")},
        "n_features": model.n_features_in_,
        "n_attributes": model.class_table_.n_attributes,
        "seen_classes": model.classes_.tolist(),
        "unseen_classes": model.unseen_classes_.tolist(),
        "seen_bias": model.seen_penalty_,
        "rejection": in_own_space(model.rejection_),
        "temperatures": in_own_space(model.temperatures_),
        "prediction_sets": in_own_space({key: str(one) for key, one in model.state.set_calibration.items()}),
        "encoders": str(getattr(model, "alignment_", None) or "not compared with class vectors"),
        "cosine_share": getattr(model, "cosine_share_", 0.0),
        "adapted_to": f"{model.adapted_.n_samples:,} samples" if hasattr(model, "adapted_") else "nothing",
        "statistics_included": model.state.collected is not None,
        "training_samples": model.state.n_training_samples,
        "samples_per_class": f"{counts.min():,g} to {counts.max():,g}",
        "training_samples_known": "no"
        if known is None
        else f"{len(known):,} different ones" + ", a part of them" * (not known.is_complete),
        "training_digest": None if known is None else hashlib.sha256(known.hashes.tobytes()).hexdigest()[:16],
        "feature_names": columns_of(model) or "not known",
        "imputes_missing_values": hasattr(model, "imputed_values_"),
    }
    if hasattr(model, "visual_projection_"):
        about["n_concepts"] = len(model.visual_projection_)
    if hasattr(model, "n_iter_"):  # not all methods iterate
        about |= {"iterations": model.n_iter_, "converged": getattr(model, "converged_", True)}
    return about


def _about_data(dataset: Any) -> dict[str, Any]:
    return {
        "data_set": dataset.name,
        "source": dataset.source,
        "n_samples": len(dataset.X),
        "n_features": dataset.X.shape[1],
        "dtype": str(dataset.X.dtype),
        "n_attributes": dataset.classes.n_attributes,
        "attributes": list(dataset.classes.attributes or []),
        "seen_classes": list(dataset.seen),
        "unseen_classes": list(dataset.unseen),
        "samples": {part: len(rows) for part, rows in dataset.parts.items()},
    } | ({} if dataset.ids is None else {"ids": dataset.id_name})
