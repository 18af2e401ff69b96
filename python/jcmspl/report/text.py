"""Tables as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( %)?( ± [\d.]+)?[ *]*")


class Table(NamedTuple):
    """A table that is yet to be shown: as text, Markdown or HTML."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def percent(share: float | None) -> str:
    """Return a share as a percentage; nothing for one that is missing."""
    return "" if share is None or share != share else f"{100 * share:.1f} %"


def numeric_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which columns hold numbers, perhaps with a unit, and nothing else."""
    return [
        any(row[i] for row in rows) and all(not row[i] or _NUMBER.fullmatch(row[i]) for row in rows)
        for i in range(len(header))
    ]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in columns, numbers flush right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    numeric = numeric_columns(header, rows)

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        return ("  " + "  ".join(cells)).rstrip()

    return "\n".join([line(header), "  " + "  ".join("-" * width for width in widths), *map(line, rows)])


def shortened(text: str, most: int) -> str:
    """Return a text that is not longer than that."""
    return text if len(text) <= most else text[: most - 1] + "…"


def markdown_heading(text: str) -> str:
    """Return a heading of the first level."""
    return f"# {_escaped(text)}"


def _escaped(text: str) -> str:
    # Markdown lets HTML through
    for character, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        text = text.replace(character, name)
    return text


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(_escaped(cell.strip()) for cell in cells) + " |"

    return [line(header), "|" + "---|" * len(header), *map(line, rows)]
