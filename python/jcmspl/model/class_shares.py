"""Class shares that a user knows: which part of the samples belongs to each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import some
from jcmspl.support.arguments import Float64Array
from jcmspl.support.shown import quoted


def known_shares(given: Any, table: ClassTable) -> Float64Array | None:
    """Return the shares of the candidates, which add up to one, or None if they are not known.

    Parameters
    ----------
    given : None, "even", mapping of label -> number, or array_like of shape (n_candidates,)
        Numbers above 0 in any unit: shares, percentages or numbers of samples.
    table : ClassTable
        The candidates.
    """
    if given is None:
        return None
    n_candidates = table.n_classes
    if isinstance(given, str):
        if given != "even":
            raise ValueError(f"class_shares must be 'even', a dict or an array of numbers, but is {quoted(given)}")
        return np.full(n_candidates, 1 / n_candidates)
    values = _in_order(given, table) if isinstance(given, Mapping) else given
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("class_shares must be 'even', a dict of label -> number, or an array of numbers") from None
    if numbers.shape != (n_candidates,):
        raise ValueError(
            f"class_shares has the shape {numbers.shape}, but there are {n_candidates} candidates: give one number for "
            "each, in their order, or a dict of label -> number"
        )
    wrong = np.flatnonzero(~((numbers > 0) & np.isfinite(numbers)))
    if len(wrong):
        label = list(table)[wrong[0]]
        raise ValueError(
            f"class_shares must be finite numbers above 0, but that of {quoted(label)} is {numbers[wrong[0]]}: leave "
            "classes that do not occur out of the candidates"
        )
    scaled = numbers / numbers.max()
    return np.asarray(scaled / scaled.sum())


def _in_order(given: Mapping[Any, Any], table: ClassTable) -> list[Any]:
    """Return the numbers of a mapping in the order of the candidates."""
    strangers = [label for label in given if label not in table]
    if strangers:
        raise ValueError(f"class_shares names {some(strangers)}, which is not among the candidates")
    missing = [label for label in table if label not in given]
    if missing:
        raise ValueError(f"class_shares has no number for {some(missing)}: give one for each candidate")
    return [given[label] for label in table]
