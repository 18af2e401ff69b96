"""Damaged files of every layout are loaded or refused in a sentence: no crash, no traceback, no endless wait."""

import pytest

from fuzz.layouts import LAYOUTS
from fuzz.run import run, table

N = 300
# Damage to uncompressed xlsa17 files (first line: features, second: splits), of which SciPy's reader (1.17) dies.
DEADLY = [
    *(17, 63, 110, 144, 151, 223, 246, 288, 689, 732),
    *(121, 701, 773, 804, 812, 816, 882, 945, 1077, 1109),
]


@pytest.fixture(scope="module")
def outcomes():
    """All layouts in one process, unless it dies."""
    counts, failures = run([(layout, index) for layout in LAYOUTS for index in range(N)], "tests")
    print(table(counts))
    return counts, failures


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damaged_files(outcomes, layout):
    counts, failures = outcomes
    assert not [failure for failure in failures if failure[0] == layout]
    assert sum(counts[layout].values()) == N
    assert counts[layout]["refused"] > N / 10  # the damage does something


def test_files_that_kill_scipy():
    counts, failures = run([("xlsa17", index) for index in DEADLY], "scipy")
    assert not failures
    assert sum(counts["xlsa17"].values()) == len(DEADLY)


def test_a_process_that_dies_is_a_failure():
    counts, failures = run([("no-such-layout", 0)], "tests")
    assert counts["no-such-layout"]["failed"] == 1
    assert "the process ended with code 1" in failures[0][2]
