"""Samples from a stream, read once and a chunk at a time: CSV, the bytes of a .npy file, or JSON lines."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.columns import LABEL_COLUMNS, require_same_columns
from jcmspl.datasets.csv_table import MISSING_ADVICE, header_hint, is_missing, is_number
from jcmspl.datasets.errors import DatasetError, decoding, require_features
from jcmspl.datasets.npy import parse_header
from jcmspl.io.files import Place
from jcmspl.support.shown import quoted

ID_COLUMN = "id"
_FEATURES = "features"  # key of a JSON object
_NPY_START = b"\x93"  # no UTF-8 text starts with it
_DELIMITERS = ",;\t"
_LONGEST_LINE = 2**28  # characters


class StreamedRows(NamedTuple):
    """Some samples of a stream: their numbers from 0, their values, and their ids if they have any."""

    rows: npt.NDArray[np.int64]
    X: npt.NDArray[Any]
    ids: list[str] | None


def read_stream(
    file: IO[bytes],
    name: Place,
    n_features: int,
    *,
    size: int = 8192,
    header: str = "auto",
    missing: bool = False,
    columns: Sequence[str] | None = None,
) -> Iterator[StreamedRows]:
    """Yield the samples of a stream in chunks; its first bytes tell its kind.

    Parameters
    ----------
    file : binary file
        CSV: numbers separated by commas, semicolons or tabs; a header may name a column "id" and a column of labels,
        which is ignored. Or the bytes of a .npy file, by rows. Or JSON lines: each a list of numbers, or an object with
        the list "features" and optionally an "id".
    name : Path
        The name of the stream for messages.
    n_features : int
        The number of features of the model.
    size : int
        The number of samples of a chunk.
    header : {"auto", "yes", "no"}
        Whether CSV starts with a header; "auto": it does if no cell of the first line is a number.
    missing : bool
        Whether values may be missing; they become NaN.
    columns : sequence of str, optional
        The names of the features: a CSV header with another order or with some other names is refused.
    """
    if not hasattr(file, "peek"):
        buffered = io.BufferedReader(file)  # type: ignore[type-var]
        try:
            yield from read_stream(
                buffered, name, n_features, size=size, header=header, missing=missing, columns=columns
            )
        finally:
            buffered.detach()
        return
    start = file.peek(1)  # a pipe may have no more yet
    if not start:
        raise DatasetError(f"{name} is empty: CSV, the bytes of a .npy file, or JSON lines are expected")
    if start[:1] == _NPY_START:
        with decoding(name, "the content of a .npy file"):
            yield from _npy_rows(file, name, n_features, size)
        return
    with decoding(name, "text in UTF-8"):
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            lines = _lines(text, name)
            first = next(((number, line) for number, line in lines if line.strip()), None)
            if first is None:
                raise DatasetError(f"{name} holds only blank lines")
            rest = itertools.chain([first], lines)
            is_json = first[1].lstrip()[0] in "[{"
            if is_json:
                found = _json_rows(rest, name, n_features, missing)
            else:
                found = _csv_rows(rest, name, n_features, header, missing, columns)
            yield from _in_chunks(found, size, n_features, name)
        finally:
            text.detach()  # the caller closes the stream


def _lines(text: IO[str], name: Place) -> Iterator[tuple[int, str]]:
    number = 0
    while line := text.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise DatasetError(f"{name}: line {number} is longer than any line of samples")
        yield number, line


def _npy_rows(file: IO[bytes], name: Place, n_features: int, size: int) -> Iterator[StreamedRows]:
    shape, by_columns, dtype = parse_header(file)
    n_rows, width = require_features(name, shape, dtype)
    if width != n_features:
        raise DatasetError(f"{name} has {width} columns, but the model expects {n_features} features")
    if by_columns and n_rows > 1:
        raise DatasetError(
            f"{name} is stored by columns, so that no sample is complete before the end: save it by rows "
            "(numpy.ascontiguousarray), or write it to a file first"
        )
    for first in range(0, n_rows, size):
        count = min(size, n_rows - first)
        n_bytes = count * width * dtype.itemsize
        content = file.read(n_bytes)
        if len(content) < n_bytes:
            there = first + len(content) // (width * dtype.itemsize)
            raise DatasetError(f"{name} is cut short: it claims {n_rows:,} rows, but {there:,} are there")
        yield StreamedRows(np.arange(first, first + count), np.frombuffer(content, dtype).reshape(count, width), None)


def _json_rows(
    lines: Iterable[tuple[int, str]], name: Place, n_features: int, missing: bool
) -> Iterator[tuple[str | None, npt.NDArray[np.float64]]]:
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{name}: line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{where} is not JSON ({error})") from None
        own = None
        if isinstance(value, dict):
            if _FEATURES not in value:
                raise DatasetError(f"{where} has no {_FEATURES!r}: {{'id': ..., 'features': [...]}} is expected")
            own = value.get(ID_COLUMN)
            if own is not None and not isinstance(own, (str, int, float)):
                raise DatasetError(f"{where} has an 'id' that is neither a text nor a number")
            value = value[_FEATURES]
        if not isinstance(value, list) or len(value) != n_features:
            found = f"{len(value)} values" if isinstance(value, list) else quoted(value)
            raise DatasetError(f"{where} holds {found} where a list of {n_features} numbers is expected")
        if missing:
            value = [math.nan if item is None else item for item in value]
        bad = next((item for item in value if type(item) not in (int, float)), None)
        if bad is not None or None in value:
            raise DatasetError(f"{where} holds {quoted(bad)} where a number is expected")
        yield None if own is None else str(own), _floats(value, where)


def _csv_rows(
    lines: Iterable[tuple[int, str]],
    name: Place,
    n_features: int,
    header: str,
    missing: bool,
    columns: Sequence[str] | None,
) -> Iterator[tuple[str | None, npt.NDArray[np.float64]]]:
    numbered = iter(lines)
    number, line = next(numbered)
    delimiter = max(_DELIMITERS, key=line.count)  # the comma if there is no delimiter at all
    reader = csv.reader(itertools.chain([line], (one for _, one in numbered)), delimiter=delimiter)
    first = [cell.strip() for cell in next(reader)]
    has_header = header == "yes" or (header == "auto" and not any(map(is_number, first)))
    kept, of_ids = _columns(name, first if has_header else None, len(first), n_features)
    if has_header and columns is not None:
        require_same_columns(name, [first[i] for i in kept], columns)
    numeric = set(kept)
    for cells in reader if has_header else itertools.chain([first], reader):
        where = f"{name}: line {number - 1 + reader.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(first):
            raise DatasetError(f"{where} has {len(cells)} cells, but the first line has {len(first)}")
        if missing:
            cells = ["nan" if i in numeric and is_missing(cell) else cell for i, cell in enumerate(cells)]
        bad = next((cells[i] for i in kept if not is_number(cells[i])), None)
        if bad is not None and is_missing(bad):
            raise DatasetError(f"{where} has no value in the column number {cells.index(bad) + 1}: {MISSING_ADVICE}")
        if bad is not None:
            raise DatasetError(
                f"{where} holds {quoted(bad)} where a plain number is expected{header_hint(cells is first)}"
            )
        yield None if of_ids is None else cells[of_ids].strip(), _floats([cells[i] for i in kept], where)


def _columns(name: Place, header: list[str] | None, width: int, n_features: int) -> tuple[list[int], int | None]:
    """Return the columns of the features, and the column of ids if there is one."""
    of_ids = None if header is None or ID_COLUMN not in header else header.index(ID_COLUMN)
    others = {of_ids} | {i for i, cell in enumerate(header or ()) if cell in LABEL_COLUMNS}
    kept = list(range(width)) if width == n_features else [i for i in range(width) if i not in others]
    if len(kept) != n_features:
        raise DatasetError(f"{name} has {width} columns, but the model expects {n_features} features")
    return kept, of_ids if width != n_features else None


def _in_chunks(
    found: Iterator[tuple[str | None, npt.NDArray[np.float64]]], size: int, n_features: int, name: Place
) -> Iterator[StreamedRows]:
    done, have_ids = 0, False
    while chunk := list(itertools.islice(found, size)):
        ids = [own for own, _ in chunk]
        if not done:
            have_ids = ids[0] is not None
        if any((own is not None) != have_ids for own in ids):
            raise DatasetError(f"{name}: some samples have an 'id' and others have none: give all of them one, or none")
        X = np.array([values for _, values in chunk], dtype=np.float64).reshape(len(chunk), n_features)
        yield StreamedRows(np.arange(done, done + len(chunk)), X, [str(own) for own in ids] if have_ids else None)
        done += len(chunk)


def _floats(values: list[Any], where: str) -> npt.NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (OverflowError, ValueError):
        raise DatasetError(f"{where} holds a number that is too large") from None
