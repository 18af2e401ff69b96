"""How things look in a notebook: a title, facts and small tables, all styled alike; everything in them is escaped."""

from __future__ import annotations

from typing import Any

from jcmspl.report.pages import rendered
from jcmspl.support.cards import ELLIPSIS, Card
from jcmspl.support.shown import shown
from jcmspl.support.tables import Table, numeric_columns

_LONGEST = 60  # names in cells
_LONGEST_TEXT = 400

# No colours but those of bars: text has that of the notebook, lines are grey on light and on dark ground.
_STYLE = """
.jcmspl-card { font-size: 13px; line-height: 1.45; max-width: 100%; margin: .3em 0; color: inherit; }
.jcmspl-title { font-weight: 600; font-size: 1.08em; overflow-wrap: anywhere; }
.jcmspl-text { max-width: 46em; overflow-wrap: anywhere; opacity: .8; }
.jcmspl-scroll { overflow-x: auto; max-width: 100%; }
.jcmspl-card table { border-collapse: collapse; margin: .4em 0; border: 0; color: inherit; font-size: 1em;
  font-variant-numeric: tabular-nums; }
.jcmspl-card caption { caption-side: top; text-align: left; color: inherit; opacity: .8; padding: 0 0 .2em;
  font-weight: 400; }
.jcmspl-card tr, .jcmspl-card tbody tr:nth-child(n):nth-child(n) { background: transparent; }
.jcmspl-card th, .jcmspl-card td { padding: .18em 1.1em .18em 0; text-align: left; vertical-align: top; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); color: inherit; background: transparent; max-width: 24em;
  min-width: 2em; white-space: normal; overflow-wrap: break-word; }
.jcmspl-card th { font-weight: 600; }
.jcmspl-card .jcmspl-facts th { font-weight: 400; opacity: .8; white-space: nowrap; }
.jcmspl-card .jcmspl-facts td { max-width: 46em; min-width: 9em; overflow-wrap: anywhere; }
.jcmspl-card td:first-child { min-width: 5em; }
.jcmspl-card .n { text-align: right; }
.jcmspl-card td.n { white-space: nowrap; }
.jcmspl-card thead th { vertical-align: bottom; }
.jcmspl-card th.n { max-width: 9em; }
.jcmspl-bar { display: block; box-sizing: border-box; width: 9em; height: 1.1em; margin-top: .15em;
  background: linear-gradient(currentColor, currentColor) center / 1px 100% no-repeat; position: relative; }
.jcmspl-bar::before { content: ""; position: absolute; top: 15%; height: 70%; width: var(--part); }
.jcmspl-bar.for::before { left: 50%; background: #3b82f6; }
.jcmspl-bar.against::before { right: 50%; background: #ea7317; }
"""


def html(card: Card) -> str:
    """Draw a card; everything in it is escaped."""
    from markupsafe import Markup  # with Jinja, which is loaded only to draw

    return rendered(
        "notebook.html",
        style=Markup(_STYLE),
        title=shown(card.title, _LONGEST_TEXT),
        sentences=[shown(text, _LONGEST_TEXT) for text in card.sentences],
        notes=[shown(text, _LONGEST_TEXT) for text in card.notes],
        facts={name: shown(value, _LONGEST_TEXT) for name, value in card.facts.items()},
        tables=[_prepared(content) for content in card.tables],
    )


def _prepared(content: Table) -> dict[str, Any]:
    """Return a table whose names are not too long, and which of its columns hold numbers."""
    header = [shown(cell, _LONGEST) for cell in content.header]
    rows = [[cell if isinstance(cell, float) else shown(cell, _LONGEST) for cell in row] for row in content.rows]
    told = [["" if isinstance(cell, float) else cell for cell in row] for row in rows if row[0] != ELLIPSIS]
    numeric = numeric_columns(header, told)
    return {"title": shown(content.title, _LONGEST_TEXT), "header": header, "rows": rows, "numeric": numeric}
