"""Samples from a stream, read once and a chunk at a time: CSV, the bytes of a .npy file, or JSON lines."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.columns import TableForm
from jcmspl.datasets.csv_table import streamed_csv, text_lines
from jcmspl.datasets.errors import DatasetError, decoding, require_features
from jcmspl.datasets.json_lines import json_blocks
from jcmspl.datasets.npy import parse_header
from jcmspl.io.files import Place

_NPY_START = b"\x93"  # no UTF-8 text starts with it


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
    form: TableForm | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[StreamedRows]:
    """Yield the samples of a stream in chunks; its first bytes tell its kind.

    ``columns`` are the names of the features: a header with another order or with some other names is refused.
    """
    buffered: Any = file if hasattr(file, "peek") else io.BufferedReader(file)
    done = 0
    try:
        for X, ids in _chunks(buffered, name, n_features, size, form or TableForm(), columns):
            yield StreamedRows(np.arange(done, done + len(X)), X, ids)
            done += len(X)
    finally:
        if buffered is not file:
            buffered.detach()


def _chunks(
    file: Any, name: Place, n_features: int, size: int, form: TableForm, columns: Sequence[str] | None
) -> Iterator[tuple[npt.NDArray[Any], list[str] | None]]:
    start = file.peek(1)  # a pipe may have no more yet
    if not start:
        raise DatasetError(f"{name} is empty: CSV, the bytes of a .npy file, or JSON lines are expected")
    if start[:1] == _NPY_START:
        with decoding(name, "the content of a .npy file"):
            for block in _npy_blocks(file, name, n_features, size):
                yield block, None
        return
    lines = text_lines(file, name)
    blank = []
    with decoding(name, "text in UTF-8"):
        for line in lines:
            if line.strip():
                break
            blank.append(line)
        else:
            raise DatasetError(f"{name} holds only blank lines")
    lines = itertools.chain(blank, [line], lines)
    if line.lstrip()[0] in "[{" or getattr(name, "suffix", "").lower() in (".jsonl", ".ndjson"):
        blocks = json_blocks(lines, name, form, n_features=n_features, size=size)
    else:
        blocks = streamed_csv(lines, name, n_features, form, columns, size)
    for table in blocks:
        yield table.numbers, table.ids


def _npy_blocks(file: IO[bytes], name: Place, n_features: int, size: int) -> Iterator[npt.NDArray[Any]]:
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
        yield np.frombuffer(content, dtype).reshape(count, width)
