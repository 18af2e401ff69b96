"""Cells of text as numbers: plain ones, with a comma in the place of the point where all have it, and missing ones."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jcmspl.datasets._text_lines import has_decimal_comma, is_missing, is_number
from jcmspl.datasets.errors import DatasetError
from jcmspl.support.shown import quoted

#: What can be done about a value that is missing, as the end of a sentence.
WHAT_TO_DO = "fill it in, or train a model with impute='mean' or 'zero' (--impute), which it remembers"
# A comma before three digits may stand between thousands.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)


class CellNumbers:
    """Turns the cells of a file into numbers, a block of lines at a time.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        How messages call the columns.
    delimiter : str
        What is between cells: where it is no comma, numbers may have one in the place of the point.
    missing : bool
        Whether values may be missing, which become NaN; otherwise neither these nor infinite ones are taken.
    """

    def __init__(self, path: Path, columns: Sequence[str], delimiter: str, missing: bool) -> None:
        self._path, self._columns, self._missing = path, columns, missing
        self._commas_allowed = delimiter != ","
        self._point: str | None = None  # a number that has one, and so on
        self._comma: str | None = None
        self._is_decimal = False  # some comma is none between thousands

    def numbers(self, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
        """Return the numbers of a block of lines, of which the numbers in the file are given."""
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
                self._require_values(lines, rows, values)
                return values
        raise DatasetError(self._about_the_first_bad(lines, rows))

    def close(self) -> None:
        """Refuse commas whose meaning is not clear from all that there is."""
        if self._comma is None:
            return
        if self._point is not None:
            raise DatasetError(
                f"{self._path} has numbers with a comma, such as {quoted(self._comma)}, and with a point, such as "
                f"{quoted(self._point)}: write all of them with a point, and nothing between thousands"
            )
        if not self._is_decimal:
            raise DatasetError(
                f"{self._path} has numbers such as {quoted(self._comma)}, where the comma may stand between thousands "
                "or in the place of the point: write them with a point, and nothing between thousands"
            )

    def _with_points(self, rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        if not self._is_decimal:
            with_comma = [c for c in itertools.chain.from_iterable(rows) if has_decimal_comma(c)]
            if with_comma:
                self._comma = self._comma or with_comma[0].strip()
                self._is_decimal = not all(map(_THOUSANDS.fullmatch, with_comma))
        return [[cell.replace(",", ".") if has_decimal_comma(cell) else cell for cell in cells] for cells in rows]

    def _require_values(
        self, lines: Sequence[int], rows: Sequence[Sequence[str]], values: npt.NDArray[np.float64]
    ) -> None:
        """Refuse values that are missing or infinite, unless they are waited for."""
        if self._missing:
            return
        bad = ~np.isfinite(values)
        if not bad.any():
            return
        row, column = divmod(int(np.argmax(bad)), bad.shape[1])
        cell, where = rows[row][column], f"{self._path}: line {lines[row]}"
        if not is_missing(cell):
            raise DatasetError(
                f"{where} holds {quoted(cell)} in the column {self._columns[column]}, which is no finite number"
            )
        told = f" ({quoted(cell.strip())})" if cell.strip() else ""
        raise DatasetError(f"{where} has no value in the column {self._columns[column]}{told}: {WHAT_TO_DO}")

    def _about_the_first_bad(self, lines: Sequence[int], rows: Sequence[Sequence[str]]) -> str:
        for line, cells in zip(lines, rows, strict=True):
            for column, cell in zip(self._columns, cells, strict=True):
                fine = is_number(cell) or is_missing(cell) or (self._commas_allowed and has_decimal_comma(cell))
                if not fine:
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
