"""The parser of the whole command line, made from a table of commands."""

from __future__ import annotations

import argparse
import difflib
import importlib
import textwrap
from collections.abc import Iterable
from typing import Any, NoReturn

from jcmspl.support.shown import printable
from jcmspl.support.version import __version__

#: The commands, each a module of this name, in the order of the help. A module has a docstring, which is its help,
#: EXAMPLES, LOADS (the modules that take long to load, without which it cannot run), add_arguments(parser) and
#: run(arguments); it imports nothing that takes long before it runs.
COMMANDS = {
    "demo": "see it work: handwritten digits that were never seen in training",
    "embed": "make features of pictures, or class vectors of descriptions, with an ONNX model",
    "check": "find wrong labels, class vectors that do not fit, duplicates and leaks in a data set",
    "fit": "learn from a data set and write the model",
    "predict": "name samples",
    "evaluate": "test a model on a data set",
    "explore": "make a page to try a model in a browser",
    "tune": "choose the parameters by cross-validation over training classes",
    "compare": "compare methods, all tuned alike",
    "methods": "list the methods and their parameters",
    "reproduce": "run the experiments of the paper on a data set",
    "convert": "turn one layout of data into another",
    "info": "tell what is in a model or data file",
    "bench": "measure the speed of a fit on this machine",
    "completion": "print the script that makes a shell complete this command",
}


#: How much is told of what goes on, from much to little.
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return which of the known words may have been meant, as the end of a sentence; nothing if none is like it."""
    close = difflib.get_close_matches(given, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


class HelpfulParser(argparse.ArgumentParser):
    """A parser that says which word may have been meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += suggestion(str(value), map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        """End with a sentence; the usage, which may be a page, is a command away."""
        self.exit(2, f"{self.prog}: {printable(message)}\nsee `{self.prog} --help`\n")


class CommandParser(HelpfulParser):
    """The parser of one command, whose module is loaded when it is first asked."""

    def fill(self) -> None:
        """Add the arguments of the command."""
        module = importlib.import_module(f"jcmspl.cli.{self.prog.split()[-1]}")
        self.description = textwrap.fill(" ".join((module.__doc__ or "").split()), 79)
        self.epilog = f"examples:\n{module.EXAMPLES}"
        module.add_arguments(self)
        self.add_argument("--debug", action="store_true", help="show the traceback of an error")
        self.add_argument(
            "-v", "--verbose", action="count", default=0, help="tell on stderr what starts and ends; -vv: every step"
        )
        self.add_argument("--log-level", metavar="LEVEL", choices=LOG_LEVELS, help="the same, by name: debug, info")
        self.set_defaults(run=module.run, loads=module.LOADS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, once there is something to parse with."""
        self.fill()
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unknown arguments: {' '.join(rest)}{suggestion(rest[0], self._option_string_actions)}")
        return found, rest


def parser() -> tuple[argparse.ArgumentParser, dict[str, CommandParser]]:
    """Return the parser of the whole command line, and those of the commands, each filled when it parses."""
    whole = HelpfulParser(
        prog="jcmspl",
        description="Zero-shot recognition: name classes never seen in training, from vectors that describe them.",
        epilog="Start with `jcmspl demo`. Every command has examples: `jcmspl fit --help`.",
    )
    whole.add_argument("--version", action="version", version=f"jcmspl {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=CommandParser)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    return whole, commands.choices
