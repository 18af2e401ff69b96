"""ImageEncoder: an ONNX model of pictures with its preprocessing, as in preprocessor_config.json of Hugging Face."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import about
from jcmspl.embed.onnx_model import OnnxModel, inputs_named, pooling_of
from jcmspl.io.files import require_file
from jcmspl.support.arguments import as_count, as_number, one_of
from jcmspl.support.machine import usable_cores
from jcmspl.support.names import PICTURE_LAYOUTS, PICTURE_NORMALISATIONS, RESAMPLES
from jcmspl.support.shown import listed, quoted

CONFIG = "preprocessor_config.json"
#: Supported keys of Hugging Face, in a file or in the metadata of a model.
KEYS = (
    *("do_resize", "size", "do_center_crop", "crop_size", "crop_pct", "do_rescale", "rescale_factor"),
    *("do_normalize", "image_mean", "image_std", "resample", "do_flip_channel_order"),
)
# Unsupported keys that would change the result.
_UNKNOWN = ("do_pad", "do_thumbnail", "do_align_long_axis", "rescale_offset", "include_top", "do_polynomial_resize")
_BYTE = 1 / 255
_NORMALISATIONS: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {
    "clip": (_BYTE, (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "imagenet": (_BYTE, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": (_BYTE, (0.5,), (0.5,)),
    "none": (_BYTE, (0.0,), (1.0,)),
    "raw": (1.0, (0.0,), (1.0,)),
}
_MOST_PIXELS = 10**8  # of a picture that is resized


class PictureInput(NamedTuple):
    """The input of a model of pictures; None if the model does not fix a size."""

    channels: int | None
    height: int | None
    width: int | None
    channels_last: bool
    dtype: str


class Options(NamedTuple):
    """Options of the user, which take precedence."""

    size: int | Sequence[int] | None = None
    resize: int | str | None = None
    resample: str | None = None
    normalise: str | None = None
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    scale: float | None = None


@dataclass(frozen=True)
class Preparation:
    """The steps in their order; sizes are (height, width)."""

    shortest: int | None  # resize the shorter side to this,
    exact: tuple[int, int] | None  # or both sides to these
    crop: tuple[int, int] | None  # then crop the centre to this size
    resample: str
    scale: float  # multiply values by this,
    mean: tuple[float, ...]  # subtract this,
    std: tuple[float, ...]  # and divide by this
    channels: int
    backwards: bool  # BGR
    channels_last: bool
    dtype: str

    @property
    def size(self) -> tuple[int, int]:
        """The final size of pictures."""
        size = self.crop or self.exact
        assert size is not None
        return size

    def __str__(self) -> str:
        height, width = self.size
        resized = f"shorter side {self.shortest}" if self.shortest else "resized" if self.exact else "not resized"
        return f"{width} x {height} pixels, {resized}, {self.resample}"

    def __call__(self, picture: Any) -> npt.NDArray[Any]:
        """Convert an RGB picture of Pillow to an array."""
        if self.channels == 1:
            picture = picture.convert("L")
        picture = self._resized(picture)
        if self.crop is not None:  # the centre; a smaller picture gets black edges
            left, top = (picture.width - self.crop[1]) // 2, (picture.height - self.crop[0]) // 2
            picture = picture.crop((left, top, left + self.crop[1], top + self.crop[0]))
        values = np.asarray(picture)
        if values.ndim == 2:
            values = values[:, :, np.newaxis]
        if self.backwards:
            values = values[:, :, ::-1]
        if (self.scale, *self.mean, *self.std) != (1.0, *(0.0,) * len(self.mean), *(1.0,) * len(self.std)):
            factor = np.float32(self.scale) / np.asarray(self.std, dtype=np.float32)
            offset = np.asarray(self.mean, dtype=np.float32) / np.asarray(self.std, dtype=np.float32)
            values = values * factor - offset
        if not self.channels_last:
            values = values.transpose(2, 0, 1)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def _resized(self, picture: Any) -> Any:
        width, height = picture.size
        if self.exact is not None:
            wanted = self.exact
        elif self.shortest is not None:
            longest = int(self.shortest * max(width, height) / min(width, height))
            wanted = (self.shortest, longest) if height <= width else (longest, self.shortest)
        else:
            return picture
        if math.prod(wanted) > _MOST_PIXELS:
            raise ValueError(f"is too long and narrow to be resized ({width} x {height} pixels)")
        return picture.resize(wanted[::-1], RESAMPLES.index(self.resample))


def read_config(path: Path) -> dict[str, Any]:
    """Read a preprocessor_config.json."""
    require_file(path)
    try:
        config = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file, or it is damaged ({error})") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} must hold a JSON object with keys such as 'size' and 'image_mean'")
    return config


def config_of_metadata(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration in the metadata of a model: JSON under "preprocessor_config", or under each key."""
    config: dict[str, Any] = {}
    try:
        if "preprocessor_config" in metadata:
            config |= json.loads(metadata["preprocessor_config"])
        config |= {key: json.loads(metadata[key]) for key in KEYS if key in metadata}
    except (ValueError, TypeError) as error:
        raise ValueError(f"its metadata about pictures is not JSON ({error})") from None
    return config


def preparation_of(wanted: PictureInput, config: Mapping[str, Any], options: Options) -> Preparation:
    """Choose the steps from options, a configuration and the input of the model, in this order of precedence."""
    unknown = [key for key in _UNKNOWN if config.get(key)]
    if unknown and (options.size is None or (options.normalise is None and options.mean is None)):
        raise ValueError(
            f"its {CONFIG} asks for {listed(unknown)}, which is not supported: give --size, --resize and --normalise "
            "(size, resize, normalise) instead"
        )
    channels = wanted.channels or 3
    shortest, exact, crop = _sizes(wanted, config, options)
    scale, mean, std = _values(wanted, config, options, channels)
    resample = options.resample if options.resample is not None else config.get("resample", "bicubic")
    if isinstance(resample, int) and 0 <= resample < len(RESAMPLES):
        resample = RESAMPLES[resample]
    found = Preparation(
        shortest,
        exact,
        crop,
        one_of(resample, "resample", RESAMPLES),
        scale,
        mean,
        std,
        channels,
        bool(config.get("do_flip_channel_order")),
        wanted.channels_last,
        wanted.dtype,
    )
    for name, given, taken in zip(("height", "width"), found.size, (wanted.height, wanted.width), strict=True):
        if taken is not None and given != taken:
            raise ValueError(f"its pictures must have the {name} {taken}, but size makes it {given} pixels")
    return found


def channels_are_last(shape: Sequence[Any], layout: str | None) -> bool:
    """Whether the last of four dimensions counts the channels, according to the user or the model."""
    if layout is not None:
        return one_of(layout, "layout", PICTURE_LAYOUTS) == "nhwc"
    if shape[1] in (1, 3) or "channel" in str(shape[1]).lower():
        return False
    return shape[3] in (1, 3) or "channel" in str(shape[3]).lower()


_Sizes = tuple[int | None, tuple[int, int] | None, tuple[int, int] | None]


def _sizes(wanted: PictureInput, config: Mapping[str, Any], options: Options) -> _Sizes:
    """Choose `shortest`, `exact` and `crop` of the preparation."""
    shortest, exact, crop = sizes_of_config(config)
    own = None if wanted.height is None or wanted.width is None else (wanted.height, wanted.width)
    size = _pair(options.size, "size") if options.size is not None else None
    if size is not None:
        shortest, exact, crop = (None, size, None) if exact and not crop else (max(size), None, size)
    elif not (exact or crop) and own:
        shortest, crop = shortest or max(own), own
    if options.resize is not None:
        final = crop or exact
        if final is None:
            raise ValueError("the final size of its pictures is unknown: give --size N (size)")
        if options.resize == "exact":
            return None, final, None
        return as_count(options.resize, "resize"), None, final
    if not (exact or crop):
        raise ValueError(
            "the size of its pictures is unknown: neither its input nor a "
            f"{CONFIG} beside it has it; give --size N (size)"
        )
    return shortest, exact, crop


def sizes_of_config(config: Mapping[str, Any]) -> _Sizes:
    """Return `shortest`, `exact` and `crop` of a preprocessor_config.json."""
    size, cropped = config.get("size"), config.get("do_center_crop", False)
    shortest: int | None = None
    exact: tuple[int, int] | None = None
    if isinstance(size, Mapping) and "shortest_edge" in size and "longest_edge" not in size:
        shortest = as_count(size["shortest_edge"], "size in its configuration")
    elif isinstance(size, int) and cropped:  # older files
        shortest = as_count(size, "size in its configuration")
    elif size is not None:
        exact = _pair(size, "size in its configuration")
    if (share := config.get("crop_pct")) is not None and shortest is not None:
        # the rule of ConvNeXt: small sizes crop an edge, large ones do not
        side = (shortest, shortest)
        return (None, side, None) if shortest >= 384 else (int(shortest / as_number(share, "crop_pct")), None, side)
    crop = None
    if cropped:
        crop = _pair(config.get("crop_size", exact or shortest), "crop_size in its configuration")
    if not config.get("do_resize", True):
        shortest = exact = None
    return shortest, exact, crop


def _pair(value: Any, name: str) -> tuple[int, int]:
    """Return (height, width)."""
    if isinstance(value, Mapping) and {"height", "width"} <= set(value):
        value = (value["height"], value["width"])
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return as_count(value[0], name), as_count(value[1], name)
    if isinstance(value, int):
        return as_count(value, name), value
    raise ValueError(f"{name} must be a number of pixels, or a height and a width, but is {quoted(value)}")


def _values(
    wanted: PictureInput, config: Mapping[str, Any], options: Options, channels: int
) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Choose `scale`, `mean` and `std` of the preparation."""
    said = any(value is not None for value in (options.normalise, options.mean, options.std, options.scale))
    if wanted.dtype == "uint8":
        if said and options.normalise != "raw":
            raise ValueError(
                "it takes pictures as bytes, which are not scaled: leave out normalise, mean, std and scale"
            )
        return _NORMALISATIONS["raw"]
    if options.normalise is not None:
        scale, mean, std = _NORMALISATIONS[one_of(options.normalise, "normalise", PICTURE_NORMALISATIONS)]
    elif any(key in config for key in ("do_rescale", "rescale_factor", "do_normalize", "image_mean")):
        scale = config.get("rescale_factor", _BYTE) if config.get("do_rescale", True) else 1.0
        mean, std = (0.0,), (1.0,)
        if config.get("do_normalize", "image_mean" in config):
            mean, std = config.get("image_mean", options.mean), config.get("image_std", options.std)
            if mean is None or std is None:
                raise ValueError(f"its {CONFIG} says do_normalize, but not image_mean and image_std: give mean and std")
    elif said:
        scale, mean, std = _NORMALISATIONS["none"]
    else:
        raise ValueError(
            f"the scaling of its pictures is unknown: put its {CONFIG} beside it, or give --normalise "
            f"({', '.join(PICTURE_NORMALISATIONS)}), or --mean and --std"
        )
    scale = as_number(scale if options.scale is None else options.scale, "scale")
    mean = _numbers(mean if options.mean is None else options.mean, "mean", channels)
    std = _numbers(std if options.std is None else options.std, "std", channels)
    if not all(value > 0 for value in (scale, *std)):
        raise ValueError(f"scale and std must be positive, but are {scale:g} and {std}")
    return scale, mean, std


def _numbers(value: Any, name: str, channels: int) -> tuple[float, ...]:
    given = [value] if isinstance(value, (int, float)) else value
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (1, channels):
        raise ValueError(f"{name} must be a number, or one for each of the {channels} channels, but is {quoted(value)}")
    return tuple(as_number(number, name) for number in given)


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
