"""Results as text, Markdown, JSON and HTML pages, cards for notebooks, and the parts of pages besides charts.

A page is made from a template. It is one file and fetches nothing. Every value is escaped, and no script runs but ours.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from jcmspl.embed.image_folder import as_rgb, formats
from jcmspl.io.files import write_atomically
from jcmspl.io.json_text import as_data, dumps, from_data
from jcmspl.report.figures import COLOURS, FAINT, INK, require_matplotlib
from jcmspl.support.names import PICTURES
from jcmspl.support.shown import (
    ELLIPSIS,
    Card,
    ShownAsCard,
    Table,
    aligned,
    markdown_table,
    markdown_text,
    numeric_columns,
    percent,
    percent_range,
    printable,
    shown,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_TEMPLATES = Path(__file__).parent / "templates"
# The CSS variables that replace the colours of charts, so that these follow the page in the dark.
_VARIABLES = {
    "#ffffff": "paper",
    "#000000": "ink",
    INK: "ink",
    FAINT: "line",
    "#808080": "soft",
    **{colour: f"c{number}" for number, colour in enumerate(COLOURS, start=1)},
}
#: The number of steps on the colour scale of shares.
STEPS = 10
_LONGEST_CELL, _LONGEST_TEXT = 60, 400  # characters in cards

_SIDE, _SMALL = 192, 64  # pixels; smaller pictures than the second are enlarged, to be visible
_MOST_BYTES = 50_000_000

_TICK_STEPS = (1, 2, 5)
_MOST_TICKS = 7

_HTML = {".html": "to_html", ".htm": "to_html"}


def rendered(template: str, **values: Any) -> str:
    """Render a template of the folder templates/ with the given values."""
    text: str = _environment().get_template(template).render(values)
    return text


@cache
def page_script(name: str) -> dict[str, Any]:
    """Return a script of the folder templates/ and its hash, by which a browser allows it to run."""
    from markupsafe import Markup

    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"script": Markup(text), "script_hash": digest}


@cache
def _environment() -> Any:
    # Imported here: most users of the package show no page, and Jinja is slow to load.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        # control characters and marks of writing direction are escaped, line breaks stay
        finalize=lambda value: "\n".join(map(printable, value.split("\n"))) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "range": percent_range,
        "step": step,
        "shown": shown,
        "drawn": lambda display, title: Markup(_themed(display.to_svg(title))),
    }
    environment.globals |= {
        "numeric_columns": numeric_columns,
        "steps": STEPS,
        "style": Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        # No colours but those of bars: the card takes those of the notebook, which may be dark.
        "card_style": Markup((_TEMPLATES / "notebook.css").read_text(encoding="utf-8")),
        **page_script("page.js"),
    }
    return environment


def html(card: Card) -> str:
    """Draw a card for a notebook."""
    return rendered(
        "notebook.html",
        title=shown(card.title, _LONGEST_TEXT),
        sentences=[shown(text, _LONGEST_TEXT) for text in card.sentences],
        notes=[shown(text, _LONGEST_TEXT) for text in card.notes],
        facts={name: shown(value, _LONGEST_TEXT) for name, value in card.facts.items()},
        tables=[_card_table(content) for content in card.tables],
    )


def _card_table(content: Table) -> dict[str, Any]:
    """Shorten the cells of a table, and tell which columns hold numbers; bars are floats."""
    header = [shown(cell, _LONGEST_CELL) for cell in content.header]
    rows = [[cell if isinstance(cell, float) else shown(cell, _LONGEST_CELL) for cell in row] for row in content.rows]
    texts = [["" if isinstance(cell, float) else cell for cell in row] for row in rows if row[0] != ELLIPSIS]
    numeric = numeric_columns(header, texts)
    return {"title": shown(content.title, _LONGEST_TEXT), "header": header, "rows": rows, "numeric": numeric}


def step(share: float) -> int:
    """Return the step of a share from 0 to 1 on the colour scale."""
    return min(STEPS - 1, int(STEPS * share + 1e-9))


def _themed(svg: str) -> str:
    """Replace the colours of a chart by the page's variables."""

    def colour(match: re.Match[str]) -> str:
        return f"var(--{_VARIABLES[match[0]]})" if match[0] in _VARIABLES else match[0]

    return re.sub(r'style="[^"<>]*"', lambda style: re.sub(r"#[0-9a-f]{6}\b", colour, style[0]), svg)


def picture_named(name: str, folders: Iterable[Path]) -> str | None:
    """Return the path of the picture file with this name in the first folder that has it; None if there is none."""
    if not name.lower().endswith(PICTURES):
        return None
    for folder in folders:
        path = folder / name
        try:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                return str(path.resolve())
        except (OSError, ValueError):  # a name that is too long or has forbidden characters
            continue
    return None


def thumbnail(path: str) -> str | None:
    """Return a small copy of a picture as a data URI; None if it cannot be read or Pillow is missing."""
    try:
        from PIL import Image, ImageOps

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns of pictures that unpack to huge sizes
            with Image.open(path, formats=formats()) as opened:
                opened.draft("RGB", (2 * _SIDE, 2 * _SIDE))
                image = as_rgb(ImageOps.exif_transpose(opened))
        factor = -(-_SMALL // max(image.size))
        if factor > 1:
            image = image.resize((factor * image.width, factor * image.height), Image.Resampling.NEAREST)
        image.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
        form = "png" if factor > 1 else "jpeg"
        content = io.BytesIO()
        image.save(content, form, quality=82)
    except Exception:  # without Pillow, or whatever is wrong with the file, the page does without it
        return None
    return f"data:image/{form};base64,{base64.b64encode(content.getvalue()).decode()}"


@dataclass(frozen=True)
class Mark:
    """A share drawn as a "dot", "tick" or "ring", perhaps with an interval; the hint shows under the pointer."""

    kind: str
    at: float
    hint: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class DotPlot:
    """Rows of marks on a common axis. The page sets the names as text, so that none is cut.

    Attributes
    ----------
    rows : sequence of (name, whether it is bold, marks)
    legend : mapping of a kind of mark to its meaning
    reference : float, optional
        A share, drawn as a line through all rows.
    reference_name : str
    """

    rows: Sequence[tuple[str, bool, Sequence[Mark]]]
    legend: Mapping[str, str]
    reference: float | None = None
    reference_name: str = ""

    @cached_property
    def axis(self) -> Axis:
        """The axis of all marks and of the reference."""
        marks = [mark for _, _, marks in self.rows for mark in marks]
        ends = [end for mark in marks for end in (mark.at, mark.low, mark.high) if end is not None]
        return Axis.around([*ends, *([self.reference] if self.reference is not None else [])])


@dataclass(frozen=True)
class Axis:
    """An axis of shares with the places of its labels."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, shares: Iterable[float]) -> Axis:
        """Return the shortest axis that holds all shares and starts and ends at a round percentage."""
        found = [100 * share for share in shares if math.isfinite(share)] or [0.0, 100.0]
        low, high = min(found), max(found)
        for size in (factor * 10.0**power for power in range(-3, 3) for factor in _TICK_STEPS):
            # a share that is a round number up to rounding counts as one
            first, last = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
            if first == last:
                first, last = (first - 1, last) if first > 0 else (first, last + 1)
            if last - first < _MOST_TICKS:
                break
        ticks = tuple(round(number * size, 6) / 100 for number in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def place(self, share: float) -> str:
        """Return the place of a share, in percent of the axis from its start."""
        return f"{100 * (share - self.low) / (self.high - self.low):.2f}%"

    def label(self, share: float) -> str:
        """Format a share as an axis label."""
        return f"{100 * share:.6g}"


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
