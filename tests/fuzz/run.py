"""Runs mutations in processes of their own and counts what comes of them."""

import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

OUTCOMES = ("equal", "different", "refused", "failed")
_MOST_STILLBORN = 5  # processes in a row that load not a single file
_PATIENCE = 300  # seconds for one file: only what never ends takes so long, on however busy a machine


def run(jobs, seed):
    """Load damaged files.

    Parameters
    ----------
    jobs : list of (layout, index)
    seed : str

    Returns
    -------
    counts : dict of str to Counter
        Of each layout, how many files were loaded "equal" or "different", "refused" in a sentence, or "failed".
    failures : list of (layout, index, text)
    """
    counts, failures = {layout: Counter() for layout, _ in jobs}, []
    with tempfile.TemporaryDirectory() as folder:
        stillborn = 0
        while jobs:
            done = 0
            for (layout, index), (outcome, text) in zip(jobs, _answers(jobs, seed, folder), strict=False):
                counts[layout][outcome] += 1
                if outcome == "failed":
                    failures.append((layout, index, text))
                done += 1
            jobs = jobs[done:]
            stillborn = stillborn + 1 if done == 1 and jobs else 0
            if stillborn == _MOST_STILLBORN:  # it is not the damage that kills them
                raise RuntimeError(text)
    return counts, failures


def _answers(jobs, seed, folder):
    """Give the outcomes of the first jobs, up to one that the process did not survive, whose outcome is that."""
    command = [sys.executable, str(Path(__file__).with_name("child.py")), str(seed), folder]
    with tempfile.TemporaryFile("w+") as lines, tempfile.TemporaryFile("w+") as messages:
        lines.writelines(f"{layout} {index}\n" for layout, index in jobs)
        lines.seek(0)
        process = subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE, stderr=messages, text=True)
        with process:
            try:
                for _ in jobs:
                    watch = threading.Timer(_PATIENCE, process.kill)
                    watch.start()
                    line = process.stdout.readline()
                    watch.cancel()
                    if not line:
                        code = process.wait()
                        messages.seek(0)
                        yield "failed", f"the process ended with code {code}: {messages.read()[-2000:]}"
                        return
                    yield json.loads(line)
            finally:
                process.kill()


def peak_memory():
    """Return the largest memory of a process that has ended so far, in MiB, or 0 where that is not known."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return size // 2**20 if sys.platform == "darwin" else size // 2**10


def table(counts, what="layout", outcomes=OUTCOMES):
    """Return the counts as text, with their sums."""
    found = {**counts, "all": sum(counts.values(), Counter())}
    rows = [[what, *outcomes], *([one, *(str(n[o]) for o in outcomes)] for one, n in found.items())]
    return "\n".join(row[0].ljust(18) + "".join(cell.rjust(11) for cell in row[1:]) for row in rows)
