"""Data sets: rows that are counted as they are read, and a comparison."""

import numpy as np
from numpy.testing import assert_array_equal


class Counting:
    """Rows that are made when they are asked for; remembers how many were at most."""

    def __init__(self, n, m):
        self.shape, self.dtype, self.most = (n, m), np.dtype(np.float32), 0

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        numbers = np.arange(len(self))[rows]
        self.most = max(self.most, len(numbers))
        return np.random.default_rng(0).random(self.shape[1], dtype=np.float32) + numbers[:, None].astype(np.float32)


def same(a, b):
    """Whether two data sets have the same content, whatever holds it."""
    assert_array_equal(a.X[:], b.X[:])
    assert a.X.dtype == b.X.dtype
    assert a.y.tolist() == b.y.tolist()
    assert a.classes == b.classes
    assert a.parts.keys() == b.parts.keys()
    for part in a.parts:
        assert_array_equal(a.parts[part], b.parts[part])
