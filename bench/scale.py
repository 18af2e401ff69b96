"""Fits of files with millions of rows: one process against two workers of dask on the same cores.

It writes files of float32 (4 GB for a million rows) into a temporary folder, fits a model to 1, 2 and 4 million rows of
them, and says what it took, what was read and what travels. ``--rows 0.1`` is a quick look.
"""

import argparse
import logging
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from jcmspl import JCMSPL
from jcmspl.datasets import open_rows
from jcmspl.support.machine import usable_cores

ROWS_OF_A_FILE, FEATURES, ATTRIBUTES, CLASSES = 50_000, 1024, 300, 1000
# What is measured is reading and reducing; solving takes as long with any number of rows.
MODEL = {"class_match": float("inf"), "progress": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", metavar="MILLIONS", type=float, nargs="+", default=[1, 2, 4])
    parser.add_argument("--folder", help="where the files go (default: TMPDIR)")
    parser.add_argument("--repeats", metavar="N", type=int, default=1, help="fit this often and take the best time")
    arguments = parser.parse_args()
    n_files = [max(2, round(1e6 * millions / ROWS_OF_A_FILE)) for millions in arguments.rows]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder, two_workers():
        files = written(Path(folder), max(n_files))
        print(f"{usable_cores()} cores; {FEATURES} features, {CLASSES} classes, {ATTRIBUTES} attributes, float32")
        print("rows       file GB  one process s  two workers s  ratio  GB/s  MB sent by a partition")
        for n in n_files:
            print(line(files[:n], arguments.repeats), flush=True)


def written(folder: Path, n_files: int) -> list[Path]:
    """Write files of samples around the means of classes, each of its own."""
    means = np.random.default_rng(0).standard_normal((CLASSES, FEATURES), dtype=np.float32)
    files = []
    for number in range(n_files):
        rng = np.random.default_rng(number + 1)
        samples = rng.standard_normal((ROWS_OF_A_FILE, FEATURES), dtype=np.float32)
        samples += means[labels(1)]
        files.append(folder / f"features-{number}.npy")
        np.save(files[-1], samples)
    os.sync()
    return files


def labels(n_files: int) -> np.ndarray:
    """Return the labels of the rows of some files."""
    return np.tile(np.arange(ROWS_OF_A_FILE) % CLASSES, n_files)


def line(files: list[Path], repeats: int) -> str:
    """Fit both ways, see that they agree, and tell what it took."""
    rows, y = open_rows(files), labels(len(files))
    table = dict(enumerate(np.random.default_rng(1).random((CLASSES, ATTRIBUTES))))
    X = rows.to_dask()
    seconds, models = {}, {}
    for _ in range(repeats):
        for side, samples in (("process", rows), ("workers", X)):
            started = time.perf_counter()
            models[side] = JCMSPL(**MODEL).fit(samples, y, class_vectors=table)
            seconds[side] = min(seconds.get(side, np.inf), time.perf_counter() - started)
    assert models["process"].statistics_.allclose(models["workers"].statistics_)
    gigabytes = len(rows) * FEATURES * 4 / 1e9
    sent = len(pickle.dumps(models["workers"].statistics_)) / 1e6
    return (
        f"{len(rows):<10,} {gigabytes:7.1f}  {seconds['process']:13.1f}  {seconds['workers']:13.1f}  "
        f"{seconds['workers'] / seconds['process']:5.2f}  {gigabytes / seconds['workers']:4.2f}  {sent:.1f}"
    )


@contextmanager
def two_workers() -> Iterator[None]:
    """Start two workers, each a process with one thread."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    options = {"host": "127.0.0.1", "dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster, Client(cluster):
        yield


if __name__ == "__main__":
    main()
