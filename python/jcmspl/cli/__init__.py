"""The command line: ``jcmspl``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jcmspl.cli import bench, compare, completion, convert, demo, evaluate, fit, info, predict, reproduce, tune

_COMMANDS = (demo, fit, predict, evaluate, tune, compare, reproduce, convert, info, bench, completion)

#: What a user can do something about: told in a sentence, without a traceback.
_USER_ERRORS = (ValueError, TypeError, OSError, ImportError, np.linalg.LinAlgError)

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    import jcmspl

    main_parser = argparse.ArgumentParser(
        prog="jcmspl",
        description="Zero-shot recognition: name classes never seen in training, from vectors that describe them.",
        epilog="Start with `jcmspl demo`. Every command has examples: `jcmspl fit --help`.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    main_parser.add_argument("--version", action="version", version=f"jcmspl {jcmspl.__version__}")
    commands = main_parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for module in _COMMANDS:
        command = module.add_parser(commands)
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.set_defaults(run=module.run, parser=main_parser)
    return main_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    main_parser = parser()
    arguments = main_parser.parse_args(argv)
    if arguments.command is None:
        main_parser.print_help()
        return USAGE
    warnings.showwarning = _shown_by(arguments)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever reads our output has had enough; what is left must not be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        if arguments.debug:
            raise
        print("jcmspl: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except _USER_ERRORS as error:
        if arguments.debug:
            raise
        print(f"jcmspl {arguments.command}: {_sentence(error)}", file=sys.stderr)
        return FAILED
    return OK


def _shown_by(arguments: argparse.Namespace) -> Any:
    """Return what shows a warning: as a line, once, and not at all where quiet is wanted."""
    told: set[str] = set()

    def show(message: Any, *_: Any) -> None:
        if str(message) not in told and not getattr(arguments, "quiet", False):
            print(f"note: {message}", file=sys.stderr)
        told.add(str(message))

    return show


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
