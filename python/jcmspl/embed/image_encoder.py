"""ImageEncoder: an ONNX model of pictures with its preprocessing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import about
from jcmspl.embed.image_preprocessing import (
    CONFIG,
    Options,
    PictureInput,
    channels_are_last,
    config_of_metadata,
    preparation_of,
    read_config,
)
from jcmspl.embed.onnx_model import OnnxModel, inputs_named, pooling_of
from jcmspl.support.arguments import as_count
from jcmspl.support.machine import usable_cores


class ImageEncoder:
    """An ONNX model of pictures. Preprocessing comes from your options, a file beside the model, or the model itself.

    Parameters
    ----------
    model : str or Path
        An ONNX file. Of a model of pictures and texts, such as CLIP in one file, only the picture part is used.
    size : int or (height, width), optional
        The final size of pictures.
    resize : int or "exact", optional
        The length that the shorter side is resized to before the centre is cropped; "exact": both sides are resized to
        ``size`` without a crop. By default the shorter side becomes ``size``.
    resample : {"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"}, optional
        The interpolation of resizing, by default that of ``config``, else "bicubic".
    layout : {"nchw", "nhwc"}, optional
        The axis of the channels; by default it is detected from the model.
    normalise : {"clip", "imagenet", "half", "none", "raw"}, optional
        The normalisation of values: that of CLIP, of ImageNet, to -1..1, to 0..1, or none (0..255).
    mean, std : float or a number for each channel, optional
        Subtracted from values after ``scale``, and the divisor after that.
    scale : float, optional
        The first factor of values, by default that of ``config``, else 1/255.
    config : str or Path, optional
        A ``preprocessor_config.json`` of Hugging Face; by default the one beside the model, or in the folder above if
        the model is in a folder ``onnx``.
    output : str, optional
        The name of the output to use; by default the one named like an embedding, or else the first.
    pooling : {"auto", "mean", "cls", "pooled"}, default "auto"
        The reduction of an output with many vectors to one: their mean, the first, or "pooled": use an output with one
        vector. "auto" takes the first token, or the mean of feature maps.
    threads : int, optional
        By default one for each core.
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
        """The fixed batch size of the model; None if it takes any."""
        return self._input.fixed(0)

    def prepare(self, picture: Any) -> npt.NDArray[Any]:
        """Preprocess a picture of Pillow."""
        return self.preparation(picture)

    def __call__(self, prepared: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """Return the embeddings of preprocessed pictures."""
        count, most = len(prepared), self.batch_size
        size = most or count
        rows = []
        for first in range(0, count, size):
            pictures = np.stack(prepared[first : first + size])
            if len(pictures) < size:  # fill up a fixed batch size with empty pictures
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
        """End a run in another thread soon."""
        self.model.stop()

    def identity(self) -> dict[str, Any]:
        """Return everything that embeddings depend on."""
        return {
            "model": self.model.identity(),
            "preparation": dataclasses.asdict(self.preparation),
            "pooling": list(self.pooling),
        }

    def __repr__(self) -> str:
        return f"ImageEncoder({str(self.model.path)!r}): {self.preparation}; {self.pooling}"


def beside_model(path: Path, name: str) -> Path | None:
    """Return a file beside a model, or in the folder above if the model is in a folder ``onnx``."""
    folders = [path.parent, *([path.absolute().parent.parent] if path.absolute().parent.name == "onnx" else [])]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
