"""ONNX models of embeddings: inputs, outputs and their pooling, runs and interruption."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.io.files import require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.lazy import needed
from jcmspl.support.names import POOLINGS
from jcmspl.support.shown import listed, printable, quoted, shown

_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
}
_CHUNK = 2**20  # bytes
_FATAL = 4  # log level: errors come as exceptions
#: Usual names of outputs that are embeddings, in order of preference.
_EMBEDDINGS = {
    "pictures": ("image_embeds", "image_embedding", "image_features", "embedding", "embeddings", "pooler_output"),
    "texts": ("text_embeds", "sentence_embedding", "text_embedding", "text_features", "embedding", "embeddings"),
}


class Slot(NamedTuple):
    """An input or output of a model; a dimension is a number, a name, or None."""

    name: str
    shape: tuple[Any, ...]
    dtype: str

    def fixed(self, axis: int) -> int | None:
        """Return the fixed length of an axis, or None."""
        size = self.shape[axis] if axis < len(self.shape) else None
        return size if isinstance(size, int) and size > 0 else None


class OnnxModel:
    """A loaded model file, which runs on a GPU if onnxruntime has one, else on the CPU."""

    def __init__(self, path: str | Path, threads: int) -> None:
        self.path = Path(path)
        require_file(self.path)
        runtime = needed("onnxruntime", "models are run by the package onnxruntime", "embed")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = _FATAL
        there = runtime.get_available_providers()
        providers = [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in there]
        try:
            self._session = runtime.InferenceSession(str(self.path), options, providers=providers)
            # may raise: names in a damaged file need not be text
            self.inputs = [_slot(item) for item in self._session.get_inputs()]
            self.outputs = [_slot(item) for item in self._session.get_outputs()]
            self.metadata: Mapping[str, str] = self._session.get_modelmeta().custom_metadata_map
        except Exception as error:
            raise ValueError(f"{self.path} is not an ONNX model that can be run: {_detail(error)}") from None
        self._new_options = runtime.RunOptions
        self._options = self._quiet_options()

    def __reduce__(self) -> Any:
        raise TypeError("an encoder holds an open model, which cannot be pickled: create it where it is needed")

    def run(self, output: str, given: Mapping[str, npt.NDArray[Any]], lengths: Mapping[Any, int]) -> npt.NDArray[Any]:
        """Return an output; missing inputs, such as texts for pictures alone, get dummy values.

        `lengths` are those of named dimensions.
        """
        feeds = {slot.name: given[slot.name] if slot.name in given else _dummy(slot, lengths) for slot in self.inputs}
        try:
            (result,) = self._session.run([output], feeds, self._options)
        except Exception as error:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in feeds.items())
            raise ValueError(f"{self.path} cannot be run with {shapes}: {_detail(error)}") from None
        return np.asarray(result)

    def stop(self) -> None:
        """End a run in another thread after its current node; later runs are not affected."""
        current, self._options = self._options, self._quiet_options()
        current.terminate = True

    def _quiet_options(self) -> Any:
        options = self._new_options()
        options.log_severity_level = _FATAL
        return options

    def identity(self) -> str:
        """Return a hash of the file, and of the sizes and times of weight files beside it."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            while block := file.read(_CHUNK):
                digest.update(block)
        stem = self.path.stem
        for beside in sorted(self.path.parent.glob("*")):
            if beside != self.path and beside.name.startswith(stem) and "data" in beside.name[len(stem) :]:
                about = beside.stat()
                digest.update(repr((beside.name, about.st_size, about.st_mtime_ns)).encode())
        return digest.hexdigest()


class Pooling(NamedTuple):
    """The output of a model, and its reduction to one vector for each sample."""

    output: str
    how: str

    def __str__(self) -> str:
        return self.output if self.how == "pooled" else f"{self.how} of {self.output}"

    def __call__(
        self,
        values: npt.NDArray[Any],
        count: int,
        mask: npt.NDArray[Any] | None = None,
        channels_last: bool = False,
    ) -> npt.NDArray[np.float32]:
        """Return a vector for each of `count` samples; `mask` weights tokens in the mean."""
        if values.shape[:1] != (count,):  # rows would be assigned to wrong samples
            raise ValueError(
                f"the output {quoted(self.output)} has the shape {values.shape} for {count} samples, but its first "
                "axis must count them: choose another output with --take NAME (output), or export the model so "
                "that it gives a row for each sample"
            )
        values = values.astype(np.float32, copy=False)
        if values.ndim == 4:  # maps of features
            values = values.mean(axis=(1, 2) if channels_last else (2, 3))
        elif values.ndim == 3 and self.how == "cls":
            values = values[:, 0]
        elif values.ndim == 3 and self.how == "mean":
            weights = np.ones(values.shape[:2], dtype=np.float32) if mask is None else mask.astype(np.float32)
            values = np.einsum("nld,nl->nd", values, weights) / weights.sum(axis=1, keepdims=True)
        if values.ndim != 2:
            raise ValueError(
                f"the output {quoted(self.output)} has the shape {values.shape}, which {self.how!r} cannot reduce to a "
                "vector for each sample: choose another output or pooling"
            )
        return values


def pooling_of(model: OnnxModel, kind: str, pooling: str, output: str | None) -> Pooling:
    """Choose the output and the pooling of a model of pictures or texts."""
    one_of(pooling, "pooling", POOLINGS)
    slots = {slot.name: slot for slot in model.outputs}
    if output is not None:
        if output not in slots:
            raise ValueError(f"{model.path} has no output {quoted(output)}: it has {listed(slots)}")
        return Pooling(output, _pooled_as(kind, len(slots[output].shape)) if pooling == "auto" else pooling)
    named = [slots[name] for name in _EMBEDDINGS[kind] if name in slots]
    candidates = [*named, *(slot for slot in model.outputs if slot not in named)]
    ranks = {"pooled": (2,), "cls": (3,), "mean": (3, 4), "auto": (0, 2, 3, 4)}[pooling]  # 0: unknown
    fitting = [slot for slot in candidates if len(slot.shape) in ranks]
    if not fitting:
        shapes = ", ".join(f"{shown(slot.name)} {list(slot.shape)}" for slot in model.outputs)
        raise ValueError(f"{model.path} has no output for the pooling {pooling!r}: its outputs are {shapes}")
    chosen = fitting[0]
    if pooling == "auto" and chosen not in named and kind == "texts":
        # the pooler of BERT was trained for another task: the mean of tokens is better
        chosen = next((slot for slot in fitting if len(slot.shape) == 3), chosen)
    return Pooling(chosen.name, _pooled_as(kind, len(chosen.shape)) if pooling == "auto" else pooling)


def _pooled_as(kind: str, rank: int) -> str:
    return {2: "pooled", 3: "cls" if kind == "pictures" else "mean"}.get(rank, "mean")


def _slot(item: Any) -> Slot:
    return Slot(item.name, tuple(item.shape), _TYPES.get(item.type, item.type))


def _dummy(slot: Slot, lengths: Mapping[Any, int]) -> npt.NDArray[Any]:
    shape = [size if isinstance(size, int) and size > 0 else lengths.get(size, 1) for size in slot.shape]
    try:
        return np.zeros(shape, slot.dtype) if len(shape) == 4 else np.ones(shape, slot.dtype)
    except TypeError:
        raise ValueError(
            f"the model has an input {quoted(slot.name)} of the type {slot.dtype}, which is not supported"
        ) from None


def _detail(error: Exception) -> str:
    return shown(printable((str(error) or type(error).__name__).splitlines()[0]), 300)


def inputs_named(slots: Sequence[Slot]) -> str:
    """Describe inputs for a message."""
    return ", ".join(f"{shown(slot.name)} {list(slot.shape)}" for slot in slots) or "none"
