"""``jcmspl completion``: completion of the command line by the shell."""

from __future__ import annotations

import argparse
from typing import Any

from jcmspl.cli._models import MethodNames

DESCRIPTION = "Print the script that makes a shell complete `jcmspl`, its options and their values."
EXAMPLES = """\
  eval "$(jcmspl completion bash)"                         in ~/.bashrc
  eval "$(jcmspl completion zsh)"                          in ~/.zshrc, after compinit
  jcmspl completion fish > ~/.config/fish/completions/jcmspl.fish
  jcmspl completion tcsh > ~/.jcmspl.csh                   and `source ~/.jcmspl.csh` in ~/.tcshrc
"""
LOADS = ()
_FILES = ("FILE", "DATA", "MODEL", "SAMPLES")
_FOLDERS = ("FOLDER",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import shtab

    from jcmspl.cli._parser import parser

    whole = parser(filled=True)
    for action in _actions(whole):
        if action.metavar in _FILES:
            action.complete = shtab.FILE
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY
        if isinstance(action.choices, MethodNames):
            action.choices = tuple(action.choices)  # the first of them is looked at by some versions of shtab
    print(shtab.complete(whole, arguments.shell))


def _actions(parser: argparse.ArgumentParser) -> list[Any]:
    """Return what can be given on the command line, commands and their arguments alike."""
    found: list[Any] = []
    for action in parser._actions:
        found.append(action)
        if isinstance(action, argparse._SubParsersAction):
            found += [inner for command in action.choices.values() for inner in _actions(command)]
    return found
