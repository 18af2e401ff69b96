"""Predictions written as CSV, JSON lines and parquet, chunk by chunk, and as npz at the end."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from jcmspl.support.shown import printable, without_formula

#: Formats of predictions, named like the suffixes of files.
FORMATS = ("csv", "jsonl", "npz", "parquet")


class Predictions(NamedTuple):
    """Predictions of a chunk: labels, scores and shares are (n, k); parts not requested are None."""

    rows: Any
    ids: Any
    labels: Any
    scores: Any
    shares: Any
    rejected: Any


class Form(NamedTuple):
    """The columns of predictions."""

    top: int
    scores: bool
    proba: bool
    reject: bool
    exact_labels: bool
    id_name: str = "id"

    def columns(self, have_ids: bool) -> list[str]:
        """Return the names of the columns."""
        ranks = [""] if self.top == 1 else [f"_{rank}" for rank in range(1, self.top + 1)]
        parts = {"label": True, "score": self.scores, "probability": self.proba}
        names = ["row", *(name + rank for name, wanted in parts.items() if wanted for rank in ranks)]
        names += ["rejected"] * self.reject
        return [self.name_of_ids(names), *names] if have_ids else names

    def name_of_ids(self, others: list[str]) -> str:
        """Return a name for the column of ids that differs from the others."""
        name = self.id_name or "id"
        while name in others:
            name += "_"
        return name

    def values(self, found: Predictions) -> dict[str, Any]:
        """Return the arrays (n, k) to write by name: labels, and scores and probabilities if requested."""
        parts = {"scores": (found.scores, self.scores), "probabilities": (found.shares, self.proba)}
        return {"labels": found.labels, **{name: part for name, (part, wanted) in parts.items() if wanted}}


def write_predictions(
    suffix: str, file: IO[bytes], form: Form, chunks: Iterable[Predictions], nothing: Predictions
) -> None:
    """Write predictions into a binary file, which stays open; ``nothing`` has the types of columns without chunks."""
    chunks = _at_least_one(chunks, nothing)
    if suffix not in _TEXTS:
        (_write_npz if suffix == ".npz" else _write_parquet)(file, form, chunks)
        return
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        _TEXTS[suffix](text, form, chunks)
    except BaseException:
        with contextlib.suppress(Exception):
            text.detach()
        raise
    text.detach()  # flushes


def print_predictions(suffix: str, form: Form, chunks: Iterable[Predictions], nothing: Predictions) -> None:
    """Write predictions to standard output: CSV and JSON lines chunk by chunk, npz and parquet at the end."""
    if suffix in _TEXTS:
        _TEXTS[suffix](sys.stdout, form, _flushed(_at_least_one(chunks, nothing)))
        return
    if sys.stdout.isatty():
        raise ValueError(f"{suffix} cannot be shown on a terminal: name a file with -o, or redirect the output")
    content = io.BytesIO()
    write_predictions(suffix, content, form, chunks, nothing)
    sys.stdout.buffer.write(content.getvalue())
    sys.stdout.buffer.flush()


def _at_least_one(chunks: Iterable[Predictions], nothing: Predictions) -> Iterator[Predictions]:
    are_none = True
    for found in chunks:
        are_none = False
        yield found
    if are_none:
        yield nothing


def _flushed(chunks: Iterable[Predictions]) -> Iterator[Predictions]:
    for found in chunks:
        yield found
        sys.stdout.flush()


def _write_csv(file: IO[str], form: Form, chunks: Iterator[Predictions]) -> None:
    """Write CSV; a rejected sample has empty labels."""
    plain = csv.writer(file, lineterminator="\n")
    in_quotes = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    is_terminal = file.isatty()

    def shown(value: Any) -> Any:
        value = value if form.exact_labels else without_formula(value)
        return printable(value) if is_terminal and isinstance(value, str) else value

    for number, found in enumerate(chunks):
        if not number:
            plain.writerow(map(shown, form.columns(found.ids is not None)))
        rows, (labels, *numbers) = found.rows.tolist(), [part.tolist() for part in form.values(found).values()]
        ids = [[]] * len(rows) if found.ids is None else [[shown(own)] for own in found.ids]
        rejected = found.rejected.tolist() if form.reject else [False] * len(rows)
        for own, row, names, is_rejected, *values in zip(ids, rows, labels, rejected, *numbers, strict=True):
            cells = [*own, row, *([""] * form.top if is_rejected else map(shown, names))]
            # readers take \r for the end of a line, but the csv module does not quote it when lines end with \n
            writer = in_quotes if any("\r" in str(cell) for cell in cells) else plain
            told = ["yes" if is_rejected else "no"] * form.reject
            writer.writerow([*cells, *(f"{value:.9g}" for part in values for value in part), *told])


def _write_jsonl(file: IO[str], form: Form, chunks: Iterator[Predictions]) -> None:
    """Write JSON lines; a rejected sample has no labels."""
    from jcmspl.io.json_text import dumps

    for found in chunks:
        parts = {"row": found.rows, **form.values(found)} | ({"rejected": found.rejected} if form.reject else {})
        columns = {name: part.tolist() for name, part in parts.items()}
        if found.ids is not None:
            columns = {form.name_of_ids([*columns]): found.ids, **columns}
        for values in zip(*columns.values(), strict=True):
            item = dict(zip(columns, values, strict=True))
            if item.get("rejected"):
                item["labels"] = []
            print(dumps(item), file=file)


def _write_parquet(file: IO[bytes], form: Form, chunks: Iterator[Predictions]) -> None:
    """Write parquet, one row group per chunk; the labels of a rejected sample are null."""
    from pyarrow import parquet

    writer: Any = None
    try:
        for found in chunks:
            table = _arrow_table(form, found)
            writer = parquet.ParquetWriter(file, table.schema) if writer is None else writer
            writer.write_table(table)
    except BaseException:
        with contextlib.suppress(Exception):
            if writer is not None:
                writer.close()
        raise
    writer.close()


def _arrow_table(form: Form, found: Predictions) -> Any:
    import numpy as np
    import pyarrow

    labels, *numbers = form.values(found).values()
    mask = found.rejected if form.reject else np.zeros(len(labels), dtype=bool)
    ids = [] if found.ids is None else [pyarrow.array(list(found.ids), type=pyarrow.string())]
    named = [pyarrow.array(column, mask=mask) for column in _plain_labels(labels).T]
    columns = [*ids, found.rows, *named, *(column for part in numbers for column in part.T)]
    columns += [found.rejected] * form.reject
    return pyarrow.table(dict(zip(form.columns(found.ids is not None), columns, strict=True)))


def _write_npz(file: IO[bytes], form: Form, chunks: Iterator[Predictions]) -> None:
    """Write npz at the end; with ``--reject`` labels are texts, empty for rejected samples."""
    import numpy as np

    parts = zip(*chunks, strict=True)
    found = Predictions(*(None if each[0] is None else np.concatenate(each) for each in parts))
    arrays = {"row": found.rows, **form.values(found), "labels": _plain_labels(found.labels)}
    if form.reject:
        arrays["labels"] = np.where(found.rejected[:, None], "", arrays["labels"].astype(str))
        arrays["rejected"] = found.rejected
    if found.ids is not None:
        arrays = {form.name_of_ids(["file", "allow_pickle", *arrays]): np.asarray(found.ids, dtype=str), **arrays}
    np.savez_compressed(file, **arrays)


def _plain_labels(labels: Any) -> Any:
    """Return labels that any reader accepts: mixed types become texts."""
    return labels.astype(str) if labels.dtype == object else labels


_TEXTS = {".csv": _write_csv, ".jsonl": _write_jsonl}
