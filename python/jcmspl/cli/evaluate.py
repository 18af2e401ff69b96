"""``jcmspl evaluate``: test a model on a data set."""

from __future__ import annotations

import argparse
from typing import Any

from jcmspl.cli._options import add_data, add_messages, add_output, dataset_of, refuse_report, say
from jcmspl.core.search import SPACES
from jcmspl.evaluation import evaluate as evaluation
from jcmspl.models.persistence import load

_EXAMPLES = """examples:
  jcmspl evaluate cub.safetensors cub/                     the tables, as text
  jcmspl evaluate cub.safetensors cub/ -o report.html      a page with plots (or .md, .json, .txt)
  jcmspl evaluate cub.safetensors cub/ --json | jq .results
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "evaluate",
        help="test a model on a data set",
        description="Test a model on the test parts of a data set: standard and generalized recognition, per class and "
        "per sample, in all three spaces.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="a file written by `jcmspl fit`")
    add_data(parser)
    parser.add_argument("--space", choices=SPACES, action="append", help="only this space (may be repeated)")
    parser.add_argument("--hits", metavar="K", type=int, nargs="+", default=[1, 2, 5], help="the k of hit@k")
    add_output(parser, "also write a report: .html, .md, .json or .txt")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    refuse_report(arguments.output, arguments.force)
    model, dataset = load(arguments.model), dataset_of(arguments)
    report = evaluation.evaluate(
        model, dataset, spaces=arguments.space, hits=arguments.hits, progress=not arguments.quiet
    )
    if arguments.output is not None:
        report.save(arguments.output, overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    print(report.to_json() if arguments.json else report.to_text(), end="")
