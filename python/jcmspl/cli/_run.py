"""Runs a command: parses, loads what the command needs, tells mistakes in a sentence."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from jcmspl.cli import FAILED, INTERRUPTED, OK, TERMINATED, USAGE
from jcmspl.cli._parser import parser
from jcmspl.support.shown import shown

_LONGEST = 2000  # characters of a message, whatever a library may say


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
    _log_to_stderr(arguments)
    try:
        with _ending_at_once(own_process):
            for name in arguments.loads:
                importlib.import_module(name)
        with _ending_in_order(own_process):
            arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()  # whoever reads it has had enough
        return FAILED
    except KeyboardInterrupt:
        if not arguments.debug:
            raise
        sys.excepthook(*sys.exc_info())
        return INTERRUPTED
    except Exception as error:
        from numpy.linalg import LinAlgError

        # what a user can do something about is told in a sentence, without a traceback
        for_users = (ValueError, TypeError, OSError, ImportError, LinAlgError, MemoryError)
        if arguments.debug or not isinstance(error, for_users):
            raise
        print(f"jcmspl {arguments.command}: {shown(_sentence(error, arguments), _LONGEST)}", file=sys.stderr)
        return FAILED
    return OK


def _log_to_stderr(arguments: argparse.Namespace) -> None:
    """Show what the package logs, as far as it is asked for."""
    level = arguments.log_level or ("", "info", "debug")[min(arguments.verbose, 2)]
    if not level:
        return
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("jcmspl")
    logger.handlers[:] = [handler]  # a second command in the same process does not tell everything twice
    logger.setLevel(level.upper())


def _ending_at_once(own_process: bool) -> contextlib.AbstractContextManager[None]:
    """Let Ctrl-C end the process there and then, while nothing has been done yet.

    An exception in the midst of imports may be swallowed, or shown by whoever it hits.
    """
    return _handled(signal.SIGINT, signal.default_int_handler, _end, own_process)


def _ending_in_order(own_process: bool) -> contextlib.AbstractContextManager[None]:
    """Let SIGTERM end a command as an error does: what is half written goes."""
    return _handled(signal.SIGTERM, signal.SIG_DFL, _leave, own_process)


@contextlib.contextmanager
def _handled(number: signal.Signals, default: Any, handler: Any, own_process: bool) -> Iterator[None]:
    is_main = own_process and threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(number) is not default:
        yield  # ignored, as SIGINT in the background of a shell, or somebody else's
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, default)


def _leave(*_: Any) -> None:
    raise SystemExit(TERMINATED)


def _give_up_output() -> None:
    """See to it that what is left of the output is not flushed at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception, arguments: argparse.Namespace) -> str:
    text = str(error)
    if isinstance(error, MemoryError) and not text.startswith("there is not enough memory"):  # else it names the file
        inputs = (getattr(arguments, name, None) for name in ("data", "samples", "folder", "text"))
        where = next((f" for {name}" for name in inputs if name), "")
        return f"there is not enough memory{where}" + f" ({text})" * bool(text)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.strerror:  # files have names, this has not
        _give_up_output()
        return f"the output cannot be written: {error.strerror}"
    return text or type(error).__name__


def _end(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"jcmspl: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _shown_by(arguments: argparse.Namespace) -> Any:
    """Return what shows a warning: as a line, once, and not at all where quiet is wanted."""
    told: set[str] = set()

    def show(message: Any, *_: Any) -> None:
        if str(message) not in told and not getattr(arguments, "quiet", False):
            print(f"note: {shown(message, _LONGEST)}", file=sys.stderr)
        told.add(str(message))

    return show
