"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jcmspl.report.pages import rendered
from jcmspl.report.text import Table


def table(caption: str, header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table; everything in it is escaped."""
    cells = [[str(cell) for cell in row] for row in rows]
    return rendered("notebook_table.html", table=Table(caption, [str(cell) for cell in header], cells))
