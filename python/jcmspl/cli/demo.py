"""``jcmspl demo``: the whole of it on data that comes with the package."""

from __future__ import annotations

import argparse
from typing import Any

from jcmspl._svg import COLOURS  # noqa: F401 - placeholder
from jcmspl.cli._options import add_messages, add_output

_EXAMPLES = """examples:
  jcmspl demo
  jcmspl demo -o digits.html                               with plots, to be opened in a browser
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="see it work: handwritten digits that were never seen in training",
        description="Train on images of seven handwritten digits, with settings chosen on these alone, and recognise three "
        "others by descriptions of their strokes.",
        epilog=_EXAMPLES,
    )
    add_output(parser, "also write a report: .html, .md, .json or .txt")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    raise NotImplementedError
