"""Campaigns: they go on where they were, also after a kill -9, and count nothing twice."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from fuzz.campaign import damage
from fuzz.campaign import settings as settings_campaign
from fuzz.state import State

ROOT = Path(__file__).parents[2]


def test_files(tmp_path):
    for n in (3, 8, 8):
        state = State(tmp_path / "state.json", "1")
        damage(state, ["jsonl", "encoder"], n, of_each=5)
    assert {layout: counted.total() for layout, counted in state.counts.items()} == {"jsonl": 8, "encoder": 1}
    at_once = State(tmp_path / "other.json", "1")
    damage(at_once, ["jsonl", "encoder"], 8)
    assert at_once.counts == State(tmp_path / "state.json", "1").counts
    damage(at_once, ["jsonl"], 99, until=time.monotonic() - 1)  # no time is left
    assert at_once.next["jsonl"] == 8


def test_settings(tmp_path):
    for n in (2, 5):
        state = State(tmp_path / "state.json", "0")
        assert list(settings_campaign(state, n, None)) == []
    assert sum(state.counts.values(), Counter()).total() == state.next["contract"] == 5


def test_another_seed_is_refused(tmp_path):
    State(tmp_path / "state.json", "1").save()
    with pytest.raises(SystemExit, match="with --seed 1, not 2"):
        State(tmp_path / "state.json", "2")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_campaign_that_is_killed_goes_on(tmp_path):
    path = tmp_path / "state.json"
    command = [sys.executable, "-m", "tests.fuzz", "--layout", "jsonl", "--resume", str(path)]
    with subprocess.Popen([*command, "--n", "1000000"], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    done = json.loads(path.read_text())["next"]["jsonl"]
    subprocess.run([*command, "--n", str(done + 10)], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    state = State(path, "0")
    assert state.next["jsonl"] == state.counts["jsonl"].total() == done + 10
