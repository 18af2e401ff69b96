"""Statistics of a file, read a block at a time, against NumPy's product of what is in memory already."""

import tempfile
import time
from functools import lru_cache

import numpy as np

from jcmspl.core import Statistics
from jcmspl.data.sample_digest import SampleDigest
from question import Contestants, Question, Target
from samples import assert_equal, labelled_samples

ROWS, CHUNKS, FEATURES, CLASSES = 8000, 50, 1024, 50


@lru_cache(maxsize=1)
def prepare() -> Contestants:
    chunk, labels, _ = labelled_samples(ROWS, FEATURES, 1, CLASSES)
    scales = 2.0 ** (np.arange(CHUNKS) % 4)  # so that no chunk can stand for its neighbour; powers of 2 do not round
    file = _written(scale * chunk for scale in scales)
    all_labels = np.tile(labels, CHUNKS)
    chunk = chunk.astype(np.float32).astype(np.float64)

    def ours():
        return Statistics.from_samples(file, all_labels, CLASSES)

    def peer():
        for _ in range(CHUNKS):
            chunk.T @ chunk

    def check():
        assert_equal("gram", ours().gram, np.sum(scales**2) * (chunk.T @ chunk), 1e-12)

    return Contestants(ours=ours, peer=peer, check=check)


def digest() -> Contestants:
    """Hash samples of CUB's shape, as every fit does, against their statistics."""
    X, labels, _ = labelled_samples(7051, 1280, 312, 150)
    X = X.astype(np.float32)

    def check():
        assert len(SampleDigest.of(X)) == len(np.unique(X, axis=0)), "two samples have one hash"

    return Contestants(
        ours=lambda: SampleDigest.of(X), peer=lambda: Statistics.from_samples(X, labels, 150), check=check
    )


def halves() -> Contestants:
    """Read samples of 16 bits, CUB's shape, against the same samples in float32."""
    X, labels, _ = labelled_samples(8855, 1024, 312, 150)
    half = X.astype(np.float16)
    single = half.astype(np.float32)

    def check():
        ours, peer = Statistics.from_samples(half, labels, 150), Statistics.from_samples(single, labels, 150)
        assert_equal("gram", ours.gram, peer.gram, 1e-13)

    return Contestants(
        ours=lambda: Statistics.from_samples(half, labels, 150),
        peer=lambda: Statistics.from_samples(single, labels, 150),
        check=check,
        clock=time.process_time,
    )


def _written(chunks) -> np.memmap:
    """Return a memory map of float32 rows; its file, in TMPDIR, has no name and goes when the map does."""
    with tempfile.TemporaryFile() as file:
        for chunk in chunks:
            chunk.astype(np.float32).tofile(file)
        file.flush()
        return np.memmap(file, dtype=np.float32, mode="r", shape=(CHUNKS * ROWS, FEATURES))


_TASK = "Statistics of a mapped float32 file, 400,000 x 1024"

QUESTIONS = [
    Question("stream-speed", f"{_TASK} / NumPy float64 X.T @ X in memory", Target("speed", 0.7), prepare, rounds=3),
    Question("stream-memory", f"{_TASK}: peak anonymous memory", Target("memory", 300), prepare),
    Question("stream-digest", "hashes of 7,051 x 1280 float32 / their statistics", Target("time", 0.05), digest),
    Question("stream-float16", "statistics of 8,855 x 1024 float16 / float32, CPU time", Target("time", 1.15), halves),
]


def test_stream(time_side):
    time_side()
