"""The state of a campaign: which cases were tried, what came of them, and the failures, in a file.

Counts and the number of the next case are replaced together, as one file, so that a campaign that is killed goes on
from what was last written, and counts no case twice.
"""

import json
import os
from collections import Counter
from pathlib import Path

_MOST_FAILURES = 200  # whose texts are kept
_MOST_TEXT = 3000


class State:
    """The state of a campaign.

    Attributes
    ----------
    path : Path
        The file; a new one where there is none.
    seed : str
        All cases depend on it.
    next : dict of str to int
        Of each subject (such as a layout), the number of the first case that was not tried.
    counts : dict of str to Counter
        Of each subject, how many cases had each outcome.
    failures : list of (subject, number, text)
    facts : dict
        Anything else that is worth keeping.
    """

    def __init__(self, path, seed):
        self.path = Path(path)
        self.seed, self.next, self.counts, self.failures, self.facts = str(seed), {}, {}, [], {}
        if not self.path.exists():
            return
        found = json.loads(self.path.read_text(encoding="utf-8"))
        if found["seed"] != self.seed:
            raise SystemExit(
                f"{self.path} is of a campaign with --seed {found['seed']}, not {self.seed}: give that, or another file"
            )
        self.next, self.failures, self.facts = found["next"], found["failures"], found["facts"]
        self.counts = {subject: Counter(counted) for subject, counted in found["counts"].items()}

    def add(self, subject, following, counted, failures=()):
        """Count further cases of a subject, up to the one with the number that follows."""
        self.next[subject] = following
        self.counts.setdefault(subject, Counter()).update(counted)
        room = _MOST_FAILURES - len(self.failures)
        self.failures += [[*where, text[-_MOST_TEXT:]] for *where, text in list(failures)[:room]]

    def save(self):
        """Write the file, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        names = ("seed", "next", "counts", "failures", "facts")
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_text(json.dumps({name: vars(self)[name] for name in names}, indent=1), encoding="utf-8")
        os.replace(part, self.path)
