"""HTML pages from templates: one file each, nothing fetched; every value is escaped, and no script runs but ours."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jcmspl.report.figures import COLOURS, FAINT, INK
from jcmspl.support.shown import printable, shown
from jcmspl.support.tables import numeric_columns, percent, percent_range

_TEMPLATES = Path(__file__).parent / "templates"
# Colours of charts by the names that pages have for them: others in the dark.
_VARIABLES = {
    "#ffffff": "paper",
    "#000000": "ink",
    INK: "ink",
    FAINT: "line",
    "#808080": "soft",
    **{colour: f"c{number}" for number, colour in enumerate(COLOURS, start=1)},
}
#: Steps of the one scale of colours that pages have for shares.
STEPS = 10


def rendered(template: str, **values: Any) -> str:
    """Return a template of the folder templates/ with the given values."""
    text: str = _environment().get_template(template).render(values)
    return text


def step(share: float) -> int:
    """Return the step of the scale of colours that a share from 0 to 1 is on."""
    return min(STEPS - 1, int(STEPS * share + 1e-9))


def _visible(value: Any) -> Any:
    """Return text without control characters, or marks that turn the direction of writing, but in whole lines."""
    return "\n".join(map(printable, value.split("\n"))) if type(value) is str else value


def _themed(svg: str) -> str:
    """Return a chart with colours that follow the page."""

    def colour(match: re.Match[str]) -> str:
        return f"var(--{_VARIABLES[match[0]]})" if match[0] in _VARIABLES else match[0]

    return re.sub(r'style="[^"<>]*"', lambda style: re.sub(r"#[0-9a-f]{6}\b", colour, style[0]), svg)


@cache
def _script() -> tuple[str, str]:
    """Return the script of pages, and its hash: a browser runs it, and no other."""
    text = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    return text, base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> Any:
    # Not with the package: most who import it show no page, and Jinja takes its time to be loaded.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
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
    script, digest = _script()
    environment.globals |= {
        "numeric_columns": numeric_columns,
        "steps": STEPS,
        "script": Markup(script),
        "script_hash": digest,
        "style": Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
    }
    return environment
