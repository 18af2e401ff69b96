"""Print the script that makes a shell complete `jcmspl`, its options and their values."""

from __future__ import annotations

import argparse

EXAMPLES = """\
  eval "$(jcmspl completion bash)"                         in ~/.bashrc
  eval "$(jcmspl completion zsh)"                          in ~/.zshrc, after compinit
  jcmspl completion fish > ~/.config/fish/completions/jcmspl.fish
  jcmspl completion tcsh > ~/.jcmspl.csh                   and `source ~/.jcmspl.csh` in ~/.tcshrc
"""
LOADS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import shtab

    from jcmspl.cli._parser import COMMANDS, parser

    completed = {**dict.fromkeys(("FILE", "DATA", "MODEL", "SAMPLES"), shtab.FILE), "FOLDER": shtab.DIRECTORY}
    whole, commands = parser()
    for name, command in commands.items():
        command.fill()
        command.description = COMMANDS[name]  # shells have room for a line
        for action in command._actions:
            if action.metavar in completed:
                action.complete = completed[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(whole, arguments.shell))
