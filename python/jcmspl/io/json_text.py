"""Results as JSON that every reader takes."""

from __future__ import annotations

import json
import math
from typing import Any


def dumps(data: Any, indent: int | None = None) -> str:
    """Return data as JSON; numbers that JSON does not have (NaN, infinity) become null."""
    return json.dumps(_finite(data), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
