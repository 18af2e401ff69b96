"""Progress is shown on a terminal, and nowhere else."""

import os
import subprocess
import sys

import pytest

from jcmspl.support import progress

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

SCRIPT = """
import numpy as np, sys, time
from jcmspl import JCMSPL
from jcmspl.support import progress as _progress
_progress._DELAY = _progress._INTERVAL = 0.0
rng = np.random.default_rng(0)
X, y = rng.random((40_000, 10)), np.arange(40_000) % 5
JCMSPL(progress={progress}).fit(X, y, class_vectors=rng.random((5, 4)))
JCMSPL(progress={progress}).fit(((X[i::4], y[i::4]) for i in range(4)), class_vectors=rng.random((5, 4)))
"""


def on_terminal(code):
    main, other = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=other, stdout=subprocess.PIPE)
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # how Linux says that the other side was closed
            break
        if not part:
            break
        shown += part
    output, _ = process.communicate(timeout=300)
    os.close(main)
    assert process.returncode == 0, shown
    assert output == b""
    return shown.decode()


def test_on_a_terminal():
    shown = on_terminal(SCRIPT.format(progress=True))
    assert "reading: 16,384 of 40,000 samples, " in shown
    assert "/s" in shown
    assert " left" in shown
    assert "reading: 10,000 samples" in shown
    assert "fitting: 1 of 100 iterations" in shown
    assert "objective " in shown
    assert shown.endswith("\r")
    assert shown.rstrip("\r").endswith(" ")  # the line is wiped at the end


SEARCH = """
import numpy as np
from jcmspl import JCMSPLCV
from jcmspl.support import progress as _progress
_progress._DELAY = _progress._INTERVAL = 0.0
rng = np.random.default_rng(0)
X, y = rng.random((80, 10)), np.arange(80) % 8
JCMSPLCV(class_match=1, cv=2, extend=0, progress={progress}).fit(X, y, class_vectors=rng.random((8, 4)))
"""


def test_of_a_search():
    shown = on_terminal(SEARCH.format(progress=True))
    assert "tuning: 1 of 54 fits, " in shown
    assert "tuning: 54 of 54 fits, " in shown
    assert " left" in shown
    assert on_terminal(SEARCH.format(progress=False)) == ""


def test_silenced():
    assert on_terminal(SCRIPT.format(progress=False)) == ""


def test_not_on_a_terminal():
    result = subprocess.run([sys.executable, "-c", SCRIPT.format(progress=True)], capture_output=True, check=True)
    assert result.stderr == result.stdout == b""


def test_nothing_is_shown_of_short_work(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.Progress("working", 3, "steps") as line:
        for i in range(3):
            line.update(i)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stderr", [None, object()])
def test_no_stderr_is_no_terminal(monkeypatch, stderr):
    monkeypatch.setattr("sys.stderr", stderr)
    with progress.Progress("working", 3, "steps") as line:
        line.announce()


def test_closed_stderr(monkeypatch, tmp_path):
    with open(tmp_path / "file", "w") as file:
        pass
    monkeypatch.setattr("sys.stderr", file)
    progress.Progress("working", 3, "steps").announce()


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (89, "89 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations(seconds, text):
    assert progress._duration(seconds) == text
