"""The argument parser of the command line, built from a table of commands."""

from __future__ import annotations

import argparse
import importlib
import textwrap
from typing import Any, NoReturn

from jcmspl.support.shown import printable, suggestion
from jcmspl.support.version import __version__

#: The commands in the order of the help. Each is a module with a docstring (its help), EXAMPLES, LOADS (modules that
#: are slow to import and needed to run), add_arguments(parser) and run(arguments).
COMMANDS = {
    "demo": "recognise handwritten digits that were not in the training data",
    "embed": "compute features of pictures, or class vectors of texts, with an ONNX model",
    "check": "find wrong labels, poor class vectors, duplicates and leaks in a data set",
    "fit": "train a model on a data set",
    "predict": "predict the classes of samples",
    "evaluate": "test a model on a data set",
    "explore": "write a page to try a model in a browser",
    "tune": "choose parameters by cross-validation over training classes",
    "compare": "compare methods, each tuned in the same way",
    "methods": "list the methods and their parameters",
    "reproduce": "run the paper's experiments on a data set",
    "convert": "convert a data set to another layout",
    "classes": "list, add and remove the classes of a model",
    "info": "describe a model or data file",
    "bench": "measure the speed of a fit on this machine",
    "completion": "print a script for completion in the shell",
}

LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


class HelpfulParser(argparse.ArgumentParser):
    """A parser whose errors suggest similar words."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += suggestion(str(value), map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        """Exit with one sentence, without the usage."""
        self.exit(2, f"{self.prog}: {printable(message)}\nsee `{self.prog} --help`\n")


class CommandParser(HelpfulParser):
    """The parser of one command; it imports the command's module when it parses."""

    def fill(self) -> None:
        """Add the arguments of the command."""
        module = importlib.import_module(f"jcmspl.cli.{self.prog.split()[-1]}")
        self.description = textwrap.fill(" ".join((module.__doc__ or "").split()), 79)
        self.epilog = f"examples:\n{module.EXAMPLES}"
        module.add_arguments(self)
        self.add_argument("--debug", action="store_true", help="show the traceback of an error")
        self.add_argument(
            "-v", "--verbose", action="count", default=0, help="log steps and their times to stderr; -vv: all details"
        )
        self.add_argument("--log-level", metavar="LEVEL", choices=LOG_LEVELS, help="log level: debug, info, ...")
        self.set_defaults(run=module.run, loads=module.LOADS)
        self.usage = " ".join([self.prog, "[options]", *filter(None, map(_usage, self._actions))])

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the arguments of the command, then parse."""
        self.fill()
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unknown arguments: {' '.join(rest)}{suggestion(rest[0], self._option_string_actions)}")
        return found, rest


def _usage(action: argparse.Action) -> str:
    """Return an argument as it stands in the usage: positional ones and required options; nothing for others."""
    name = str(action.metavar or action.dest)
    if not action.option_strings:
        return f"[{name}]" if action.nargs == "?" else f"[{name} ...]" if action.nargs == "*" else name
    return f"{action.option_strings[0]} {name}" if action.required else ""


def parser() -> tuple[argparse.ArgumentParser, dict[str, CommandParser]]:
    """Return the parser of the whole command line and those of the commands."""
    whole = HelpfulParser(
        prog="jcmspl",
        description="Zero-shot recognition: recognise classes that had no training examples, from vectors that "
        "describe them.",
        epilog="Start with `jcmspl demo`. Every command has examples: `jcmspl fit --help`.",
    )
    whole.add_argument("--version", action="version", version=f"jcmspl {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=CommandParser)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    return whole, commands.choices
