"""Runs the command line, and makes what it works on."""

import contextlib
import csv
import io
import logging
import os
import subprocess
import sys
import traceback
import warnings
from types import SimpleNamespace
from unittest import mock

import numpy as np

from jcmspl.cli import main
from jcmspl.datasets import load_digits

# what a terminal that is none is taken for
_NO_TERMINAL = {"COLUMNS": "80", "LINES": "24"}
# warnings that Python hides unless asked to show them
_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

# what no user is to see
_OF_NUMPY = "overflow|underflow|divide by zero|invalid value|Mean of empty|Degrees of freedom"


def jcmspl_process(*arguments, cwd=None, code=0, **options):
    """Run a command as a user does, in a process of its own, check its exit code, and return what it printed."""
    command = [sys.executable, "-m", "jcmspl", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, **options)
    assert result.returncode == code, result.stderr
    return result


def jcmspl(*arguments, cwd=None, code=0):
    """Do the same in this process, which takes a tenth of the time."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        _in_folder(cwd),
        _logger_kept(),
        mock.patch.dict(os.environ, _NO_TERMINAL),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        for category in _FOR_DEVELOPERS:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("error", _OF_NUMPY, RuntimeWarning)
        try:
            ended = main([str(argument) for argument in arguments])
        except SystemExit as end:
            ended = end.code
        except Exception:
            traceback.print_exc()
            ended = 1
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]
    assert ended == code, printed[1]
    return SimpleNamespace(stdout=printed[0], stderr=printed[1])


@contextlib.contextmanager
def _in_folder(folder):
    before = os.getcwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _logger_kept():
    logger = logging.getLogger("jcmspl")
    handlers, level = logger.handlers[:], logger.level
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)


def fit_digits(folder):
    """Return the path of a model of the digits."""
    path = folder / "digits.safetensors"
    jcmspl("fit", "digits", "-o", path, "--calibrate")
    return path


def write_own_data(folder):
    """Write data of one's own: features, labels, class vectors and a split in files of the simplest kinds."""
    digits = load_digits()
    np.save(folder / "features.npy", np.asarray(digits.X, dtype=np.float32))
    (folder / "labels.txt").write_text("\n".join(digits.y) + "\n")
    with open(folder / "classes.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", *digits.classes.attributes])
        for name in digits.classes:
            writer.writerow([name, *digits.classes[name]])
    parts = np.full(len(digits.X), "unused", dtype=object)
    for part, rows in digits.parts.items():
        parts[rows] = part
    (folder / "split.csv").write_text("part\n" + "\n".join(parts) + "\n")
    return folder
