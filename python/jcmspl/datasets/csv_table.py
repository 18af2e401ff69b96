"""Tables in CSV files: samples and class vectors, read a block of lines at a time; and plain lists of texts."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.columns import Column, Roles, Table, TableForm, column_name, id_name, roles_of
from jcmspl.datasets.csv_cells import CellNumbers, checked_delimiter, is_missing, is_number, rows_of, text_lines
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.paths import require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.names import HEADERS
from jcmspl.support.shown import shown

_BLOCK = 4096  # lines
# Headings of a column of class names, which are not such names themselves.
_CLASS_HEADINGS = ("", "class", "classes", "label", "labels", "name", "names")


def read_csv(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a CSV file of samples, with or without a header.

    Parameters
    ----------
    path : Path
    form : TableForm
    labels : column, several names in order of preference, or None
        The column of labels; None: labels come from elsewhere.
    """

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        texts = [i for i, cells in enumerate(zip(*first, strict=True)) if _are_texts(cells)]
        return roles_of(path, names, len(first[0]), labels, form, texts)

    asked = (form.id_column, *form.ignore, *((labels,) if isinstance(labels, (str, int)) else ()))
    named = [column for column in asked if isinstance(column, str)]
    numbered = {int(column) - 1 for column in asked if column is not None and str(column).isdecimal()}
    return _read_csv(path, form, roles, numbered, named)


def read_class_csv(path: Path, *, header: str = "auto", delimiter: str | None = None) -> Table:
    """Read a CSV file of class vectors: labels in the first column, numbers in all others."""
    form = TableForm(header=header, delimiter=delimiter, missing=True)

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        return Roles(tuple(range(1, len(first[0]))), label=0)

    return _read_csv(path, form, roles, {0}, ())


def read_text_rows(path: Path, *, whole_lines: bool = False, delimiter: str | None = ",") -> list[list[str]]:
    """Read all lines of a CSV or text file as lists of cells, without blank lines at the end.

    With `whole_lines`, each line is one text and a comma is part of it, in quotes or not.
    """
    require_file(path)
    with decoding(path, "a text file"):
        if whole_lines:
            rows = [[_unquoted(line.strip())] for line in text_lines(path)]
        else:
            rows = [[cell.strip() for cell in cells] or [""] for _, cells in rows_of(path, delimiter, blank=True)[1]]
    while rows and rows[-1] == [""]:
        rows.pop()
    return rows


def _read_csv(
    path: Path,
    form: TableForm,
    roles_in: Callable[[list[str] | None, list[list[str]]], Roles],
    texts: set[int],
    named: Iterable[str],
) -> Table:
    """Read a CSV file; its header and the cells of the first lines decide about the roles of its columns.

    Parameters
    ----------
    path : Path
    form : TableForm
    roles_in : function of the names of columns and of the first rows
    texts : set of int
        The positions of columns that need not hold numbers.
    named : iterable of str
        Names of columns: if the first line has one of them, it is a header.
    """
    one_of(form.header, "header", HEADERS)
    require_file(path)
    with decoding(path, "a CSV file"):
        delimiter, rows = rows_of(path, checked_delimiter(form.delimiter))
        first_line, first = next(rows, (1, []))
        if not first:
            raise DatasetError(f"{path} is empty")
        first = [cell.strip() for cell in first]
        has_header = _has_header(path, first, texts, form.header, named)
        blocks = _blocks(path, itertools.chain([] if has_header else [(first_line, first)], rows), first_line, first)
        start = next(blocks, None)
        if start is None:
            raise DatasetError(f"{path} holds no lines but its header")
        names = first if has_header else None
        roles = roles_in(names, [cells for _, cells in start])
        parser = CellNumbers(path, [column_name(names, i) for i in roles.features], delimiter, form.missing)
        pick = _picker(roles.features)
        numbers: list[npt.NDArray[np.float64]] = []
        labels: list[str] = []
        ids: list[str] = []
        for block in itertools.chain([start], blocks):
            if roles.label is not None:
                labels += [cells[roles.label].strip() for _, cells in block]
            if roles.id is not None:
                ids += [cells[roles.id].strip() for _, cells in block]
            numbers.append(parser.numbers([line for line, _ in block], [pick(cells) for _, cells in block]))
        parser.close()
    return Table(
        columns=None if names is None else [names[i] for i in roles.features],
        numbers=np.concatenate(numbers),
        labels=None if roles.label is None else labels,
        ids=None if roles.id is None else ids,
        id_name=id_name(names, roles.id),
        left_out=roles.left_out,
    )


def _picker(positions: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """Return a function that picks some cells of a row; itemgetter is fast, but returns no tuple of one."""
    return itemgetter(*positions) if len(positions) > 1 else lambda cells: [cells[i] for i in positions]


def _blocks(
    path: Path, rows: Iterator[tuple[int, list[str]]], first_line: int, first: Sequence[str]
) -> Iterator[list[tuple[int, list[str]]]]:
    while block := list(itertools.islice(rows, _BLOCK)):
        for line, cells in block:
            if len(cells) != len(first):
                raise DatasetError(
                    f"{path}: line {line} has {len(cells)} cells, but line {first_line} has {len(first)}"
                )
        yield block


def _are_texts(cells: Sequence[str]) -> bool:
    """Whether a column holds values, none of which is a number."""
    there = [cell for cell in cells if not is_missing(cell)]
    return bool(there) and not any(is_number(cell.replace(",", ".", 1)) for cell in there)


def _unquoted(text: str) -> str:
    cells = next(csv.reader([text]), [""])
    return cells[0].strip() if len(cells) == 1 else text


def _has_header(path: Path, cells: Sequence[str], texts: set[int], header: str, named: Iterable[str]) -> bool:
    """Whether the first line is a header.

    "auto": it is one if it has no number, or has words beside numbers that count the columns. A line that only counts
    the columns could be either and is refused.
    """
    if header != "auto":
        return header == "yes"
    if any(name in cells and not is_number(name) for name in named):
        return True
    others = [cell for i, cell in enumerate(cells) if i not in texts]
    numeric = [cell for cell in others if is_number(cell) or is_number(cell.replace(",", ".", 1))]
    if not numeric:
        return bool(others) and not all(map(is_missing, others))
    if numeric != [str(i) for i in range(len(numeric))]:
        return False
    has_heading = any(i < len(cells) and cells[i].lower() in _CLASS_HEADINGS for i in texts)
    if len(numeric) < len(others) or has_heading:
        return True
    if len(numeric) == 1:
        return False
    raise DatasetError(
        f"{path} starts with the line {shown(','.join(cells), 40)}, which is either data or a header that counts the "
        "columns, as pandas writes it: say which with header='no' or 'yes' (--header), for class vectors "
        "classes_header (--classes-header)"
    )
