"""Processes that a test interrupts as Ctrl-C does."""

import contextlib
import signal
import subprocess
import sys


@contextlib.contextmanager
def interruptible(*arguments, **options):
    """Start Python in a process of its own that SIGINT stops, and kill it at the end if it still runs.

    A process whose parent ignores SIGINT ignores it too, and Python leaves it so: under nohup or as a background job of
    a script the tests would wait for ever.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # becomes the system's default in the child
    try:
        process = subprocess.Popen([sys.executable, *map(str, arguments)], text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:  # closes its pipes
        try:
            yield process
        finally:
            process.kill()
