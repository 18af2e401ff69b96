"""List the methods for `--model`: year, kind, cost, needs and paper. With names, show all details of these methods.

The cost estimates the time of tuning, in fits of ridge regression. `jcmspl compare` starts with cheap methods.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import textwrap
from typing import Any

from jcmspl.cli._models import parameter_names
from jcmspl.cli._options import add_output, show
from jcmspl.model import registry
from jcmspl.support.shown import aligned, markdown_table, shortened

EXAMPLES = """\
  jcmspl methods
  jcmspl methods SAE ESZSL
  jcmspl methods --json | jq 'keys'
"""
LOADS = ("jcmspl.model.classifier",)
_WIDEST = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="methods to show in detail (default: list all)")
    parser.add_argument("--markdown", action="store_true", help="print a table, as in docs/methods.md")
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    chosen = {name: registry.get(name) for name in arguments.names} or registry.methods()
    about = {name: _about(method) for name, method in chosen.items()}
    if arguments.markdown:
        header = ["method", "what it is", "kind", "needs", "cost", "tuned by default", "paper"]
        rows = [
            [f"`{name}`", *(facts[key] for key in ("summary", "kind", "needs", "cost", "grid", "paper"))]
            for name, facts in about.items()
        ]
        table = "\n".join(markdown_table(header, [[_cell(value) for value in row] for row in rows]))
        print(table.replace(r"\`", "`"))  # names are code
    elif arguments.names:
        show(arguments, about, "\n\n".join(_text(name, facts) for name, facts in about.items()))
    else:
        show(arguments, about, _listed(about))


def _about(method: type[Any]) -> dict[str, Any]:
    model = method()
    return {
        "summary": _summary(method),
        "year": registry.year(method),
        "paper": method.PAPER,
        "kind": registry.kind(method),
        "linear": method.LINEAR,
        "needs": method.NEEDS,
        "cost": registry.cost(method),
        "parameters": {name: getattr(model, name) for name in parameter_names(method)},
        "grid": method.GRID,
    }


def _summary(method: type[Any]) -> str:
    """Return the first paragraph of the documentation as plain text."""
    first = (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", first).replace("``", "")


def _listed(about: dict[str, dict[str, Any]]) -> str:
    """Return a table of all methods, one line per method."""
    header = ["method", "year", "kind", "cost", "needs", "paper"]
    rows = [[name, *(_cell(facts[key]) for key in header[1:])] for name, facts in about.items()]
    width = shutil.get_terminal_size((_WIDEST, 24)).columns  # without a terminal nothing is cut
    lines = [shortened(line, width) for line in aligned(header, rows).splitlines()]
    return "\n".join([*lines, "", "`jcmspl methods NAME` shows all details of a method, with its parameters."])


def _text(name: str, facts: dict[str, Any]) -> str:
    lines = [f"{name}: {facts['summary']}"]
    lines += textwrap.wrap(facts["paper"], 100, initial_indent="    ", subsequent_indent="    ")
    linear = ", one linear layer" * facts["linear"]
    lines.append(f"    {facts['kind']}{linear}; needs {facts['needs']}; cost {_cell(facts['cost'])}")
    given = ", ".join(f"{parameter}={value}" for parameter, value in facts["parameters"].items())
    lines += textwrap.wrap(given, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else ", ".join(value) if isinstance(value, dict) else str(value)
