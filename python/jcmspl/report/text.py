"""Texts that other programs read: Markdown, and cells of CSV files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jcmspl.support.shown import printable

_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


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
