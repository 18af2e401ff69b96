"""``python -m tests.fuzz``: damage files of a layout, or compare random calls of the package, as many as you like."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.calls import SUBJECTS, wrong_answers
from fuzz.layouts import LAYOUTS
from fuzz.run import run, table


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="may be repeated (default: all)")
    parser.add_argument("--calls", choices=SUBJECTS, action="append", help="random calls instead; may be repeated")
    parser.add_argument("--n", type=int, default=1000, help="how many of each (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default: 0)")
    parser.add_argument("--seed", default="0", help="what all damage depends on (default: 0)")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.n)
    if arguments.calls:
        wrong = [f"{subject}, {error}" for subject in arguments.calls for error in wrong_answers(subject, numbers)]
        print(*wrong[:20], f"{len(wrong)} wrong answers", sep="\n")
        return bool(wrong)
    jobs = [(layout, number) for layout in arguments.layout or LAYOUTS for number in numbers]
    counts, failures = run(jobs, arguments.seed)
    for layout, index, text in failures[:20]:
        print(f"{layout} {index}: {text}\n")
    print(table(counts))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
