"""The page of an explorer: a template, and the one script that a browser may run in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jcmspl.report.pages import rendered

_SCRIPT = Path(__file__).parent / "templates" / "explorer.js"


def explorer_page(title: str, about: Sequence[str], no_new_classes: str | None, content: dict[str, Any]) -> str:
    """Return the page with the given content, which is what its script reads."""
    script = _SCRIPT.read_text(encoding="utf-8")
    return rendered(
        "explorer.html",
        title=title,
        about=about,
        no_new_classes=no_new_classes,
        content=content,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
