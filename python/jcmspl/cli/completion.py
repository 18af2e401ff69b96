"""Print a shell script that completes commands, options and values of `jcmspl`."""

from __future__ import annotations

import argparse

EXAMPLES = """\
  # bash: add this line to ~/.bashrc
  eval "$(jcmspl completion bash)"

  # zsh: add this line to ~/.zshrc, after compinit
  eval "$(jcmspl completion zsh)"

  # fish
  jcmspl completion fish > ~/.config/fish/completions/jcmspl.fish

  # tcsh: then add `source ~/.jcmspl.csh` to ~/.tcshrc
  jcmspl completion tcsh > ~/.jcmspl.csh
"""
LOADS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish, tcsh")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import shtab

    from jcmspl.cli._parser import COMMANDS, parser

    completed = {**dict.fromkeys(("FILE", "DATA", "MODEL", "SAMPLES"), shtab.FILE), "FOLDER": shtab.DIRECTORY}
    whole, commands = parser()
    for name, command in commands.items():
        command.fill()
        command.description = COMMANDS[name]  # shells show one line
        for action in command._actions:
            if action.metavar in completed:
                action.complete = completed[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(whole, arguments.shell))
