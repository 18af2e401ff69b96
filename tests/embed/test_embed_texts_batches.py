"""Anything that a function embeds."""

import numpy as np
import pytest

from jcmspl import embed


class Tensor:
    """As one of torch, on another device and with a gradient."""

    def __init__(self, values):
        self.values = values

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return self.values


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_sizes(size):
    seen = []
    items = np.arange(14.0).reshape(7, 2)
    found = embed.batches(items, lambda batch: seen.append(len(batch)) or batch * 2, size=size)
    np.testing.assert_array_equal(found, items * 2)
    assert sum(seen) == 7
    assert max(seen) == min(size, 7)


@pytest.mark.parametrize("items", [["a", "bb"], ("a", "bb"), (text for text in ("a", "bb")), {"a": 1, "bb": 2}])
def test_items_of_any_kind(items):
    found = embed.batches(items, lambda batch: [[len(text)] for text in batch], size=1)
    assert found.tolist() == [[1], [2]]
    assert found.dtype == np.float64


def test_tensors():
    found = embed.batches([1, 2], lambda batch: Tensor(np.ones((len(batch), 3), dtype=np.float16)))
    assert (found.shape, found.dtype) == ((2, 3), np.float32)


@pytest.mark.parametrize(
    ("items", "function", "sentence"),
    [
        ([], lambda batch: batch, "no items"),
        ([1, 2], lambda batch: np.ones((1, 3)), r"each of the 2 items .* shape of its result is \(1, 3\)"),
        ([1, 2], lambda batch: np.ones((2, 0)), "each of the 2 items"),
        ([1, 2], lambda batch: [[1, np.inf], [0, 0]], "the embedding of item 0 has"),
        (range(4), lambda batch: np.ones((2, 1 + batch[0])), "of 1 values first and of 3 from item 2"),
    ],
)
def test_mistakes(items, function, sentence):
    with pytest.raises(ValueError, match=sentence):
        embed.batches(items, function, size=2)


def test_errors_of_the_function_are_its_own():
    with pytest.raises(ZeroDivisionError):
        embed.batches([1], lambda batch: 1 / 0)
