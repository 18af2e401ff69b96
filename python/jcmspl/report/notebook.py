"""How things look in a notebook: a title, facts and small tables, all styled alike; everything in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jcmspl.report.pages import rendered
from jcmspl.report.text import Table, numeric_columns
from jcmspl.support.shown import shown

T = TypeVar("T")

#: Stands for rows and columns that are left out.
ELLIPSIS = "…"
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


def card(
    title: str = "",
    *,
    sentences: Iterable[str] = (),
    facts: Mapping[str, object] | None = None,
    tables: Iterable[Table] = (),
    notes: Iterable[str] = (),
) -> str:
    """Return the HTML of a thing in a notebook; a cell that is a number from -1 to 1 is drawn as a bar."""
    from markupsafe import Markup  # with Jinja, which the pages load when there is one

    return rendered(
        "notebook.html",
        style=Markup(_STYLE),
        title=shown(title, _LONGEST_TEXT),
        sentences=[shown(text, _LONGEST_TEXT) for text in sentences],
        notes=[shown(text, _LONGEST_TEXT) for text in notes],
        facts={name: shown(value, _LONGEST_TEXT) for name, value in (facts or {}).items()},
        tables=[_prepared(content) for content in tables],
    )


def elided(items: Sequence[T], most: int, gap: T) -> list[T]:
    """Return items, or the first and the last of them with a gap between, if they are more than that."""
    if len(items) <= most:
        return list(items)
    first = (most + 1) // 2
    return [*items[:first], gap, *items[len(items) - (most - first) :]]


def _prepared(content: Table) -> dict[str, Any]:
    """Return a table whose names are not too long, and which of its columns hold numbers."""
    header = [shown(cell, _LONGEST) for cell in content.header]
    rows = [[cell if isinstance(cell, float) else shown(cell, _LONGEST) for cell in row] for row in content.rows]
    told = [["" if isinstance(cell, float) else cell for cell in row] for row in rows if row[0] != ELLIPSIS]
    numeric = numeric_columns(header, told)
    return {"title": shown(content.title, _LONGEST_TEXT), "header": header, "rows": rows, "numeric": numeric}


if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as _Estimator
else:
    _Estimator = object


class FactsInNotebooks(_Estimator):
    """Sets what a fit has found under scikit-learn's picture of an estimator, which has its parameters."""

    def _facts(self) -> dict[str, object]:
        """Return what is to be told of a fitted estimator; nothing of one that is not."""
        raise NotImplementedError

    def _facts_html(self) -> str:
        facts = self._facts()
        return card(facts=facts) if facts else ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._facts_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._facts_html()
        return bundle
