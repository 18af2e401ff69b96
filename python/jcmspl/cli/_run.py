"""Running a command: parsing, imports, signals, errors as one sentence."""

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

_LONGEST = 2000  # characters of a message; those of libraries may be longer


def main(argv: Sequence[str] | None) -> int:
    """Run the command line, by default with the arguments of the process, and return its exit code."""
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
        # SIGTERM ends a command like an error, so that partial output is removed
        with _handled(signal.SIGTERM, signal.SIG_DFL, lambda *_: sys.exit(TERMINATED), own_process):
            arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output()  # the reader closed the pipe
        return FAILED
    except KeyboardInterrupt:
        if not arguments.debug:
            raise
        sys.excepthook(*sys.exc_info())
        return INTERRUPTED
    except Exception as error:
        from numpy.linalg import LinAlgError

        # errors that users can act on are one sentence, without a traceback
        for_users = (ValueError, TypeError, OSError, ImportError, LinAlgError, MemoryError)
        if arguments.debug or not isinstance(error, for_users):
            raise
        print(f"jcmspl {arguments.command}: {shown(_sentence(error, arguments), _LONGEST)}", file=sys.stderr)
        return FAILED
    return OK


def _log_to_stderr(arguments: argparse.Namespace) -> None:
    """Show the package's log at the chosen level."""
    level = arguments.log_level or ("", "info", "debug")[min(arguments.verbose, 2)]
    if not level:
        return
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("jcmspl")
    logger.handlers[:] = [handler]  # only one, also for a second command in the same process
    logger.setLevel(level.upper())


def _ending_at_once(own_process: bool) -> contextlib.AbstractContextManager[None]:
    """Let Ctrl-C end the process at once during imports, where an exception may be swallowed or printed."""
    return _handled(signal.SIGINT, signal.default_int_handler, _end, own_process)


@contextlib.contextmanager
def _handled(number: signal.Signals, default: Any, handler: Any, own_process: bool) -> Iterator[None]:
    is_main = own_process and threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(number) is not default:
        yield  # the signal is ignored, as SIGINT for background jobs, or has another handler
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, default)


def _give_up_output() -> None:
    """Redirect stdout, so that flushing the rest of the output at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception, arguments: argparse.Namespace) -> str:
    text = str(error)
    if isinstance(error, MemoryError) and not text.startswith("there is not enough memory"):  # not our own message
        inputs = (getattr(arguments, name, None) for name in ("data", "samples", "folder", "text"))
        where = next((f" for {name}" for name in inputs if name), "")
        return f"there is not enough memory{where}" + f" ({text})" * bool(text)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.strerror:  # no filename: standard output
        _give_up_output()
        return f"the output cannot be written: {error.strerror}"
    return text or type(error).__name__


def _end(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"jcmspl: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _shown_by(arguments: argparse.Namespace) -> Any:
    """Return a function that prints each warning once, as a line, unless ``--quiet``."""
    told: set[str] = set()

    def show(message: Any, *_: Any) -> None:
        if str(message) not in told and not getattr(arguments, "quiet", False):
            print(f"note: {shown(message, _LONGEST)}", file=sys.stderr)
        told.add(str(message))

    return show
