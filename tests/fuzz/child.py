"""The process in which damaged files are loaded: it may die of it, and is then started again for the next one.

Arguments are the seed and a folder; jobs come as lines "layout index" from standard input, outcomes go to standard
output as lines of JSON, each as soon as it is known.
"""

import json
import os
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.layouts import LAYOUTS
from fuzz.mutators import generator
from jcmspl.datasets import DatasetError
from jcmspl.io.archive import ModelFileError

_MEMORY = 2**32  # bytes, beyond what the process has when it starts
_SENTENCES = (DatasetError, ModelFileError, OSError, MemoryError, ValueError)


def main():
    """Load what standard input names."""
    seed, folder = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    _limit_memory()
    good = {}
    for line in sys.stdin:
        name, index = line.split()
        if name not in good:
            good[name] = _Good(LAYOUTS[name], folder / name)
        print(json.dumps(good[name].outcome(generator(seed, name, index))), file=answers, flush=True)


def _limit_memory():
    try:
        import resource
    except ImportError:  # Windows
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 2**18
    limit, hard = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


class _Good:
    """Good files of a layout, and what is in them."""

    def __init__(self, layout, folder):
        self.layout, self.folder = layout, folder
        folder.mkdir(parents=True, exist_ok=True)
        layout.write(folder)
        self.files = {path: path.read_bytes() for path in sorted(folder.iterdir())}
        self.content = layout.loaded(folder)

    def outcome(self, rng):
        """Damage a file, load it, and return what came of it."""
        path = rng.choice(list(self.files))
        # a new file each time: a library may still hold what it has read of the last one
        path.unlink(missing_ok=True)
        path.write_bytes(self.layout.mutated(self.files[path], rng))
        try:
            return ["equal" if self.layout.loaded(self.folder) == self.content else "different", ""]
        except Exception as error:
            text = str(error)
            fine = isinstance(error, _SENTENCES) and str(self.folder) in text and "\n" not in text
            return ["refused", text] if fine else ["failed", traceback.format_exc()]
        finally:
            path.unlink(missing_ok=True)
            path.write_bytes(self.files[path])


if __name__ == "__main__":
    main()
