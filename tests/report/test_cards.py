"""Cards of results: drawn by the report, which loads when the first one is shown."""

import subprocess
import sys

import pytest

from jcmspl.support.shown import elided


def test_the_report_loads_when_the_first_card_is_shown():
    code = """
import sys
from jcmspl import JCMSPL, ClassTable
table = ClassTable(["a"], [[1.0]])
repr(table), repr(JCMSPL())
assert not any(name.startswith("jcmspl.report") for name in sys.modules)
assert "ClassTable of 1 classes" in table._repr_html_()
assert "jcmspl.report.pages" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6, 50])
@pytest.mark.parametrize("most", [4, 5])
def test_elided(n, most):
    items = list(range(n))
    kept = elided(items, most, None)
    if n <= most:
        assert kept == items
    else:
        assert len(kept) == most + 1
        assert kept.count(None) == 1
        gap = kept.index(None)
        assert kept[:gap] == items[:gap]
        assert kept[gap + 1 :] == items[-(most - gap) :]
