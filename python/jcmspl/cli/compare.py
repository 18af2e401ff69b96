"""Tune methods on the training classes of a data set and test them on the same unseen classes, cheap ones first.

Repeat this on random splits of the classes, with a significance test. Ctrl-C ends the comparison and prints the methods
that are done.
"""

from __future__ import annotations

import argparse
import json

from jcmspl.cli._options import (
    add_data,
    add_output,
    dataset_of,
    is_shown,
    refuse_existing,
    samples_used,
    save,
    say_what_is_used,
)
from jcmspl.model import registry
from jcmspl.support.names import ABLATIONS, METHOD_GROUPS

EXAMPLES = """\
  jcmspl compare digits
  jcmspl compare cub/ --repeats 10 -o comparison.html

  # on the data's own split only
  jcmspl compare cub/ --methods JCMSPL,ESZSL,SAE --repeats 0

  # methods that are one linear layer, with times
  jcmspl compare cub/ --methods linear --time
"""
LOADS = ("jcmspl.evaluation.compare",)


class _Lists(tuple[str, ...]):
    """Choices of an option that takes several names, separated by commas."""

    def __contains__(self, given: object) -> bool:
        return all(super(_Lists, self).__contains__(name) for name in str(given).split(","))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument(
        "--methods",
        metavar="NAME",
        nargs="+",
        choices=_Lists((*METHOD_GROUPS, *registry.names(), *ABLATIONS)),
        help=f"names from `jcmspl methods`, {', '.join(ABLATIONS)}, or a group: classical (all but networks, the "
        "default), linear (those of them whose scores are one linear layer) or networks (minutes each)",
    )
    parser.add_argument(
        "--repeats",
        metavar="N",
        type=int,
        default=3,
        help="number of random splits of the classes (default: 3; small differences need 10 or more)",
    )
    parser.add_argument("--untuned", action="store_true", help="use default parameters (much faster)")
    parser.add_argument("--time", action="store_true", help="also measure the seconds of a fit and of predictions")
    add_output(parser, "also write the comparison to FILE: .html, .md, .csv, .tex, .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.compare import compare
    from jcmspl.evaluation.comparison_report import Comparison
    from jcmspl.io.json_text import dumps

    refuse_existing(arguments.output, arguments.force, Comparison.check_name)
    if arguments.repeats < 0:
        raise ValueError(f"--repeats must be at least 0, but is {arguments.repeats}")
    methods = arguments.methods and [name for names in arguments.methods for name in names.split(",")]
    dataset = dataset_of(arguments, tested=True)
    result = compare(
        dataset,
        methods,
        repeats=arguments.repeats,
        random_state=arguments.seed,
        tune=not arguments.untuned,
        timed=arguments.time,
        progress=not arguments.quiet,
    )
    say_what_is_used(arguments, dataset)
    save(arguments, result)
    if arguments.json:
        text = dumps({"samples": samples_used(dataset), **json.loads(result.to_json())}, indent=1) + "\n"
    else:
        text = result.to_text()
    if is_shown(arguments):
        print(text, end="", flush=True)
    if result.not_run:
        raise KeyboardInterrupt("the methods that were done are compared")
