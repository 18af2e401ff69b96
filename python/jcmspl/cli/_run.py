"""Runs a command: parses, loads what the command needs, tells mistakes in a sentence."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from jcmspl.cli import FAILED, INTERRUPTED, OK, USAGE
from jcmspl.cli._parser import parser


def main(argv: Sequence[str] | None) -> int:
    """Run the command line and return its exit code; without arguments those of the process count."""
    own_process = argv is None
    with _ending_at_once(own_process):
        whole, _ = parser()
        arguments = whole.parse_args(argv)
    if arguments.command is None:
        whole.print_help()
        return USAGE
    warnings.showwarning = _shown_by(arguments)
    try:
        with _ending_at_once(own_process):
            for name in arguments.loads:
                importlib.import_module(name)
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever reads our output has had enough; what is left must not be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        if not arguments.debug:
            raise
        sys.excepthook(*sys.exc_info())
        return INTERRUPTED
    except Exception as error:
        from numpy.linalg import LinAlgError

        # what a user can do something about is told in a sentence, without a traceback
        for_users = (ValueError, TypeError, OSError, ImportError, LinAlgError)
        if arguments.debug or not isinstance(error, for_users):
            raise
        sentence = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.strerror and error.filename:
            sentence = f"{error.filename}: {error.strerror}"
        print(f"jcmspl {arguments.command}: {sentence}", file=sys.stderr)
        return FAILED
    return OK


@contextlib.contextmanager
def _ending_at_once(own_process: bool) -> Iterator[None]:
    """Let Ctrl-C end the process there and then, while nothing has been done yet.

    An exception in the midst of imports may be swallowed, or shown by whoever it hits.
    """
    is_main = own_process and threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # ignored, as in the background of a shell, or somebody else's
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"jcmspl: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _shown_by(arguments: argparse.Namespace) -> Any:
    """Return what shows a warning: as a line, once, and not at all where quiet is wanted."""
    told: set[str] = set()

    def show(message: Any, *_: Any) -> None:
        if str(message) not in told and not getattr(arguments, "quiet", False):
            print(f"note: {message}", file=sys.stderr)
        told.add(str(message))

    return show
