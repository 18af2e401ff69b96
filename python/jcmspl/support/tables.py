"""Tables of texts: in columns for a terminal, as Markdown, as CSV; percentages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jcmspl.support.shown import printable

_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( to [\d.]+)?( %)?( ± [\d.]+)?[ *≈]*")
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class Table(NamedTuple):
    """A table to show: as text, Markdown or HTML. A float from -1 to 1 is a bar in HTML."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def percent(share: float | None) -> str:
    """Format a share as a percentage; "" if it is missing."""
    return "" if share is None or share != share else f"{100 * share:.1f} %"


def percent_range(interval: Any) -> str:
    """Format an interval of shares, with ``low`` and ``high``, in percent; "" if it is None."""
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def percent_with_error(share: float, error: float) -> str:
    """Format a share and its standard error, with at least one digit of the error; only the share if that is 0."""
    if not error > 0:
        return percent(share)
    digits = 1 if error >= 0.0005 else 2
    return f"{100 * share:.{digits}f} % ± {max(100 * error, 0.01):.{digits}f}"


def numeric_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Tell which columns hold only numbers, perhaps with a unit."""
    return [
        any(row[i] for row in rows) and all(not row[i] or _NUMBER.fullmatch(row[i]) for row in rows)
        for i in range(len(header))
    ]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table in columns, numbers flush right; control characters in names are escaped."""
    header, rows = ([printable(cell) for cell in header], [[printable(cell) for cell in row] for row in rows])
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    numeric = numeric_columns(header, rows)

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        return ("  " + "  ".join(cells)).rstrip()

    return "\n".join([line(header), "  " + "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown_text(text: str) -> str:
    """Escape a text, so that Markdown shows it unchanged: no HTML, links or table cells."""
    text = printable(text)
    for character, name in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, name)
    text = text.replace("://", "&#58;//")  # some renderers make a link of it
    return re.sub(r"([|\[\]*])", r"\\\1", text)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_text(cell.strip()) for cell in cells) + " |"

    return [line(header), "|" + "---|" * len(header), *map(line, rows)]


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with the columns of the first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({name: without_formula(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def without_formula(cell: object) -> object:
    """Put a ' before the text of a CSV cell that a spreadsheet would take for a formula."""
    if not isinstance(cell, str) or not cell.startswith(_STARTS_OF_FORMULAS):
        return cell
    return cell if _PLAIN_NUMBER.fullmatch(cell) else f"'{cell}"
