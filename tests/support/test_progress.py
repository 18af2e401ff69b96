"""Progress is shown on a terminal, and nowhere else."""

import io
import os
import re
import struct
import subprocess
import sys
import threading
import time

import pytest

from jcmspl.support import progress

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")

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


def on_terminal(code, size=(0, 0)):
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
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


@pytest.mark.parametrize("size", [(0, 0), (24, 90)], ids=["unknown", "known"])  # rows and columns
def test_on_a_terminal(size):
    shown = on_terminal(SCRIPT.format(progress=True), size)
    assert re.search(r"reading:  41%\|.*\| 16384/40000 \[00:00<00:00, [\d.]+ samples/s\]", shown)
    assert re.search(r"reading: 10000 samples \[00:00, [\d.]+ samples/s\]", shown)
    assert re.search(r"fitting: +1%\|.*\| 1/100 \[.* iterations/s, objective [\d.]+\]", shown)
    assert re.search(r"\r +\r$", shown)  # the line is wiped at the end
    assert "\n" not in shown


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
    assert re.search(r"tuning: +2%\|.*\| 1/54 \[.* fits/s\]", shown)
    assert re.search(r"tuning: 100%\|.*\| 54/54 ", shown)
    assert on_terminal(SEARCH.format(progress=False)) == ""


COMPARISON = """
from jcmspl.datasets import make_zsl
from jcmspl.evaluation.compare import compare
from jcmspl.support import progress as _progress
_progress._DELAY = _progress._INTERVAL = 0.0
compare(make_zsl(80, 8, 6, 8, 3, random_state=0), ["FPL", "RPL"], repeats=1, progress={progress}, cv=2, extend=0)
"""


def test_of_a_comparison():
    """RPL tries six settings where FPL has none, so it counts as six steps; two splits of each."""
    shown = on_terminal(COMPARISON.format(progress=True))
    assert re.search(r"comparing: +7%\|.*\| 1/14 \[\d+:\d+<\d+:\d+, .* FPL\]", shown)
    assert re.search(r"comparing: +57%\|.*\| 8/14 \[\d+:\d+<\d+:\d+, .* RPL\]", shown)
    assert on_terminal(COMPARISON.format(progress=False)) == ""


EMBEDDING = """
import tempfile
from PIL import Image
from jcmspl import embed
from jcmspl.support import progress as _progress
_progress._DELAY = _progress._INTERVAL = 0.0
with tempfile.TemporaryDirectory() as folder:
    for number in range(4):
        Image.new("L", (2, 2)).save(f"{{folder}}/{{number}}.png")
    embed.images(folder, lambda pictures: [[1.0]] * len(pictures), batch_size=2, progress={progress})
"""


def test_of_embedding():
    pytest.importorskip("PIL")
    shown = on_terminal(EMBEDDING.format(progress=True))
    assert re.search(r"embedding: +50%\|.*\| 2/4 \[\d+:\d+<\d+:\d+, .* pictures/s\]", shown)
    assert on_terminal(EMBEDDING.format(progress=False)) == ""


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


def as_terminal(monkeypatch):
    """Return a stand-in for stderr that is a terminal; not a fixture, for pytest replaces stderr after these."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    return screen


def test_nothing_is_shown_before_a_second(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress.Progress("working", 9, "steps") as line:
        line.update(1)
        assert terminal.getvalue() == ""
        monkeypatch.setattr(line, "_started", time.time() - progress._DELAY - 0.5)
        line.update(3, "a note")
        assert re.search(r"working:  33%\|.*\| 3/9 \[00:01<00:0\d, +[\d.]+ steps/s, a note\]", terminal.getvalue())
    assert terminal.getvalue().endswith(" \r")


def test_announced(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress.Progress("decomposing", 2048, "features") as line:
        line.announce()
        assert terminal.getvalue().strip() == "decomposing (2,048 features) ..."
    assert terminal.getvalue().endswith(" \r")


def test_tells_of_an_error_as_if_there_were_no_bar(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    with pytest.raises(ZeroDivisionError), progress.Progress("working", 3, "steps") as line:
        line.update(1) or 1 / 0
    assert terminal.getvalue().endswith(" \r")


def test_many_threads(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    with progress.Progress("working", 800, "steps") as line:
        threads = [
            threading.Thread(target=lambda first=first: [line.update(first + i) for i in range(100)])
            for first in range(0, 800, 100)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        line.update(800)
    lines = [part for part in terminal.getvalue().split("\r") if part.strip()]
    assert all(re.fullmatch(r"working: +\d+%\|.*\| \d+/800 \[.*\] *", part) for part in lines)
    assert " 800/800 " in lines[-1]


@pytest.mark.parametrize("enabled", [True, False])
def test_tqdm_is_loaded_only_where_it_is_shown(enabled):
    code = f"""
import sys
from jcmspl.support.progress import Progress
sys.stderr.isatty = lambda: True
with Progress("working", 3, "steps", enabled={enabled}) as line:
    line.update(1)
assert "tqdm" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
