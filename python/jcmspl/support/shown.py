"""Display of results: names and texts from users, tables, cards in notebooks."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from jcmspl.support import lazy

LONG = 60  #: the greatest length of a name in a sentence or table
_LATEX = {character: f"\\{character}" for character in "&%$#_{}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "*": r"$^\ast$"}
_LATEX |= {"±": r"$\pm$", "≈": r"$\approx$", "λ": r"$\lambda$", "<": r"\textless{}", ">": r"\textgreater{}"}


def printable(text: str) -> str:
    """Return a text with control characters, new lines and marks of the writing direction escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int = LONG) -> str:
    """Return a text, cut to at most this length."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shown(name: object, most: int = LONG) -> str:
    """Return a name, escaped and shortened, for a table or a sentence."""
    # cut first, since escaping a huge text is slow, and again, since escapes are longer
    return shortened(printable(shortened(str(name), most)), most)


def quoted(label: Any) -> str:
    """Return the repr of a label, so that text and numbers look different."""
    if type(label).__module__ == "numpy" and not getattr(label, "shape", None):  # a scalar of NumPy
        label = label.item()  # 'zero' and not np.str_('zero')
    return repr(shortened(label)) if isinstance(label, str) else shown(repr(label))


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the most similar known word, or an empty text."""
    close = difflib.get_close_matches(given, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def listed(names: Iterable[object], most: int = 10) -> str:
    """Return the first few names, separated by commas, for a message."""
    every = list(names)
    return ", ".join(map(shown, every[:most])) + (f", ... ({len(every)} in all)" if len(every) > most else "")


# A number as tables of this package show it: with a range, a unit, an error, and the marks of comparisons.
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( to [\d.]+)?( %)?( ± [\d.]+)?[ *≈]*")
# A number as a spreadsheet reads it.
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_STARTS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class Table(NamedTuple):
    """A table to show as text, Markdown, LaTeX or HTML; on a card a cell from -1 to 1 that is a number is a bar."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def filled(self) -> Table:
        """Return the table without columns whose cells are all empty."""
        kept = [i for i in range(len(self.header)) if any(row[i] for row in self.rows)]
        return Table(self.title, [self.header[i] for i in kept], [[row[i] for i in kept] for row in self.rows])


def percent(share: float | None) -> str:
    """Format a share as a percentage; "" if it is missing."""
    return "" if share is None or share != share else f"{100 * share:.1f} %"


def percent_range(interval: Any) -> str:
    """Format an interval of shares, with ``low`` and ``high``, in percent; "" if it is None."""
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def percent_with_error(share: float, error: float) -> str:
    """Format a share and its standard error, with at least one digit of the error; without an error of 0."""
    if not error > 0:
        return percent(share)
    digits = 1 if error >= 0.0005 else 2  # errors below 0.05 % need a second digit, and 0.01 % is the least shown
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
    """Escape a text, so that Markdown makes no HTML, code, links, table cells or bold type of it."""
    text = printable(text)
    for character, name in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, name)
    text = text.replace("://", "&#58;//")  # some renderers make a link of it
    return re.sub(r"([|\[\]*`])", r"\\\1", text)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_text(cell.strip()) for cell in cells) + " |"

    return [line(header), "|" + "---|" * len(header), *map(line, rows)]


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a LaTeX table."""
    first, *others = (" & ".join(_latex_text(cell.strip()) for cell in cells) + r" \\" for cells in [header, *rows])
    columns = "l" + "r" * (len(header) - 1)
    return [rf"\begin{{tabular}}{{{columns}}}", r"\hline", first, r"\hline", *others, r"\hline", r"\end{tabular}"]


def _latex_text(text: str) -> str:
    """Escape a text for LaTeX; the signs of our tables become commands, which every engine knows."""
    return "".join(_LATEX.get(character, character) for character in printable(text))


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; the first row, of which there must be one, has all columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({name: without_formula(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def without_formula(cell: object) -> object:
    """Prefix an apostrophe to a text that a spreadsheet would run as a formula; plain numbers stay."""
    if not isinstance(cell, str) or not cell.startswith(_STARTS_OF_FORMULAS):
        return cell
    return cell if _PLAIN_NUMBER.fullmatch(cell) else f"'{cell}"


T = TypeVar("T")

#: Stands for rows and columns that are left out.
ELLIPSIS = "…"


@dataclass(frozen=True)
class Card:
    """The content of a card in a notebook, from top to bottom."""

    title: str = ""
    sentences: Iterable[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: Iterable[Table] = ()
    notes: Iterable[str] = ()

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> str:
        """Draw a card of facts; an empty text if there are none."""
        return cls(facts=facts).html() if facts else ""

    def html(self) -> str:
        """Draw the card."""
        text: str = import_module(lazy.notebook).html(self)
        return text


class ShownAsCard:
    """Base class of results that a notebook shows as a card; ``repr`` and ``print`` stay as they are."""

    def _card(self) -> Card:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._card().html()


def elided(items: Sequence[T], most: int, gap: T) -> list[T]:
    """Return items, or, if there are more than ``most``, the first and the last ones with a gap between."""
    if len(items) <= most:
        return list(items)
    first = (most + 1) // 2
    return [*items[:first], gap, *items[len(items) - (most - first) :]]
