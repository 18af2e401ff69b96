"""List the methods that `--model` takes: what each is, the paper it comes from, and its parameters."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from typing import Any

from jcmspl.cli._models import parameter_names
from jcmspl.cli._options import add_output, show
from jcmspl.models import registry
from jcmspl.report.text import markdown_table

EXAMPLES = """\
  jcmspl methods
  jcmspl methods SAE ESZSL                                 only these
  jcmspl methods --json | jq 'keys'
"""
LOADS = ("jcmspl.models.classifier",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="methods to tell of (default: all)")
    parser.add_argument("--markdown", action="store_true", help="print a table, as in docs/methods.md")
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    about = {name: _about(registry.get(name)) for name in arguments.names or registry.names()}
    if arguments.markdown:
        header = ["method", "what it is", "kind", "needs", "tuned by default", "paper"]
        rows = [
            [f"`{name}`", facts["summary"], facts["kind"], facts["needs"], ", ".join(facts["grid"]), facts["paper"]]
            for name, facts in about.items()
        ]
        print("\n".join(markdown_table(header, rows)))
    else:
        show(arguments, about, "\n\n".join(_text(name, facts) for name, facts in about.items()))


def _about(method: type[Any]) -> dict[str, Any]:
    model = method()
    return {
        "summary": (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ").replace("``", ""),
        "paper": method.PAPER,
        "kind": next(base.__name__ for base in method.__mro__[1:] if "_fit" in vars(base) or "_scorer" in vars(base)),
        "needs": method.NEEDS,
        "parameters": {name: getattr(model, name) for name in parameter_names(method)},
        "grid": method.GRID,
    }


def _text(name: str, facts: dict[str, Any]) -> str:
    lines = [f"{name}: {facts['summary']}"]
    lines += textwrap.wrap(facts["paper"], 100, initial_indent="    ", subsequent_indent="    ")
    given = ", ".join(f"{parameter}={value}" for parameter, value in facts["parameters"].items())
    lines += textwrap.wrap(given, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)
