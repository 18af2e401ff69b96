"""Class vectors of descriptions, one for all texts of a class; and embeddings by any function, a batch at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, label_array
from jcmspl.datasets.csv_table import read_text_rows
from jcmspl.datasets.errors import DatasetError
from jcmspl.embed.text_encoder import TextEncoder
from jcmspl.io.files import open_atomically
from jcmspl.support.arguments import FloatArray, as_count
from jcmspl.support.progress import Progress
from jcmspl.support.scaling import unit_length
from jcmspl.support.shown import quoted


def batches(
    items: Iterable[Any],
    function: Callable[[Any], Any],
    *,
    size: int = 64,
    progress: bool = True,
    what: str = "embedding",
    unit: str = "items",
) -> FloatArray:
    """Embed items with any function, a batch at a time, with a progress bar.

    Parameters
    ----------
    items : array, list, or other iterable
        The function gets slices of arrays, and lists of any other items.
    function : callable
        Takes a batch and returns a vector for each of its items: an array or a tensor of torch, such as
        ``SentenceTransformer("...").encode`` or a model of timm.
    size : int, default 64
        The number of items in a batch.
    progress : bool, default True
        Whether to show a progress bar on a terminal if it takes longer than a second.
    what, unit : str
        The texts of the progress bar.

    Returns
    -------
    ndarray of shape (n_items, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import embed
    >>> embed.batches(["zebra", "ox"], lambda names: [[len(name), name.count("e")] for name in names]).tolist()
    [[5.0, 1.0], [2.0, 0.0]]
    """
    size = as_count(size, "size")
    total = len(items) if isinstance(items, Sized) else None
    found: list[FloatArray] = []
    done = 0
    with Progress(what, total, unit, enabled=progress) as bar:
        for batch in _sliced(items, size):
            rows = vectors_of(function(batch), [_named(item, done + i) for i, item in enumerate(batch)])
            if found and rows.shape[1] != found[0].shape[1]:
                raise ValueError(
                    f"the function gave vectors of {found[0].shape[1]} values first and of {rows.shape[1]} from item "
                    f"{done} on"
                )
            found.append(rows)
            done += len(batch)
            bar.update(done)
    if not found:
        raise ValueError("there are no items to embed")
    return np.concatenate(found)


def vectors_of(result: Any, names: Sequence[str]) -> FloatArray:
    """Check the result of an embedding function for named items, and return it as an array with a row for each."""
    count = len(names)
    if hasattr(result, "detach"):  # a tensor of torch, perhaps on another device
        result = result.detach().cpu().float().numpy()
    rows: npt.NDArray[Any] = np.asarray(result)
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"an embedding function must return numbers, but its result is of the type {rows.dtype}")
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
        raise ValueError(
            f"an embedding function must return a vector for each of the {count} items that it is given, but the "
            f"shape of its result is {rows.shape}"
        )
    small = rows.dtype.kind == "f" and rows.dtype.itemsize <= 4
    floats: FloatArray = np.array(rows, dtype=np.float32 if small else np.float64)
    if not np.isfinite(floats).all():
        bad = names[int(np.argmin(np.isfinite(floats).all(axis=1)))]
        raise ValueError(
            f"the embedding of {bad} has values that are NaN or infinite: leave it out, or use another model"
        )
    return floats


def _named(item: Any, number: int) -> str:
    return quoted(item) if isinstance(item, str) else f"item {number}"


def _sliced(items: Any, size: int) -> Iterator[Any]:
    if isinstance(items, (list, tuple)) or hasattr(items, "shape"):
        for first in range(0, len(items), size):
            yield items[first : first + size]
        return
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch


_NAMES = ("class", "classes", "name", "names", "label", "labels")
_TEXTS = ("text", "texts", "description", "descriptions", "prompt", "prompts", "caption", "captions")
_SLOT = "{}"  # for the text in a template


def texts(
    descriptions: str | Path | Mapping[Any, str | Sequence[str]] | Sequence[str],
    model: str | Path | TextEncoder | Callable[[list[str]], Any],
    tokenizer: str | Path | None = None,
    *,
    templates: Sequence[str] = (_SLOT,),
    batch_size: int = 32,
    progress: bool = True,
) -> ClassTable:
    """Embed descriptions of classes into one vector of length one for each class.

    Each text is inserted into each template; embeddings are scaled to length one, averaged over the texts and templates
    of a class, and scaled again, as CLIP does.

    Parameters
    ----------
    descriptions : path, mapping or list
        A CSV file with names of classes in the first column and texts in the second (or names alone), optionally below
        a header such as ``class,text``; a class may have several rows. Or a dict of names and texts, or of names and
        lists of texts. Or a list of names, which are also the texts.
    model : str, Path, TextEncoder or callable
        An ONNX file; a :class:`TextEncoder`, which has options; or any function that takes a list of texts and
        returns a vector for each, as an array or a tensor.
    tokenizer : str or Path, optional
        The ``tokenizer.json`` of an ONNX file, by default the one beside it.
    templates : sequence of str, default ("{}",)
        Each with ``{}`` in place of the text, such as ``"a photo of a {}"``.
    batch_size : int, default 32
    progress : bool, default True

    Returns
    -------
    ClassTable

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import embed
    >>> letters = lambda batch: np.array([[text.count(letter) for letter in "abc"] for text in batch], dtype=float)
    >>> embed.texts({"first": ["a", "aab"], "last": "c"}, letters)["last"]
    array([0., 0., 1.])
    """
    by_class = _by_class(descriptions)
    frames = _checked_templates(templates)
    if isinstance(model, (str, Path)):
        model = TextEncoder(model, tokenizer)
    elif tokenizer is not None:
        raise ValueError("a tokenizer goes with an ONNX file: a TextEncoder has its own, and a function needs none")
    filled = [frame.replace(_SLOT, text) for several in by_class.values() for text in several for frame in frames]
    rows = batches(filled, model, size=batch_size, progress=progress, unit="texts")
    vectors = unit_length(rows.astype(np.float64))
    means, first = [], 0
    for name, several in by_class.items():
        count = len(several) * len(frames)
        mean = vectors[first : first + count].mean(axis=0, keepdims=True)
        if not mean.any():
            raise ValueError(f"the embeddings of the texts of {quoted(name)} add up to zero, so it has no direction")
        means.append(unit_length(mean))
        first += count
    return ClassTable(list(by_class), np.concatenate(means))


def save_classes(table: ClassTable, path: str | Path, overwrite: bool = False) -> None:
    """Write class vectors to an .npz file, which ``class_vectors`` of ``load_arrays`` and ``--classes`` take.

    Parameters
    ----------
    table : ClassTable
    path : str or Path
    overwrite : bool, default False
        Whether an existing file may be replaced.
    """
    arrays: dict[str, Any] = {"class_names": label_array(list(table)), "class_vectors": table.vectors}
    if arrays["class_names"].dtype == object:
        raise ValueError("names of classes must all be text or all be numbers to be saved, but these are mixed")
    if table.attributes is not None:
        arrays["attribute_names"] = np.array(table.attributes)
    with open_atomically(Path(path), overwrite=overwrite) as file:
        np.savez(file, **arrays)


def _by_class(descriptions: Any) -> dict[Label, list[str]]:
    """Return the texts of each class, with classes in the order of their first text."""
    if isinstance(descriptions, (str, Path)):
        return _read(Path(descriptions))
    if isinstance(descriptions, Mapping):
        items = {name: [value] if isinstance(value, str) else list(value) for name, value in descriptions.items()}
    else:
        items = {name: [name] for name in descriptions}
    if not items:
        raise ValueError("there are no descriptions")
    for name, several in items.items():
        if not several or not all(isinstance(text, str) and text.strip() for text in several):
            raise ValueError(f"the class {quoted(name)} must have one text or several, and no text may be empty")
    return items


def _read(path: Path) -> dict[Label, list[str]]:
    rows = read_text_rows(path, whole_lines=path.suffix == ".txt")
    if rows and rows[0][0].lower() in _NAMES and (len(rows[0]) == 1 or rows[0][1].lower() in _TEXTS):
        rows = rows[1:]
    if not rows:
        raise DatasetError(f"{path} describes no classes")
    found: dict[Label, list[str]] = {}
    for number, cells in enumerate(rows, start=1):
        if len(cells) > 2:
            raise DatasetError(
                f"{path}: entry {number} has {len(cells)} cells, but the name of a class and a text are expected; put "
                "a text with commas in quotes"
            )
        if not all(cells):
            missing = "name" if not cells[0] else "text"
            raise DatasetError(
                f"{path}: entry {number} has no {missing}: each class has a name and a text that describes it"
            )
        found.setdefault(cells[0], []).append(cells[-1])
    return found


def _checked_templates(templates: Sequence[str]) -> list[str]:
    frames = [templates] if isinstance(templates, str) else list(templates)
    for frame in frames:
        if _SLOT not in frame:
            raise ValueError(f"the template {quoted(frame)} has no {_SLOT} in place of the text")
    if not frames:
        raise ValueError("templates must hold at least one template")
    return frames
