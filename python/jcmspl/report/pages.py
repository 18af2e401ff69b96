"""HTML pages from templates: one file each, no scripts, nothing fetched; every value is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jcmspl.report.text import numeric_columns, percent
from jcmspl.support.shown import printable


def rendered(template: str, **values: Any) -> str:
    """Return a template of the folder templates/ with the given values."""
    text: str = _environment().get_template(template).render(values)
    return text


def _visible(value: Any) -> Any:
    """Return text without control characters, or marks that turn the direction of writing, but in whole lines."""
    return "\n".join(map(printable, value.split("\n"))) if type(value) is str else value


@cache
def _environment() -> Any:
    # Not with the package: most who import it show no page, and Jinja takes its time to be loaded.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "drawn": lambda display, title: Markup(display.to_svg(title))}
    environment.globals["numeric_columns"] = numeric_columns
    return environment
