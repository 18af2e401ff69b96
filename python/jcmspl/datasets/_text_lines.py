"""Text files as lines of cells: what is between the cells is found out, and what is no text is told of by its line."""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jcmspl.datasets.errors import DatasetError, decoding

#: What may stand between cells, by name.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
#: What stands for a value that is missing, in small letters.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
_SPACE = " "
_LONGEST_LINE = 2**26  # characters
# Lines that are looked at to find what is between cells.
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 40, 2**20
_OTHER_CODES = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def is_number(cell: str) -> bool:
    """Whether a cell is a plain number, and not one as only Python or another script would write it: 1_000."""
    if not cell.isascii() or "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in MISSING


def has_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number with a comma in the place of the point."""
    return _DECIMAL_COMMA.fullmatch(cell) is not None


def checked_delimiter(value: str | None) -> str | None:
    """Return the sign between cells, given as it is or by its name; None if it is to be found out."""
    if value is None:
        return None
    sign = DELIMITERS.get(value, "\t" if value == "\\t" else value)
    if len(sign) != 1 or sign.isalnum() or sign in "\"'\r\n.+-_":
        raise ValueError(
            f"delimiter must be one sign, or one of {', '.join(DELIMITERS)}, but is {value!r}: leave it out to have it "
            "found out"
        )
    return sign


def text_lines(path: Path) -> Iterator[str]:
    """Give the lines of a text file in UTF-8, with or without a byte order mark, with their ends."""
    with decoding(path, "a text file"):
        with path.open("rb") as binary:
            code = _OTHER_CODES.get(binary.read(2))
        if code is not None:
            raise DatasetError(f"{path} is written in {code}: save it as UTF-8 (in Excel: CSV UTF-8)")
        try:
            yield from _plain_lines(path)
        except UnicodeDecodeError:
            raise DatasetError(f"{path}: {_undecodable(path)}: save it as UTF-8") from None


def _plain_lines(path: Path) -> Iterator[str]:
    with path.open(newline="", encoding="utf-8-sig") as file:  # Excel starts files with a byte order mark
        for number in itertools.count(1):
            line = file.readline(_LONGEST_LINE)
            if not line:
                return
            if "\0" in line:
                raise DatasetError(f"{path}: line {number} holds a NUL character: is this a text file in UTF-8?")
            if len(line) == _LONGEST_LINE:
                raise DatasetError(
                    f"{path}: line {number} has more than {_LONGEST_LINE:,} characters: a table has a line for each row"
                )
            yield line


def _undecodable(path: Path) -> str:
    """Return which line is not in UTF-8."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"line {number} is not in UTF-8 (it has the byte 0x{line[error.start]:02x}), perhaps in Latin-1"
    return "it is not in UTF-8"


def rows_of(
    path: Path, delimiter: str | None = None, *, blank: bool = False
) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """Return what is between cells, and the number and the cells of each line; blank ones only if they are wanted."""
    lines = text_lines(path)
    if delimiter is None:
        start, size = [], 0
        for line in lines:
            start.append(line)
            size += len(line)
            if len(start) == _SAMPLE_LINES or size > _SAMPLE_CHARACTERS:
                break
        delimiter = delimiter_of(start)
        lines = itertools.chain(start, lines)
    rows = _rows(path, lines, delimiter)
    return delimiter, rows if blank else (row for row in rows if len(row[1]) > 1 or "".join(row[1]).strip())


def delimiter_of(lines: Sequence[str]) -> str:
    """Find out what is between the cells of the first lines of a table of numbers."""
    best, sign = None, ","
    for candidate in (",", "\t", ";", "|"):
        rows = _cells(lines, candidate)
        if max(map(len, rows), default=0) > 1:
            merit = _merit(rows, candidate)
            if best is None or merit > best:
                best, sign = merit, candidate
    if best is None:
        rows = _cells(lines, _SPACE)
        consistent, numbers, _ = _merit(rows, _SPACE)
        if consistent and numbers > 0 and len(rows[0]) > 1:
            return _SPACE
    return sign


def _merit(rows: Sequence[Sequence[str]], sign: str) -> tuple[bool, float, float]:
    """Return how well a sign parts cells: lines of one width, the share of numbers, and of cells that are whole."""
    cells = [cell for row in rows for cell in row]
    numbers = [is_number(cell) or (sign != "," and has_decimal_comma(cell)) for cell in cells]
    others = [other for other in (",", "\t", ";", "|") if other != sign]
    whole = [number or not any(o in cell for o in others) for number, cell in zip(numbers, cells, strict=True)]
    n_cells = max(len(cells), 1)
    return len({len(row) for row in rows}) == 1, sum(numbers) / n_cells, sum(whole) / n_cells


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the cells of lines, as far as they can be read."""
    rows = []
    try:
        for row in _reader(lines, delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
    except csv.Error:
        pass
    # the last one may go on after these lines
    return rows[:-1] if len(lines) == _SAMPLE_LINES and len(rows) > 1 else rows


def _rows(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = _reader(lines, delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DatasetError(
                f"{path}: line {reader.line_num} cannot be read ({error}): is there a quotation mark without its end?"
            ) from None
        yield reader.line_num, cells


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    if delimiter == _SPACE:  # any number of blanks, and tabs
        lines = ((line if '"' in line else line.replace("\t", _SPACE)).strip() for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == _SPACE)
