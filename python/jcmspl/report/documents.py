"""Results as documents: text, Markdown, JSON, CSV or an HTML page; the ending of a path chooses the form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from jcmspl.io.files import write_atomically
from jcmspl.io.json_text import as_data, dumps, from_data
from jcmspl.report.figures import require_matplotlib
from jcmspl.support.cards import Card, ShownAsCard
from jcmspl.support.tables import Table, aligned, markdown_table, markdown_text

if TYPE_CHECKING:
    from typing_extensions import Self

_HTML = {".html": "to_html", ".htm": "to_html"}


class Saved:
    """Base class of results with a method ``save``."""

    #: The name of the result in messages.
    KIND: ClassVar[str]
    #: The method for each ending of a path.
    FORMS: ClassVar[Mapping[str, str]] = _HTML
    #: Whether pages have charts, which matplotlib draws.
    HAS_CHARTS: ClassVar[bool] = True

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result to a file, in the form of the path's ending."""
        self.check_name(path)
        text: str = getattr(self, self.FORMS[Path(path).suffix.lower()])()
        write_atomically(Path(path), text.encode(), overwrite=overwrite)

    @classmethod
    def check_name(cls, path: str | Path) -> None:
        """Raise ValueError if ``save`` does not know the path's ending, ImportError if it needs a missing package."""
        form = cls.FORMS.get(Path(path).suffix.lower())
        if form is None:
            raise ValueError(f"{cls.KIND} is written as {', '.join(cls.FORMS)}, but the path is {path}")
        if form == "to_html" and cls.HAS_CHARTS:
            require_matplotlib()


class Document(Saved, ShownAsCard):
    """Base class of reports: a title, sentences, tables and notes."""

    FORMS: ClassVar[Mapping[str, str]] = {".txt": "to_text", ".md": "to_markdown", ".json": "to_json", **_HTML}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a report from the JSON of ``to_json``."""
        report: Self = from_data(cls, json.loads(text))
        return report

    @property
    def title(self) -> str:
        """The heading."""
        raise NotImplementedError

    def about(self) -> list[str]:
        """Return the sentences before the tables."""
        return []

    def tables(self) -> dict[str, Table]:
        """Return the tables by name."""
        raise NotImplementedError

    def _footer(self) -> list[str]:
        """Return the sentences after the tables."""
        return []

    def to_text(self) -> str:
        """Return the report as plain text."""
        parts = [self.title, *self.about()]
        for name, table in self.tables().items():
            parts += ["", *self._table_as_text(name, table)]
        footer = self._footer()
        return "\n".join([*parts, *([""] if footer else []), *footer]) + "\n"

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [f"# {markdown_text(self.title)}"]
        if about := self.about():
            parts += ["", markdown_text(" ".join(about))]
        for name, table in self.tables().items():
            parts += ["", f"## {table.title}", "", *self._table_as_markdown(name, table)]
        for note in self._footer():
            parts += ["", markdown_text(note)]
        return "\n".join(parts) + "\n"

    def to_json(self) -> str:
        """Return the report as JSON."""
        return dumps(as_data(self), indent=1) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page without external files; matplotlib draws its charts."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_text()

    def _card(self) -> Card:
        return Card(self.title, sentences=self.about(), tables=self.tables().values())

    def _table_as_text(self, name: str, table: Table) -> list[str]:
        return [table.title, aligned(table.header, table.rows)]

    def _table_as_markdown(self, name: str, table: Table) -> list[str]:
        return markdown_table(table.header, table.rows)
