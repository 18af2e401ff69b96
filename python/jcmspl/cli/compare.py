"""``jcmspl compare``: methods side by side, all tuned alike."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jcmspl.cli._options import add_data, add_messages, add_output, dataset_of, refuse_existing, say
from jcmspl.evaluation.compare import METHODS, compare
from jcmspl.io.atomic import write_atomically

_EXAMPLES = """examples:
  jcmspl compare digits
  jcmspl compare cub/ --methods JCMSPL ESZSL SAE --repeats 0    on the data's own split alone
  jcmspl compare cub/ -o comparison.md
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="compare methods, all tuned alike",
        description="Tune every method on the training classes of a data set and test all on the same unseen classes; "
        "then again on random splits of the classes, to tell a lead from noise.",
        epilog=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument("--methods", metavar="NAME", nargs="+", choices=list(METHODS), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--repeats", metavar="N", type=int, default=3, help="random splits of the classes (default: 3)")
    add_output(parser, "also write the comparison: .md, .json or .txt")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    forms = {".md": "to_markdown", ".json": "to_json", ".txt": "to_text"}
    refuse_existing(arguments.output, arguments.force)
    if arguments.output is not None and Path(arguments.output).suffix not in forms:
        raise ValueError(f"a comparison is written as {', '.join(forms)}, but the output is {arguments.output}")
    if arguments.repeats < 0:
        raise ValueError(f"--repeats must be at least 0, but is {arguments.repeats}")
    dataset = dataset_of(arguments)
    result = compare(
        dataset,
        arguments.methods,
        repeats=arguments.repeats,
        random_state=arguments.seed,
        progress=not arguments.quiet,
    )
    if arguments.output is not None:
        text: str = getattr(result, forms[Path(arguments.output).suffix])()
        write_atomically(Path(arguments.output), text.encode(), overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    print(result.to_json() if arguments.json else result.to_text(), end="")
