"""``jcmspl completion``: completion of the command line by the shell."""

from __future__ import annotations

import argparse
from typing import Any

_EXAMPLES = """examples:
  eval "$(jcmspl completion bash)"                         in ~/.bashrc
  eval "$(jcmspl completion zsh)"                          in ~/.zshrc
  jcmspl completion fish > ~/.config/fish/completions/jcmspl.fish
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print the script that makes a shell complete this command",
        description="Print the script that makes a shell complete `jcmspl` and its options.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    words = _words(arguments.parser)
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](words), end="")


def _words(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the options of each command; under "" the commands themselves."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    words = {
        name: sorted(
            option for action in command._actions for option in action.option_strings if option.startswith("--")
        )
        for name, command in commands.choices.items()
    }
    return {"": [*commands.choices, "--help", "--version"], **words}


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, options in words.items() if name)
    return f"""_jcmspl() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(words[""])}" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _jcmspl jcmspl
"""


def _zsh(words: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(words)


def _fish(words: dict[str, list[str]]) -> str:
    names = [word for word in words[""] if not word.startswith("-")]
    lines = [f"complete -c jcmspl -n __fish_use_subcommand -f -a '{' '.join(names)}'"]
    for name in names:
        lines += [
            f"complete -c jcmspl -n '__fish_seen_subcommand_from {name}' -l {option[2:]}" for option in words[name]
        ]
    return "\n".join(lines) + "\n"
