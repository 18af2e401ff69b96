"""Tables as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from jcmspl.support.shown import printable

_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( to [\d.]+)?( %)?( ± [\d.]+)?[ *≈]*")

_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class Table(NamedTuple):
    """A table that is yet to be shown: as text, Markdown or HTML."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def percent(share: float | None) -> str:
    """Return a share as a percentage; nothing for one that is missing."""
    return "" if share is None or share != share else f"{100 * share:.1f} %"


def percent_range(interval: Any) -> str:
    """Return what has a low and a high share as percentages; nothing for one that is missing."""
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def percent_with_error(share: float, error: float) -> str:
    """Return a share with its standard error, of which at least one digit shows; without it if there is none."""
    if not error > 0:
        return percent(share)
    digits = 1 if error >= 0.0005 else 2
    return f"{100 * share:.{digits}f} % ± {max(100 * error, 0.01):.{digits}f}"


def numeric_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which columns hold numbers, perhaps with a unit, and nothing else."""
    return [
        any(row[i] for row in rows) and all(not row[i] or _NUMBER.fullmatch(row[i]) for row in rows)
        for i in range(len(header))
    ]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in columns, numbers flush right; names are shown so that they cannot break it."""
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


def without_formula(cell: object) -> object:
    """Return a cell of a CSV file that no spreadsheet takes for a formula: text that starts like one gets a ' first."""
    if not isinstance(cell, str) or not cell.startswith(_STARTS_OF_FORMULAS):
        return cell
    return cell if _PLAIN_NUMBER.fullmatch(cell) else f"'{cell}"


def markdown_heading(text: str) -> str:
    """Return a heading of the first level."""
    return f"# {markdown_text(text)}"


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is: no HTML, which it lets through, no links, no cells of a table."""
    text = printable(text)
    for character, name in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, name)
    text = text.replace("://", "&#58;//")  # which some make a link of
    return re.sub(r"([|\[\]*])", r"\\\1", text)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_text(cell.strip()) for cell in cells) + " |"

    return [line(header), "|" + "---|" * len(header), *map(line, rows)]
