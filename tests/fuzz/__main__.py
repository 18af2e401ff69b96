"""``python -m tests.fuzz``: damage files, compare random calls, or try random settings, as many as you like.

Without --calls and --contract, files of each layout are damaged and loaded.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import campaign, contract
from fuzz.calls import SUBJECTS, wrong_answers
from fuzz.layouts import LAYOUTS
from fuzz.run import run, table
from fuzz.state import State
from jcmspl.model import registry

STATES = Path(__file__).parents[2] / "build" / "fuzz"  # git ignores it


def main():
    arguments = _parser().parse_args()
    numbers = range(arguments.first, arguments.first + arguments.n)
    if arguments.calls:
        wrong = [f"{subject}, {error}" for subject in arguments.calls for error in wrong_answers(subject, numbers)]
        print(*wrong[:20], f"{len(wrong)} wrong answers", sep="\n")
        return bool(wrong)
    with tempfile.TemporaryDirectory() as folder:
        # without --resume a state is only what is counted in
        given = Path(folder) / "state.json" if arguments.resume is None else arguments.resume
        default = STATES / ("contract.json" if arguments.contract else "files.json")
        state = State(default if given == "" else given, arguments.seed)
        until = time.monotonic() + 60 * arguments.minutes
        return _settings(arguments, state, until) if arguments.contract else _files(arguments, state, until)


def _settings(arguments, state, until):
    state.next.setdefault("contract", arguments.first)
    for report in campaign.settings(state, arguments.first + arguments.n, arguments.method, until):
        print(report, flush=True)
    print(table(state.counts, "method", contract.OUTCOMES))
    return any(counted["failed"] for counted in state.counts.values())


def _files(arguments, state, until):
    layouts = arguments.layout or list(LAYOUTS)
    if arguments.resume is None:
        jobs = [(layout, arguments.first + number) for layout in layouts for number in range(arguments.n)]
        state.counts, state.failures = run(jobs, arguments.seed)
    else:
        campaign.damage(state, layouts, arguments.n, until)
    for layout, index, text in state.failures[:20]:
        print(f"{layout} {index}: {text}\n")
    print(table(state.counts))
    return bool(state.failures)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="may be repeated (default: all)")
    parser.add_argument("--calls", choices=SUBJECTS, action="append", help="random calls instead; may be repeated")
    parser.add_argument("--contract", action="store_true", help="random settings of all methods instead")
    parser.add_argument(
        "--method",
        choices=registry.names(),
        action="append",
        help="with --contract: of all settings, those of this method alone; may be repeated",
    )
    parser.add_argument(
        "--n", type=int, default=1000, help="how many: of each layout or kind of call, or settings (default: 1000)"
    )
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default: 0)")
    parser.add_argument("--seed", default="0", help="what all of it depends on, but for --calls (default: 0)")
    parser.add_argument(
        "--resume",
        nargs="?",
        metavar="FILE",
        const="",
        help="go on with a campaign of files or settings, up to --n, from the state in a file, which is written now "
        "and then (default: build/fuzz/files.json, build/fuzz/contract.json)",
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop a campaign after this time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
