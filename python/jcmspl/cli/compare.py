"""Tune every method on the training classes of a data set and test all on the same unseen classes.

Then again on random splits of the classes, to tell a lead from noise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._options import add_data, add_output, dataset_of, refuse_existing, say
from jcmspl.models import registry
from jcmspl.support.names import ABLATIONS

EXAMPLES = """\
  jcmspl compare digits
  jcmspl compare cub/ --methods JCMSPL ESZSL SAE --repeats 0    on the data's own split alone
  jcmspl compare cub/ -o comparison.md
"""
LOADS = ("jcmspl.evaluation.compare",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument(
        "--methods",
        metavar="NAME",
        nargs="+",
        choices=(*registry.names(), *ABLATIONS),
        help=f"those of `jcmspl methods`, and {', '.join(ABLATIONS)} (default: all)",
    )
    parser.add_argument("--repeats", metavar="N", type=int, default=3, help="random splits of the classes (default: 3)")
    add_output(parser, "also write the comparison: .md, .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.compare import compare
    from jcmspl.io.atomic import write_atomically

    forms = {".md": "to_markdown", ".json": "to_json", ".txt": "to_text"}
    refuse_existing(arguments.output, arguments.force)
    if arguments.output is not None and Path(arguments.output).suffix not in forms:
        raise ValueError(f"a comparison is written as {', '.join(forms)}, but the output is {arguments.output}")
    if arguments.repeats < 0:
        raise ValueError(f"--repeats must be at least 0, but is {arguments.repeats}")
    options = {"repeats": arguments.repeats, "random_state": arguments.seed, "progress": not arguments.quiet}
    result = compare(dataset_of(arguments), arguments.methods, **options)
    if arguments.output is not None:
        text: str = getattr(result, forms[Path(arguments.output).suffix])()
        write_atomically(Path(arguments.output), text.encode(), overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    print(result.to_json() if arguments.json else result.to_text(), end="")
