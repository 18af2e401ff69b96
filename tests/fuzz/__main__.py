"""``python -m tests.fuzz``: damage files of a layout, or compare random calls of the package, as many as you like."""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fuzz.calls import SUBJECTS, wrong_answers
from fuzz.campaign import damage
from fuzz.layouts import LAYOUTS
from fuzz.run import run, table
from fuzz.state import State


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="may be repeated (default: all)")
    parser.add_argument("--calls", choices=SUBJECTS, action="append", help="random calls instead; may be repeated")
    parser.add_argument("--n", type=int, default=1000, help="how many of each (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default: 0)")
    parser.add_argument("--seed", default="0", help="what all damage depends on (default: 0)")
    parser.add_argument(
        "--resume",
        nargs="?",
        metavar="FILE",
        const=str(ROOT / "build" / "fuzz" / "state.json"),
        help="go on with a campaign up to --n of each, and keep its state in this file (default: build/fuzz/state.json)",
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop a campaign after this time")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.n)
    if arguments.calls:
        wrong = [f"{subject}, {error}" for subject in arguments.calls for error in wrong_answers(subject, numbers)]
        print(*wrong[:20], f"{len(wrong)} wrong answers", sep="\n")
        return bool(wrong)
    layouts = arguments.layout or list(LAYOUTS)
    if arguments.resume:
        state, until = State(arguments.resume, arguments.seed), time.monotonic() + 60 * arguments.minutes
        damage(state, layouts, arguments.n, until)
        counts, failures = state.counts, state.failures
    else:
        jobs = [(layout, number) for layout in layouts for number in numbers]
        counts, failures = run(jobs, arguments.seed)
    for layout, index, text in failures[:20]:
        print(f"{layout} {index}: {text}\n")
    print(table(counts))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
