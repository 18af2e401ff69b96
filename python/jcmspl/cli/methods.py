"""``jcmspl methods``: what there is to choose from with ``--model``."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from typing import Any

from jcmspl.cli._models import parameter_names
from jcmspl.cli._options import add_messages, show
from jcmspl.models import registry

DESCRIPTION = "List the methods that `--model` takes: what each is, the paper it comes from, and its parameters."
EXAMPLES = """\
  jcmspl methods
  jcmspl methods SAE ESZSL                                 only these
  jcmspl methods --json | jq 'keys'
"""
LOADS = ("jcmspl.models.classifier",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="methods to tell of (default: all)")
    add_messages(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    names = arguments.names or registry.names()
    about = {name: _about(registry.get(name)) for name in names}
    show(arguments, about, "\n\n".join(_text(name, facts) for name, facts in about.items()))


def _about(method: type[Any]) -> dict[str, Any]:
    values = method().get_params(deep=False)
    return {
        "summary": (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ").replace("``", ""),
        "paper": getattr(method, "PAPER", None),
        "parameters": {name: values[name] for name in parameter_names(method)},
        "grid": {name: list(tried) for name, tried in (getattr(method, "GRID", None) or {}).items()},
    }


def _text(name: str, facts: dict[str, Any]) -> str:
    lines = [f"{name}: {facts['summary']}"]
    if facts["paper"]:
        lines += textwrap.wrap(str(facts["paper"]), 100, initial_indent="    ", subsequent_indent="    ")
    given = ", ".join(f"{parameter}={value}" for parameter, value in facts["parameters"].items())
    lines += textwrap.wrap(given, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)
