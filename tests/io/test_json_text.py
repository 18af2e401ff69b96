"""Results as JSON and back."""

import json
import math
from dataclasses import dataclass
from typing import Any

from jcmspl.io.json_text import dumps, from_data


@dataclass(frozen=True)
class _Found:
    name: str
    weight: float
    share: float | None
    parameters: dict[str, Any]


def test_infinity_comes_back_and_is_valid_json():
    found = _Found("inf", math.inf, -math.inf, {"class_match": math.inf, "n": 3, "kernel": "rbf"})
    data = json.loads(dumps(found), parse_constant=lambda name: 1 / 0)
    assert data == {
        "name": "inf",
        "weight": "inf",
        "share": "-inf",
        "parameters": {"class_match": "inf", "n": 3, "kernel": "rbf"},
    }
    assert from_data(_Found, data) == found


def test_what_is_no_number_is_null():
    assert dumps([math.nan]) == "[null]"
