"""Class vectors of several sources, such as attributes and text embeddings, side by side: what each is to count for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jcmspl.support.arguments import Float64Array, as_count, as_weight
from jcmspl.support.shown import quoted

#: The name of each source and the number of its columns, in their order.
Sources = tuple[tuple[str, int], ...]


def checked_sources(sources: Iterable[tuple[str, int]], n_attributes: int) -> Sources:
    """Return the sources of vectors of so many attributes."""
    checked = tuple((str(name), as_count(width, f"the width of the source {quoted(name)}")) for name, width in sources)
    if len({name for name, _ in checked}) != len(checked):
        raise ValueError("two sources have the same name")
    total = sum(width for _, width in checked)
    if total != n_attributes:
        raise ValueError(f"the sources have {total} columns, but class_vectors has {n_attributes}")
    return checked


def check_source_shares(value: Any, name: str) -> None:
    """Refuse what cannot be shares of sources: None, or numbers of at least 0 that are not all zero."""
    if value is None:
        return
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be None or a tuple of numbers, one for each source, but is {value!r}")
    shares = [as_weight(share, name) for share in value]
    if not any(shares):
        raise ValueError(f"{name} must have a number above 0, but is {value!r}")


def share_roots(shares: Any, names: list[str], name: str) -> Float64Array:
    """Return the roots of shares, which are scaled to add up to one."""
    if len(shares) != len(names):
        raise ValueError(
            f"{name} has {len(shares)} numbers, but there are {len(names)} sources: {', '.join(map(quoted, names))}"
        )
    parts = np.array(shares, dtype=np.float64)
    parts /= parts.max()  # first, so that no sum overflows
    return np.asarray(np.sqrt(parts / parts.sum()))


def column_scale(sources: Sources | None, shares: Any) -> Float64Array:
    """Return the factors of the columns of joined class vectors, 1 for equal shares."""
    if sources is None:
        raise ValueError(
            "source_shares is for class vectors of several sources: join them, "
            "class_vectors=ClassTable.joined(attributes=a, text=b), or leave source_shares out"
        )
    roots = share_roots(shares, [name for name, _ in sources], "source_shares")
    return np.repeat(roots * np.sqrt(len(sources)), [width for _, width in sources])
