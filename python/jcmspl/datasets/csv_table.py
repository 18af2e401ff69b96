"""Tables in CSV files: samples and class vectors, read a block of lines at a time; and plain lists of texts."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.columns import (
    LABEL_COLUMNS,
    MISSING_ADVICE,
    Column,
    Roles,
    Table,
    TableForm,
    column_name,
    id_name,
    joined,
    require_same_columns,
    roles_of,
)
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.io.files import Place, require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.names import HEADERS
from jcmspl.support.shown import quoted, shown

#: A function of the names of columns, None without a header, and of the first rows.
RolesOf = Callable[[list[str] | None, list[list[str]]], Roles]
#: Delimiters by name.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
#: Texts that stand for a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
_SPACE = " "
_CANDIDATES = (",", "\t", ";", "|")  # for the delimiter; blanks are tried last
_LONGEST_LINE = 2**26  # characters
# The part of a file that the delimiter is detected from.
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 40, 2**20
_UTF16 = ("\udcff\udcfe", "\udcfe\udcff")  # its byte order marks, undecoded
_UNDECODED = re.compile("[\udc80-\udcff]")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*", re.ASCII)
# A comma before three digits may separate thousands.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)


def is_number(cell: str) -> bool:
    """Whether a cell is a plain number; 1_000 and digits of other scripts, which Python also reads, are not."""
    if not cell.isascii() or "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.strip().lower() in MISSING


def _has_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number with a comma as its decimal point."""
    return _DECIMAL_COMMA.fullmatch(cell) is not None


def checked_delimiter(value: str | None) -> str | None:
    """Return the delimiter for a sign or its name, or None if it is to be detected."""
    if value is None:
        return None
    sign = DELIMITERS.get(value, "\t" if value == "\\t" else value)
    if len(sign) != 1 or sign.isalnum() or sign in "\"'\r\n.+-_":
        raise ValueError(
            f"delimiter must be one sign, or one of {', '.join(DELIMITERS)}, but is {value!r}: leave it out to have it "
            "detected"
        )
    return sign


def text_lines(file: IO[bytes], path: Place) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, with or without a byte order mark, including their line ends."""
    # bytes that are not UTF-8 become surrogates, which the line with them names
    text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
    try:
        for number in itertools.count(1):
            line = text.readline(_LONGEST_LINE)
            if not line:
                return
            if number == 1 and line.startswith(_UTF16):
                raise DatasetError(f"{path} is written in UTF-16: save it as UTF-8 (in Excel: CSV UTF-8)")
            if "\0" in line:
                raise DatasetError(f"{path}: line {number} holds a NUL character: is this a text file in UTF-8?")
            if len(line) == _LONGEST_LINE:
                raise DatasetError(
                    f"{path}: line {number} has more than {_LONGEST_LINE:,} characters: a table has a line for each row"
                )
            if not line.isascii() and (bad := _UNDECODED.search(line)):
                raise DatasetError(
                    f"{path}: line {number} is not in UTF-8 (it has the byte 0x{ord(bad[0]) - 0xDC00:02x}), perhaps in "
                    "Latin-1: save it as UTF-8"
                )
            yield line
    finally:
        with contextlib.suppress(ValueError):  # closed before
            text.detach()  # the caller closes the file


def _rows_of(
    lines: Iterator[str], path: Place, delimiter: str | None = None, *, blank: bool = False
) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """Return the delimiter and an iterator over (line number, cells); blank lines are left out unless wanted."""
    if delimiter is None:
        start, size = [], 0
        for line in lines:
            start.append(line)
            size += len(line)
            if len(start) == _SAMPLE_LINES or size > _SAMPLE_CHARACTERS:
                break
        delimiter = _delimiter_of(start)
        lines = itertools.chain(start, lines)
    rows = _rows(path, lines, delimiter)
    return delimiter, rows if blank else (row for row in rows if len(row[1]) > 1 or "".join(row[1]).strip())


def _delimiter_of(lines: Sequence[str]) -> str:
    """Detect the delimiter from the first lines of a table of numbers."""
    parted = [(sign, _cells(lines, sign)) for sign in _CANDIDATES]
    usable = [(_merit(rows, sign), sign) for sign, rows in parted if max(map(len, rows), default=0) > 1]
    if usable:
        return max(usable, key=lambda found: found[0])[1]
    rows = _cells(lines, _SPACE)
    consistent, numbers, _ = _merit(rows, _SPACE)
    return _SPACE if consistent and numbers > 0 and len(rows[0]) > 1 else ","


def _merit(rows: Sequence[Sequence[str]], sign: str) -> tuple[bool, float, float]:
    """Rate a delimiter: lines of equal width, the share of numbers, the share of cells without other delimiters."""
    cells = [cell for row in rows for cell in row]
    numbers = [is_number(cell) or (sign != "," and _has_decimal_comma(cell)) for cell in cells]
    others = [other for other in _CANDIDATES if other != sign]
    whole = [number or not any(o in cell for o in others) for number, cell in zip(numbers, cells, strict=True)]
    n_cells = max(len(cells), 1)
    return len({len(row) for row in rows}) == 1, sum(numbers) / n_cells, sum(whole) / n_cells


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the cells of lines up to the first that cannot be read."""
    rows = []
    with contextlib.suppress(csv.Error):
        for row in _reader(lines, delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
    # the last record may continue after the sample
    return rows[:-1] if len(lines) == _SAMPLE_LINES and len(rows) > 1 else rows


def _rows(path: Place, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = _reader(lines, delimiter)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise DatasetError(
            f"{path}: line {reader.line_num} cannot be read ({error}): is there a quotation mark without its end?"
        ) from None


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    if delimiter == _SPACE:  # any number of blanks and tabs
        lines = ((line if '"' in line else line.replace("\t", _SPACE)).strip() for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == _SPACE)


class _CellNumbers:
    """Turns cells into numbers, a block of lines at a time, and names the column of a cell that is no number.

    Unless the delimiter is a comma, numbers may have a decimal comma. Missing values become NaN if they are allowed.
    """

    def __init__(self, path: Place, columns: Sequence[str], delimiter: str, missing: bool) -> None:
        self._path, self._columns, self._missing = path, columns, missing
        self._commas_allowed = delimiter != ","
        self._point: str | None = None  # an example of a cell with a point
        self._comma: str | None = None  # and of one with a comma
        self._is_decimal = False  # whether a comma was found that cannot separate thousands

    def numbers(self, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
        """Return the numbers of a block of lines; `lines` are the line numbers for messages."""
        text = "\n".join(map("\n".join, rows))
        plain = rows
        if self._commas_allowed:
            if "," in text:
                plain = self._with_points(rows)
            if self._point is None and "." in text:
                self._point = next(c for c in itertools.chain.from_iterable(rows) if "." in c)
        if text.isascii() and "_" not in text:
            values = _parsed(plain)
            if values is None:
                values = _parsed([["nan" if is_missing(cell) else cell for cell in cells] for cells in plain])
            if values is not None:
                if not self._missing:
                    self._require_finite(lines, rows, values)
                return values
        raise DatasetError(self._first_bad_cell(lines, rows))

    def close(self) -> None:
        """Refuse commas whose meaning is still not clear after all lines."""
        if self._comma is None:
            return
        if self._point is not None:
            raise DatasetError(
                f"{self._path} has numbers with a comma, such as {quoted(self._comma)}, and with a point, such as "
                f"{quoted(self._point)}: write all of them with a point, and nothing between thousands"
            )
        if not self._is_decimal:
            raise DatasetError(
                f"{self._path} has numbers such as {quoted(self._comma)}, where the comma may separate thousands or "
                "be a decimal point: write them with a point, and nothing between thousands"
            )

    def _with_points(self, rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        if not self._is_decimal:
            with_comma = [c for c in itertools.chain.from_iterable(rows) if _has_decimal_comma(c)]
            if with_comma:
                self._comma = self._comma or with_comma[0].strip()
                self._is_decimal = not all(map(_THOUSANDS.fullmatch, with_comma))
        return [[cell.replace(",", ".") if _has_decimal_comma(cell) else cell for cell in cells] for cells in rows]

    def _require_finite(
        self, lines: Sequence[int], rows: Sequence[Sequence[str]], values: npt.NDArray[np.float64]
    ) -> None:
        bad = ~np.isfinite(values)
        if not bad.any():
            return
        row, column = divmod(int(np.argmax(bad)), bad.shape[1])
        cell, where = rows[row][column], f"{self._path}: line {lines[row]}"
        if not is_missing(cell):
            raise DatasetError(
                f"{where} holds {quoted(cell)} in the column {self._columns[column]}, which is not a finite number"
            )
        text = f" ({quoted(cell.strip())})" if cell.strip() else ""
        raise DatasetError(f"{where} has no value in the column {self._columns[column]}{text}: {MISSING_ADVICE}")

    def _first_bad_cell(self, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> str:
        for line, cells in zip(lines, rows, strict=True):
            for column, cell in zip(self._columns, cells, strict=True):
                if is_number(cell) or is_missing(cell) or (self._commas_allowed and _has_decimal_comma(cell)):
                    continue
                hint = " (if it is a header, say so with header='yes', or --header yes)" if line == 1 else ""
                return (
                    f"{self._path}: line {line} holds {quoted(cell)} in the column {column} where a plain number "
                    f"is expected{hint}"
                )
        return f"{self._path} holds a number that cannot be read"


def _parsed(rows: Sequence[Sequence[str]]) -> npt.NDArray[np.float64] | None:
    with contextlib.suppress(ValueError):
        return np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    return None


_BLOCK = 4096  # lines
# Headings of a column of class names, which are not such names themselves.
_CLASS_HEADINGS = ("", "class", "classes", "label", "labels", "name", "names")


def read_csv(path: Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read a CSV file of samples, with or without a header; arguments as for :func:`roles_of`."""

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        return roles_of(path, names, len(first[0]), labels, form, _texts(first))

    asked = (form.id_column, *form.ignore, *((labels,) if isinstance(labels, (str, int)) else ()))
    named = [column for column in asked if isinstance(column, str)]
    numbered = {int(column) - 1 for column in asked if column is not None and str(column).isdecimal()}
    return _read_csv(path, form, roles, numbered, named)


def read_class_csv(path: Path, *, header: str = "auto", delimiter: str | None = None) -> Table:
    """Read a CSV file of class vectors: labels in the first column, numbers in all others."""
    form = TableForm(header=header, delimiter=delimiter, missing=True)
    return _read_csv(path, form, lambda _, first: Roles(tuple(range(1, len(first[0]))), label=0), {0})


def streamed_csv(
    lines: Iterator[str], name: Place, n_features: int, form: TableForm, columns: Sequence[str] | None, size: int
) -> Iterator[Table]:
    """Yield samples of `n_features` in blocks; `columns` are names of features that a header must agree with."""

    def roles(names: list[str] | None, first: list[list[str]]) -> Roles:
        width = len(first[0])
        found = Roles(tuple(range(width)))
        if width != n_features:
            labels = next((label for label in LABEL_COLUMNS if label in (names or ())), None)
            found = roles_of(name, names, width, labels, form, _texts(first))
        if len(found.features) != n_features:
            raise DatasetError(f"{name} has {width} columns, but the model expects {n_features} features")
        if names is not None and columns is not None:
            require_same_columns(name, [names[i] for i in found.features], columns)
        return found

    return csv_blocks(lines, name, form, roles, size=size)


def read_text_rows(path: Path, *, whole_lines: bool = False, delimiter: str | None = ",") -> list[list[str]]:
    """Read all lines of a CSV or text file as lists of cells, without blank lines at the end.

    With `whole_lines`, each line is one text and a comma is part of it, in quotes or not.
    """
    require_file(path)
    with decoding(path, "a text file"), path.open("rb") as file:
        lines = text_lines(file, path)
        if whole_lines:
            cells_of_lines = ((line.strip(), next(csv.reader([line.strip()]), [""])) for line in lines)
            rows = [[cells[0].strip() if len(cells) == 1 else line] for line, cells in cells_of_lines]
        else:
            cells_of = _rows_of(lines, path, delimiter, blank=True)[1]
            rows = [[cell.strip() for cell in cells] or [""] for _, cells in cells_of]
    while rows and rows[-1] == [""]:
        rows.pop()
    return rows


def _read_csv(
    path: Path, form: TableForm, roles: RolesOf, texts: Collection[int] = (), named: Iterable[str] = ()
) -> Table:
    require_file(path)
    with path.open("rb") as file:
        return joined(path, csv_blocks(text_lines(file, path), path, form, roles, texts, named))


def csv_blocks(
    lines: Iterator[str],
    path: Place,
    form: TableForm,
    roles_in: RolesOf,
    texts: Collection[int] = (),
    named: Iterable[str] = (),
    size: int | None = None,
) -> Iterator[Table]:
    """Yield a CSV file in blocks of ``size`` rows; ``roles_in`` sees the names of its columns and its first rows.

    Columns at the positions ``texts`` need not hold numbers. A first line with one of the names ``named`` is a header.
    """
    one_of(form.header, "header", HEADERS)
    with decoding(path, "a CSV file"):
        delimiter, rows = _rows_of(lines, path, checked_delimiter(form.delimiter))
        first_line, first = next(rows, (1, []))
        if not first:
            raise DatasetError(f"{path} is empty")
        first = [cell.strip() for cell in first]
        names = first if _has_header(path, first, texts, form.header, named) else None
        blocks = _blocks(
            path, rows if names else itertools.chain([(first_line, first)], rows), first_line, len(first), size
        )
        start = next(blocks, None)
        if start is None:
            return
        roles = roles_in(names, [cells for _, cells in start])
        parser = _CellNumbers(path, [column_name(names, i) for i in roles.features], delimiter, form.missing)
        # itemgetter is fast, but returns no tuple of one
        pick = (
            itemgetter(*roles.features) if len(roles.features) > 1 else lambda cells: [cells[i] for i in roles.features]
        )
        columns = None if names is None else [names[i] for i in roles.features]
        for block in itertools.chain([start], blocks):
            yield Table(
                columns,
                parser.numbers([line for line, _ in block], [pick(cells) for _, cells in block]),
                None if roles.label is None else [cells[roles.label].strip() for _, cells in block],
                None if roles.id is None else [cells[roles.id].strip() for _, cells in block],
                id_name(names, roles.id),
                roles.left_out,
            )
        parser.close()


def _blocks(
    path: Place, rows: Iterator[tuple[int, list[str]]], first_line: int, width: int, size: int | None
) -> Iterator[list[tuple[int, list[str]]]]:
    while block := list(itertools.islice(rows, size or _BLOCK)):
        for line, cells in block:
            if len(cells) != width:
                raise DatasetError(f"{path}: line {line} has {len(cells)} cells, but line {first_line} has {width}")
        yield block


def _texts(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns that hold values, none of which is a number."""
    there = [[cell for cell in cells if not is_missing(cell)] for cells in zip(*rows, strict=True)]
    return [i for i, cells in enumerate(there) if cells and not any(map(_may_be_number, cells))]


def _may_be_number(cell: str) -> bool:
    return is_number(cell.replace(",", ".", 1))


def _has_header(path: Place, cells: Sequence[str], texts: Collection[int], header: str, named: Iterable[str]) -> bool:
    """Whether the first line is a header.

    "auto": it is one if it has no number, or has words beside numbers that count the columns. A line that only counts
    the columns could be either and is refused.
    """
    if header != "auto":
        return header == "yes"
    if any(name in cells and not is_number(name) for name in named):
        return True
    others = [cell for i, cell in enumerate(cells) if i not in texts]
    numeric = [cell for cell in others if _may_be_number(cell)]
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
