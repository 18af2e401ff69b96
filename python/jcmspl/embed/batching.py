"""Embeddings by any function, a batch at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.support.arguments import FloatArray, as_count
from jcmspl.support.progress import Progress
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
