"""An ONNX model that embeds pictures, and how it wants them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import about
from jcmspl.embed.preparation import (
    CONFIG,
    Options,
    PictureInput,
    channels_are_last,
    config_of_metadata,
    preparation_of,
    read_config,
)
from jcmspl.embed.runtime import OnnxModel, inputs_named, pooling_of
from jcmspl.support.arguments import as_count
from jcmspl.support.threads import usable_cores


class ImageEncoder:
    """An ONNX model of pictures. How it wants them is said by you, by a file beside it, or by the model itself.

    Parameters
    ----------
    model : str or Path
        An ONNX file. A model for pictures and texts, such as CLIP in one file, is asked for its pictures alone.
    size : int or (height, width), optional
        How large pictures are in the end.
    resize : int or "exact", optional
        What the shorter side is resized to before the middle is cut out; "exact": both sides are resized to ``size``,
        and nothing is cut off. By default the shorter side becomes ``size``.
    resample : {"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"}, optional
        How pictures are resized; "bicubic" where nothing else is said.
    layout : {"nchw", "nhwc"}, optional
        Where the channels are; by default the model tells.
    normalise : {"clip", "imagenet", "half", "none", "raw"}, optional
        What is done to values: those of CLIP, of ImageNet, to -1..1, to 0..1, or nothing (0..255).
    mean, std : float or a number for each channel, optional
        Subtracted from values after ``scale``, and what they are divided by then.
    scale : float, optional
        What values are multiplied by first, 1/255 where nothing else is said.
    config : str or Path, optional
        Hugging Face's ``preprocessor_config.json``; by default the one beside the model is read, or the one of the
        folder above if the model is in a folder ``onnx``.
    output : str, optional
        The name of the output to take; by default the one that is named like an embedding, or else the first.
    pooling : {"auto", "mean", "cls", "pooled"}, default "auto"
        How one vector is made of an output with many: their mean, the first, or not at all: an output with one is
        wanted. "auto" takes the first of tokens and the mean of maps.
    threads : int, optional
        By default as many as there are cores.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        size: int | Sequence[int] | None = None,
        resize: int | str | None = None,
        resample: str | None = None,
        layout: str | None = None,
        normalise: str | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        scale: float | None = None,
        config: str | Path | None = None,
        output: str | None = None,
        pooling: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.threads = usable_cores() if threads is None else as_count(threads, "threads")
        self.model = OnnxModel(model, self.threads)
        path = self.model.path
        pictures = [slot for slot in self.model.inputs if len(slot.shape) == 4]
        if not pictures:
            raise ValueError(
                f"{path} takes no pictures, which have four dimensions: its inputs are "
                f"{inputs_named(self.model.inputs)}"
            )
        self._input = next((slot for slot in pictures if slot.name == "pixel_values"), pictures[0])
        last = channels_are_last(self._input.shape, layout)
        channels, height, width = (self._input.fixed(axis) for axis in ((3, 1, 2) if last else (1, 2, 3)))
        wanted = PictureInput(channels, height, width, last, self._input.dtype)
        beside = Path(config) if config is not None else beside_model(path, CONFIG)
        with about(path):
            said = config_of_metadata(self.model.metadata) | (read_config(beside) if beside is not None else {})
            options = Options(size, resize, resample, normalise, mean, std, scale)
            self.preparation = preparation_of(wanted, said, options)
        self.pooling = pooling_of(self.model, "pictures", pooling, output)

    @property
    def batch_size(self) -> int | None:
        """How many pictures the model takes at once, if it takes no other number."""
        return self._input.fixed(0)

    def prepare(self, picture: Any) -> npt.NDArray[Any]:
        """Return a picture of Pillow as the model wants it."""
        return self.preparation(picture)

    def __call__(self, prepared: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """Return the embeddings of pictures that were prepared."""
        count, most = len(prepared), self.batch_size
        size = most or count
        rows = []
        for first in range(0, count, size):
            pictures = np.stack(prepared[first : first + size])
            if len(pictures) < size:  # a model of one batch size gets empty pictures, too
                pictures = np.concatenate(
                    [pictures, np.zeros((size - len(pictures), *pictures.shape[1:]), pictures.dtype)]
                )
            result = self.model.run(
                self.pooling.output,
                {self._input.name: pictures},
                dict(zip(self._input.shape, pictures.shape, strict=True)),
            )
            pooled = self.pooling(result, len(pictures), channels_last=self.preparation.channels_last)
            rows.append(pooled[: count - first])
        return np.concatenate(rows)

    def stop(self) -> None:
        """Let a run in another thread end soon."""
        self.model.stop()

    def identity(self) -> dict[str, Any]:
        """Return what embeddings depend on."""
        return {
            "model": self.model.identity(),
            "preparation": dataclasses.asdict(self.preparation),
            "pooling": list(self.pooling),
        }

    def __repr__(self) -> str:
        return f"ImageEncoder({str(self.model.path)!r}): {self.preparation}; {self.pooling}"


def beside_model(path: Path, name: str) -> Path | None:
    """Return a file that belongs to a model: beside it, or above if the model is in a folder called onnx."""
    folders = [path.parent, *([path.absolute().parent.parent] if path.absolute().parent.name == "onnx" else [])]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
