"""The logger of the package: silent by itself, and for those who listen a line when something starts and ends."""

import logging
import subprocess
import sys

import pytest

from jcmspl import JCMSPL, ClassSearchCV
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8)


def fitted():
    return JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]


def test_start_and_end_with_sizes_and_seconds(caplog):
    caplog.set_level(logging.INFO, logger="jcmspl")
    fitted()
    start, end = lines(caplog)
    assert start == "JCMSPL.fit starts: 120 samples of 20 features"
    assert end.startswith("JCMSPL.fit ends after ")
    assert end.endswith(" s: 120 samples of 8 classes")
    assert {record.name for record in caplog.records} == {"jcmspl"}


@pytest.mark.parametrize("method", ["calibrate", "calibrate_rejection", "calibrate_sets", "partial_fit"])
def test_what_else_is_told(method, caplog):
    model = fitted()
    caplog.set_level(logging.INFO, logger="jcmspl")
    getattr(model, method)(ZOO.X, ZOO.y)
    start, end = lines(caplog)
    assert start.startswith(f"JCMSPL.{method} starts")
    assert end.startswith(f"JCMSPL.{method} ends")


def test_adapt(caplog):
    model = fitted()
    caplog.set_level(logging.INFO, logger="jcmspl")
    model.adapt(ZOO.X_new, candidates="unseen")
    assert lines(caplog)[-1].endswith("rounds")
    assert ": 45 samples, 3 classes, " in lines(caplog)[-1]


def test_a_search_and_its_steps(caplog):
    caplog.set_level(logging.DEBUG, logger="jcmspl")
    search = ClassSearchCV(JCMSPL(progress=False), {"class_match": [1.0, 100.0]}, cv=2, extend=0)
    search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert lines(caplog)[0].startswith("ClassSearchCV.fit starts")
    assert "class_match" in lines(caplog)[-1]
    steps = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert "tuning: 2 of 2 settings on 2 folds" in steps


def test_a_failure_is_told_and_raised(caplog):
    caplog.set_level(logging.INFO, logger="jcmspl")
    with pytest.raises(ValueError, match="only one class"):
        JCMSPL(progress=False).fit(ZOO.X[:1], ZOO.y[:1], class_vectors=ZOO.table)
    assert lines(caplog)[-1].startswith("JCMSPL.fit ends with ValueError")


def test_nothing_is_printed_without_a_listener():
    code = (
        "import logging, numpy as np\n"
        "from jcmspl import JCMSPL\n"
        "JCMSPL().fit(np.random.default_rng(0).random((20, 4)), [0, 1] * 10)\n"
        "assert [type(one) for one in logging.getLogger('jcmspl').handlers] == [logging.NullHandler]\n"
        "assert logging.getLogger('jcmspl').level == logging.NOTSET\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
