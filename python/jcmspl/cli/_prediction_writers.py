"""Writers of predictions as CSV, JSON lines and parquet, chunk by chunk, and as npz at the end."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from jcmspl.support.shown import printable
from jcmspl.support.tables import without_formula

if TYPE_CHECKING:
    from typing_extensions import Self

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

    def values(self, found: Predictions) -> list[Any]:
        """Return the arrays (n, k) to write, in order: labels, and scores and shares if requested."""
        parts = ((found.labels, True), (found.scores, self.scores), (found.shares, self.proba))
        return [part for part, wanted in parts if wanted]


class Writer:
    """Base class of writers, used in a with statement: close after success, abandon after an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self.close() if kind is None else self.abandon()

    def write(self, found: Predictions) -> None:
        """Write a chunk."""
        raise NotImplementedError

    def close(self) -> None:
        """Write the end of the file."""

    def abandon(self) -> None:
        """Release the file after an error."""


class CsvWriter(Writer):
    """CSV; a rejected sample has empty labels."""

    def __init__(self, file: IO[str], form: Form) -> None:
        self._form, self._begun = form, False
        self._is_terminal = file.isatty()
        self._plain = csv.writer(file, lineterminator="\n")
        self._in_quotes = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(self, found: Predictions) -> None:
        """Write a chunk."""
        self._begin(found.ids is not None)
        form, rows = self._form, found.rows.tolist()
        labels, *numbers = (part.tolist() for part in form.values(found))
        ids = [[]] * len(rows) if found.ids is None else [[self._cell(own)] for own in found.ids]
        rejected = found.rejected.tolist() if form.reject else [False] * len(rows)
        for own, row, names, is_rejected, *values in zip(ids, rows, labels, rejected, *numbers, strict=True):
            cells = [*own, row, *([""] * form.top if is_rejected else map(self._cell, names))]
            # readers take \r for the end of a line, but the csv module does not quote it when lines end with \n
            writer = self._in_quotes if any("\r" in str(cell) for cell in cells) else self._plain
            told = ["yes" if is_rejected else "no"] * form.reject
            writer.writerow([*cells, *(f"{value:.9g}" for part in values for value in part), *told])

    def close(self) -> None:
        """Write the header if there was no chunk."""
        self._begin(have_ids=False)

    def _begin(self, have_ids: bool) -> None:
        if not self._begun:
            self._plain.writerow(map(self._cell, self._form.columns(have_ids)))
        self._begun = True

    def _cell(self, value: Any) -> Any:
        cell = value if self._form.exact_labels else without_formula(value)
        return printable(cell) if self._is_terminal and isinstance(cell, str) else cell


class JsonWriter(Writer):
    """JSON lines; a rejected sample has no labels."""

    def __init__(self, file: IO[str], form: Form) -> None:
        self._file, self._form = file, form

    def write(self, found: Predictions) -> None:
        """Write a chunk."""
        from jcmspl.io.json_text import dumps

        form = self._form
        wanted = {"scores": form.scores, "probabilities": form.proba, "rejected": form.reject}
        keys = ["row", "labels", *(name for name, is_wanted in wanted.items() if is_wanted)]
        parts = [found.rows, *form.values(found), *[found.rejected] * form.reject]
        columns = [part.tolist() for part in parts]
        if found.ids is not None:
            keys, columns = [form.name_of_ids(keys), *keys], [list(found.ids), *columns]
        for values in zip(*columns, strict=True):
            item = dict(zip(keys, values, strict=True))
            if item.get("rejected"):
                item["labels"] = []
            print(dumps(item), file=self._file)


class ParquetWriter(Writer):
    """Parquet, one row group per chunk; the labels of a rejected sample are null."""

    def __init__(self, file: IO[bytes], form: Form, nothing: Predictions) -> None:
        self._file, self._form, self._nothing = file, form, nothing
        self._writer: Any = None

    def write(self, found: Predictions) -> None:
        """Write a chunk."""
        from pyarrow import parquet

        table = self._table(found)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is None:
            self.write(self._nothing)
        self._writer.close()

    def abandon(self) -> None:
        """Release the file after an error."""
        with contextlib.suppress(Exception):
            if self._writer is not None:
                self._writer.close()

    def _table(self, found: Predictions) -> Any:
        import numpy as np
        import pyarrow

        labels = _plain_labels(found.labels)
        mask = found.rejected if self._form.reject else np.zeros(len(labels), dtype=bool)
        ids = [] if found.ids is None else [pyarrow.array(list(found.ids), type=pyarrow.string())]
        named = [pyarrow.array(column, mask=mask) for column in labels.T]
        numbers = [column for part in self._form.values(found)[1:] for column in part.T]
        rest = [found.rejected] * self._form.reject
        columns = [*ids, found.rows, *named, *numbers, *rest]
        return pyarrow.table(dict(zip(self._form.columns(found.ids is not None), columns, strict=True)))


class NpzWriter(Writer):
    """npz, written at the end; with ``--reject`` labels are texts, empty for rejected samples."""

    def __init__(self, file: IO[bytes], form: Form, nothing: Predictions) -> None:
        self._file, self._form, self._nothing = file, form, nothing
        self._parts: list[Predictions] = []

    def write(self, found: Predictions) -> None:
        """Keep a chunk."""
        self._parts.append(found)

    def close(self) -> None:
        """Write all chunks."""
        import numpy as np

        parts = self._parts or [self._nothing]
        joined: list[Any] = [None if each[0] is None else np.concatenate(each) for each in zip(*parts, strict=True)]
        rows, ids, labels, scores, shares, rejected = joined
        form, labels = self._form, _plain_labels(labels)
        if form.reject:
            labels = np.where(rejected[:, None], "", labels.astype(str))
        arrays: dict[str, Any] = {"row": rows, "labels": labels}
        arrays |= {"scores": scores} if form.scores else {}
        arrays |= {"probabilities": shares} if form.proba else {}
        arrays |= {"rejected": rejected} if form.reject else {}
        if ids is not None:
            arrays = {form.name_of_ids(["file", "allow_pickle", *arrays]): np.asarray(ids, dtype=str), **arrays}
        np.savez_compressed(self._file, **arrays)


def writer_of(suffix: str, file: IO[bytes], form: Form, nothing: Predictions) -> Writer:
    """Return a writer of predictions into a binary file; its close() leaves the file open.

    Parameters
    ----------
    suffix : str
        The format, as the suffix of a file.
    file : binary file
    form : Form
    nothing : Predictions
        Predictions of no samples, with the types of the columns.
    """
    if suffix == ".npz":
        return NpzWriter(file, form, nothing)
    if suffix == ".parquet":
        return ParquetWriter(file, form, nothing)
    return _Text(CsvWriter if suffix == ".csv" else JsonWriter, file, form)


class _Text(Writer):
    """A writer of text on a binary file."""

    def __init__(self, kind: Any, file: IO[bytes], form: Form) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = kind(self._text, form)

    def write(self, found: Predictions) -> None:
        self._writer.write(found)

    def close(self) -> None:
        self._writer.close()
        self._text.detach()  # flushes

    def abandon(self) -> None:
        with contextlib.suppress(Exception):
            self._text.detach()


class StandardOutput(Writer):
    """Standard output: CSV and JSON lines chunk by chunk, npz and parquet at the end."""

    def __init__(self, suffix: str, form: Form, nothing: Predictions) -> None:
        self._bytes: io.BytesIO | None = None
        if suffix in (".csv", ".jsonl"):
            self._writer: Writer = (CsvWriter if suffix == ".csv" else JsonWriter)(sys.stdout, form)
            return
        if sys.stdout.isatty():
            raise ValueError(f"{suffix} cannot be shown on a terminal: name a file with -o, or redirect the output")
        self._bytes = io.BytesIO()
        self._writer = writer_of(suffix, self._bytes, form, nothing)

    def write(self, found: Predictions) -> None:
        """Write a chunk."""
        self._writer.write(found)
        sys.stdout.flush()

    def close(self) -> None:
        """Write the end of the output."""
        self._writer.close()
        if self._bytes is not None:
            sys.stdout.buffer.write(self._bytes.getvalue())
            sys.stdout.buffer.flush()


def _plain_labels(labels: Any) -> Any:
    """Return labels that any reader accepts: mixed types become texts."""
    return labels.astype(str) if labels.dtype == object else labels
