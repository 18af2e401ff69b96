import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import ClassTable
from jcmspl.data.sources import column_scale

LOOK = {"zebra": [1.0, 1.0], "horse": [0.0, 2.0], "otter": [3.0, 4.0]}
NUMBERS = [[0.0, 0.0, 0.0], [0.0, 0.0, 5e-324], [1e200, 0.0, 0.0]]
TEXT = pd.DataFrame(NUMBERS, index=["otter", "zebra", "horse"], columns=["a", "b", "c"])
JOINED = ClassTable.joined(look=LOOK, text=TEXT)


def test_by_hand():
    table = ClassTable.joined(look=LOOK, text=TEXT)
    assert list(table) == ["zebra", "horse", "otter"]
    half = np.sqrt(0.5)
    assert_allclose(table["zebra"], half * np.array([half, half, 0, 0, 1]))
    assert_allclose(table["horse"], half * np.array([0, 1, 1, 0, 0]))
    assert_allclose(table["otter"], half * np.array([0.6, 0.8, 0, 0, 0]))  # nothing is made of nothing
    assert table.sources == (("look", 2), ("text", 3))
    assert table.attributes == ("look: attribute 0", "look: attribute 1", "text: a", "text: b", "text: c")
    numbered = ClassTable.joined(LOOK, TEXT)
    assert numbered.sources == (("1", 2), ("2", 3))
    assert len(set(numbered.attributes)) == 5
    assert_array_equal(numbered.vectors, table.vectors)


@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    shares=st.lists(st.floats(0, 1e308), min_size=4, max_size=4),
)
def test_inner_products_are_the_mean_of_cosines(seed, widths, shares):
    rng, shares = np.random.default_rng(seed), shares[: len(widths)]
    shares[0] = shares[0] or 1.0
    names = [f"class {i}" for i in range(5)]
    sources = [ClassTable(names, rng.standard_normal((5, width)) * 10.0 ** rng.integers(-5, 5)) for width in widths]
    shuffled = [source.select(rng.permutation(names).tolist()) for source in sources]
    table = ClassTable.joined(*shuffled, shares=shares)
    parts = np.array(shares) / max(shares)
    parts /= parts.sum()
    unit = [source.vectors / np.linalg.norm(source.vectors, axis=1, keepdims=True) for source in sources]
    expected = sum(part * (rows @ rows.T) for part, rows in zip(parts, unit, strict=True))
    found = table.select(names).vectors
    assert_allclose(found @ found.T, expected, atol=1e-12)
    # the parameter of models gives what other shares at the start would have given
    scaled = ClassTable.joined(*shuffled).vectors * column_scale(table.sources, shares)
    assert_allclose(scaled, table.vectors, atol=1e-12)


def test_sources_are_remembered():
    table = JOINED
    given = {"lynx": np.ones(5)}
    for other in (
        table.select(["otter", "zebra"]),
        table.without(["otter"]),
        table.updated(ClassTable.of(given)),
        table.aligned_with(table),
        table.aligned_with(ClassTable.joined(text=TEXT, look=LOOK)).aligned_with(table),
        pickle.loads(pickle.dumps(table)),
        copy.deepcopy(table),
        ClassTable.of(table),
    ):
        assert other.sources == table.sources
    turned = ClassTable.joined(text=TEXT, look=LOOK)
    assert turned.sources == (("text", 3), ("look", 2))
    assert turned.aligned_with(table).select(list(table)) == table
    assert table.select(list(table)) == table != ClassTable(list(table), table.vectors, table.attributes)
    assert ClassTable.of(given).aligned_with(table).sources is None  # taken for joined, as it is
    assert ClassTable.of(LOOK).sources is None
    # where names are missing the order counts, within each source
    unnamed = ClassTable.joined(text=TEXT.set_axis([0, 1, 2], axis=1), look=LOOK).aligned_with(table)
    assert unnamed.select(list(table)) == table
    mixed = ClassTable.joined(text=TEXT[["c", "a", "b"]], look=LOOK).aligned_with(table)
    assert mixed.select(list(table)) == table
    old = ClassTable, (list(table), np.array(table.vectors), table.attributes)  # how pickles were
    assert old[0](*old[1]).sources is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ClassTable.joined(LOOK), ValueError, "two sources at least"),
        (lambda: ClassTable.joined(), ValueError, "two sources at least"),
        (lambda: ClassTable.joined(LOOK, TEXT, **{"2": LOOK}), ValueError, "different names"),
        (lambda: ClassTable.joined(LOOK, np.ones((3, 2))), TypeError, "the source '2' must name its classes"),
        (lambda: ClassTable.joined(LOOK, text=[[1, 2]]), TypeError, "the source 'text' must name its classes"),
        (lambda: ClassTable.joined(LOOK, {**LOOK, "lynx": [1, 2]}), ValueError, "'1' has no .* 1 of the 4 .*'lynx'"),
        (lambda: ClassTable.joined(LOOK, text=TEXT[:2]), ValueError, "'text' has no .* 1 of the 3 .*'horse'"),
        (lambda: ClassTable.joined({1: [1]}, {"1": [1]}), ValueError, "their types differ"),
        (
            lambda: ClassTable.joined(LOOK, TEXT, shares=(1,)),
            ValueError,
            "shares has 1 numbers, .* 2 sources: '1', '2'",
        ),
        (lambda: ClassTable.joined(LOOK, TEXT, shares=(1, -1)), ValueError, "shares must be a finite number of at"),
        (lambda: ClassTable.joined(LOOK, TEXT, shares=(1, np.nan)), ValueError, "shares must be a finite number"),
        (lambda: ClassTable.joined(LOOK, TEXT, shares=(0, 0)), ValueError, "shares must have a number above 0"),
        (lambda: ClassTable.joined(LOOK, TEXT, shares=2), TypeError, "shares must be None or a tuple"),
        (lambda: ClassTable.joined(LOOK, {k: [np.inf] for k in LOOK}), ValueError, "NaN or infinity"),
        (
            lambda: ClassTable(["a"], [[1, 2]], sources=[("x", 1)]),
            ValueError,
            "have 1 columns, but class_vectors has 2",
        ),
        (lambda: ClassTable(["a"], [[1, 2]], sources=[("x", 1), ("x", 1)]), ValueError, "the same name"),
        (lambda: ClassTable(["a"], [[1, 2]], sources=[("x", 0), ("y", 2)]), ValueError, "width of the source 'x'"),
        (
            lambda: ClassTable.joined(a=LOOK, b=TEXT).aligned_with(ClassTable.joined(a=TEXT, b=LOOK)),
            ValueError,
            r"other sources than those of the model: 'a' \(2 attributes\)",
        ),
        (
            lambda: ClassTable.joined(look=LOOK, text=TEXT[["a", "b"]].assign(d=1)).aligned_with(JOINED),
            ValueError,
            "other attributes than those of the model: 'text: d' in place of 'text: c'",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()
