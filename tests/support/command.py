"""Runs the command line as a user does, in a process of its own, and makes what it works on."""

import csv
import subprocess
import sys

import numpy as np

from jcmspl.datasets import load_digits


def jcmspl(*arguments, cwd=None, code=0, **options):
    """Run a command, check its exit code, and return what it printed."""
    command = [sys.executable, "-m", "jcmspl", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, **options)
    assert result.returncode == code, result.stderr
    return result


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
