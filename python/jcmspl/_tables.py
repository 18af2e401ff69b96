"""Tables as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( %)?( ± [\d.]+)?[ *]*")


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


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.strip().replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(header), "|" + "---|" * len(header), *map(line, rows)]
