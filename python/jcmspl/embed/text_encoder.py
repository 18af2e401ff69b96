"""TextEncoder: an ONNX model of texts with its tokenizer."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.embed.image_encoder import CONFIG, beside_model, channels_are_last, read_config, sizes_of_config
from jcmspl.embed.onnx_model import OnnxModel, Slot, inputs_named, pooling_of
from jcmspl.io.files import require_file
from jcmspl.support.arguments import as_count
from jcmspl.support.lazy import needed
from jcmspl.support.machine import usable_cores
from jcmspl.support.shown import shown
from jcmspl.support.warn import warn_user

TOKENIZER = "tokenizer.json"
_NO_LIMIT = 100_000  # tokens: larger numbers in tokenizer_config.json mean no limit
_PADDING = ("[PAD]", "<pad>", "<|endoftext|>", "</s>")
_SIDE = 224  # pixels of the dummy picture for a model of pictures and texts, by default


class TextEncoder:
    """An ONNX model of texts with its tokenizer.

    Parameters
    ----------
    model : str or Path
        An ONNX file. Of a model of pictures and texts, such as CLIP in one file, only the text part is used.
    tokenizer : str or Path, optional
        A ``tokenizer.json``; by default the one beside the model, or in the folder above if the model is in a folder
        ``onnx``.
    pooling : {"auto", "mean", "cls", "pooled"}, default "auto"
        The reduction of the vectors of tokens to one: their mean over the attention mask, the first, or "pooled": use
        an output with one vector. "auto" uses an output named like an embedding, or else the mean of tokens.
    output : str, optional
        The name of the output to use.
    max_length : int, optional
        The most tokens of a text, by default those of the tokenizer or the model; the rest is cut off.
    pad_to : int, optional
        Pad each text to this number of tokens, for models trained like that, such as SigLIP (64).
    threads : int, optional
        By default one for each core.
    """

    def __init__(
        self,
        model: str | Path,
        tokenizer: str | Path | None = None,
        *,
        pooling: str = "auto",
        output: str | None = None,
        max_length: int | None = None,
        pad_to: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = OnnxModel(model, usable_cores() if threads is None else as_count(threads, "threads"))
        path = self.model.path
        file = Path(tokenizer) if tokenizer is not None else beside_model(path, TOKENIZER)
        if file is None:
            raise ValueError(
                f"{path} has no {TOKENIZER} beside it: name its tokenizer with --tokenizer FILE (tokenizer)"
            )
        self._inputs = [slot for slot in self.model.inputs if len(slot.shape) == 2 and _kind(slot) != "other"]
        self._ids = next((slot for slot in self._inputs if _kind(slot) == "ids"), None)
        if self._ids is None:
            raise ValueError(
                f"{path} takes no texts, which are rows of whole numbers: its inputs are "
                f"{inputs_named(self.model.inputs)}"
            )
        self._length = self._ids.fixed(1) or (None if pad_to is None else as_count(pad_to, "pad_to"))
        self._file, self._tokenizer = file, _read_tokenizer(file)
        self._padding = _padding_id(self._tokenizer, file)
        limits = [max_length, self._length, _limit(self._tokenizer, file) if max_length is None else None]
        self.max_length = min((as_count(limit, "max_length") for limit in limits if limit is not None), default=None)
        with _naming(file):
            self._tokenizer.no_padding()
            if self.max_length is None:
                self._tokenizer.no_truncation()
            else:
                self._tokenizer.enable_truncation(self.max_length)
        self.pooling = pooling_of(self.model, "texts", pooling, output)
        self._has_mask = any(_kind(slot) == "mask" for slot in self._inputs)
        self._side = _side(path)

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the embeddings of texts."""
        with _naming(self._file):
            encodings = self._tokenizer.encode_batch(list(texts))
        cut = [text for text, encoding in zip(texts, encodings, strict=True) if encoding.overflowing]
        if cut:
            warn_user(
                f"{len(cut)} texts have more than {self.max_length} tokens: their ends are ignored: {shown(cut[0])}",
                UserWarning,
            )
        empty = [text for text, encoding in zip(texts, encodings, strict=True) if not encoding.ids]
        if empty:
            raise ValueError(f"the tokenizer finds no tokens in the text {empty[0]!r}: use another description")
        rows: list[Any] = [None] * len(encodings)
        for group in self._groups([len(encoding.ids) for encoding in encodings]):
            for i, row in zip(group, self._run([encodings[i] for i in group]), strict=True):
                rows[i] = row
        return np.stack(rows)

    def _groups(self, lengths: list[int]) -> list[list[int]]:
        """Group texts into batches; without a mask, padding would count, so texts of a batch must have equal length."""
        if self._has_mask or self._length is not None:
            groups = [list(range(len(lengths)))]
        else:
            groups = [[i for i, length in enumerate(lengths) if length == one] for one in sorted(set(lengths))]
        size = self._ids.fixed(0) if self._ids is not None else None
        if size is None:
            return groups
        return [group[first : first + size] for group in groups for first in range(0, len(group), size)]

    def _run(self, encodings: Sequence[Any]) -> npt.NDArray[np.float32]:
        assert self._ids is not None
        count, length = len(encodings), self._length or max(len(encoding.ids) for encoding in encodings)
        shape = (self._ids.fixed(0) or count, length)
        ids, (mask, kinds) = np.full(shape, self._padding), np.zeros((2, *shape), dtype=np.int64)
        for i, encoding in enumerate(encodings):
            n = len(encoding.ids)
            ids[i, :n], mask[i, :n], kinds[i, :n] = encoding.ids, encoding.attention_mask, encoding.type_ids
        mask[count:, 0] = 1  # rows that only fill up a batch
        values = {"ids": ids, "mask": mask, "kinds": kinds, "positions": np.broadcast_to(np.arange(length), shape)}
        given = {slot.name: np.ascontiguousarray(values[_kind(slot)], dtype=slot.dtype) for slot in self._inputs}
        lengths = dict(zip(self._ids.shape, shape, strict=True))
        for slot in self.model.inputs:
            if len(slot.shape) == 4:  # the dummy picture for a model of pictures and texts
                pictures = lengths.get(slot.shape[0], 1)  # the number of texts if both axes have the same name
                sizes = (pictures, self._side, self._side, 3)
                if not channels_are_last(slot.shape, None):
                    sizes = (pictures, 3, self._side, self._side)
                wanted = [slot.fixed(axis) or size for axis, size in enumerate(sizes)]
                given[slot.name] = np.zeros(wanted, slot.dtype)
        result = self.model.run(self.pooling.output, given, lengths)
        return self.pooling(result, len(ids), mask)[:count]

    def stop(self) -> None:
        """End a run in another thread soon."""
        self.model.stop()

    def __repr__(self) -> str:
        limit = "" if self.max_length is None else f", at most {self.max_length} tokens"
        return f"TextEncoder({str(self.model.path)!r}): {self.pooling}{limit}"


def _kind(slot: Slot) -> str:
    name = slot.name.lower()
    if "mask" in name:
        return "mask"
    if "type" in name or "segment" in name:
        return "kinds"
    if "position" in name:
        return "positions"
    return "ids" if slot.dtype in ("int64", "int32") else "other"


def _read_tokenizer(path: Path) -> Any:
    require_file(path)
    tokenizers = needed("tokenizers", "texts are cut into tokens by the package tokenizers", "embed")
    with _naming(path):
        return tokenizers.Tokenizer.from_file(str(path))


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors of the package tokenizers, whose PanicException is not an Exception."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(
            f"{path} is not a {TOKENIZER} of Hugging Face, or it is damaged ({shown(error, 200)})"
        ) from None


def _settings_beside(path: Path) -> dict[str, Any]:
    """Return the content of tokenizer_config.json, or nothing if it cannot be read."""
    beside = path.parent / "tokenizer_config.json"
    with contextlib.suppress(OSError, ValueError, RecursionError):
        require_file(beside)
        settings = json.loads(beside.read_text("utf-8"))
        if isinstance(settings, dict):
            return settings
    return {}


def _padding_id(tokenizer: Any, path: Path) -> int:
    if tokenizer.padding is not None:
        return int(tokenizer.padding["pad_id"])
    token = _settings_beside(path).get("pad_token")
    if isinstance(token, dict):
        token = token.get("content")
    known = (tokenizer.token_to_id(name) for name in (token, *_PADDING) if isinstance(name, str))
    return next((number for number in known if number is not None), 0)


def _limit(tokenizer: Any, path: Path) -> int | None:
    if tokenizer.truncation is not None:
        return int(tokenizer.truncation["max_length"])
    limit = _settings_beside(path).get("model_max_length")
    return int(limit) if isinstance(limit, (int, float)) and 0 < limit < _NO_LIMIT else None


def _side(path: Path) -> int:
    """Return the size of pictures of a model of pictures and texts."""
    config = beside_model(path, CONFIG)
    if config is None:
        return _SIDE
    _, exact, crop = sizes_of_config(read_config(config))
    return max(crop or exact or (_SIDE, _SIDE))
