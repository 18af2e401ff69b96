"""JSON lines: each line a list of numbers, or an object that has a vector or a number for each feature."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.datasets.columns import (
    MISSING_ADVICE,
    Column,
    NamedRoles,
    Table,
    TableForm,
    joined,
    named_roles,
)
from jcmspl.datasets.csv_table import text_lines
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.files import Place, require_file
from jcmspl.support.shown import quoted

_VECTOR = "features"  # the key of the vector, if there are several
_SIZE = 4096  # lines of a block


def read_json_lines(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a file of samples; arguments as for :func:`roles_of`."""
    require_file(path)
    with decoding(path, "a file of JSON lines"), path.open("rb") as file:
        return joined(path, json_blocks(text_lines(file, path), path, form, labels))


def json_blocks(
    lines: Iterable[str],
    path: Place,
    form: TableForm,
    labels: Column | Sequence[str] | None = None,
    *,
    n_features: int | None = None,
    size: int = _SIZE,
) -> Iterator[Table]:
    """Yield JSON lines in blocks; arguments as for :func:`record_blocks`."""
    return record_blocks(_records(lines, path), path, form, labels, n_features=n_features, size=size)


def record_blocks(
    records: Iterator[tuple[str, Any]],
    path: Place,
    form: TableForm,
    labels: Column | Sequence[str] | None = None,
    *,
    n_features: int | None = None,
    size: int = _SIZE,
) -> Iterator[Table]:
    """Yield records, lists of numbers or objects, in blocks.

    Parameters
    ----------
    records : iterator of (str, object)
        Each with its place in the file, for messages. The vector of an object is under the key ``form.vector``, or
        under the only key with a list of numbers, or "features".
    path : Path
    form : TableForm
    labels
        As for :func:`roles_of`.
    n_features : int, optional
        All vectors have so many numbers; by default as many as the first.
    size : int
        The records of a block.
    """
    first = next(records, None)
    if first is None:
        return
    where, value = first
    if not isinstance(value, (list, dict)):
        raise DatasetError(f"{where} holds {quoted(value)} where a list of numbers or an object is expected")
    if isinstance(value, list) and labels is not None:
        raise DatasetError(f"{path} holds lists of numbers without labels: name the file that has them")
    keys = NamedRoles() if isinstance(value, list) else _keys(path, value, labels, form)
    width = n_features
    have_ids = isinstance(value, dict) and value.get(keys.id) is not None
    rest = itertools.chain([first], records)
    while block := list(itertools.islice(rest, size)):
        rows, names, ids = [], [], []
        for where, value in block:
            numbers = _numbers(where, value, keys, width, form.missing)
            width = len(numbers)
            rows.append(numbers)
            own = _text(where, value, keys.id)
            if (own is not None) != have_ids:
                raise DatasetError(
                    f"{path}: some samples have an 'id' and others have none: give all of them one, or none"
                )
            ids.append(str(own))
            if keys.label is not None:
                names.append(_text(where, value, keys.label))
                if names[-1] is None:
                    raise DatasetError(f"{where} has no value for {quoted(keys.label)}")
        yield Table(
            None if keys.is_vector else list(keys.features) or None,
            np.stack(rows),
            None if keys.label is None else names,
            ids if have_ids else None,
            keys.id or "id",
            keys.left_out,
        )


def _records(lines: Iterable[str], path: Place) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{path}: line {number}"
            try:
                yield where, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{where} is not JSON ({error})") from None


def _keys(path: Place, record: dict[str, Any], labels: Column | Sequence[str] | None, form: TableForm) -> NamedRoles:
    """Return the roles of the keys, as the first object has them."""
    names, preferred = list(record), form.vector or _VECTOR
    lists = [name for name in names if isinstance(record[name], list) and name not in form.ignore]
    texts = [i for i, name in enumerate(names) if not isinstance(record[name], (int, float, type(None)))]
    return named_roles(path, names, [preferred] if preferred in record else lists, labels, form, texts)


def _numbers(where: str, value: Any, keys: NamedRoles, width: int | None, missing: bool) -> Any:
    """Return the features of a line as an array."""
    if isinstance(value, dict):
        lacking = next((name for name in keys.features if name not in value), None)
        if lacking is not None or not keys.features:
            raise DatasetError(f"{where} has no {quoted(lacking or _VECTOR)}, which the first line has")
        value = value[keys.features[0]] if keys.is_vector else [value[name] for name in keys.features]
    if not isinstance(value, list) or (len(value) != width if width else not value):
        found = f"{len(value)} values" if isinstance(value, list) else quoted(value)
        raise DatasetError(f"{where} holds {found} where a list of {width or 'some'} numbers is expected")
    if missing:
        value = [math.nan if item is None else item for item in value]
    if not set(map(type, value)) <= {int, float}:
        bad = next(item for item in value if type(item) not in (int, float))
        advice = f": {MISSING_ADVICE}" if bad is None else ""
        raise DatasetError(f"{where} holds {quoted(bad)} where a number is expected{advice}")
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:
        raise DatasetError(f"{where} holds a number that is too large") from None


def _text(where: str, value: Any, key: str | None) -> Any:
    """Return the value under a key: a text, a number, or None without the key."""
    found = None if key is None or not isinstance(value, dict) else value.get(key)
    if not isinstance(found, (str, int, float, type(None))):
        raise DatasetError(f"{where} has an {key!r} that is neither a text nor a number")
    return found
