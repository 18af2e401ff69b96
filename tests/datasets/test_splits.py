"""Splits by fractions and by names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from jcmspl import ClassTable
from jcmspl.datasets import Dataset, DatasetError, make_split

Y = np.repeat([f"c{i}" for i in range(10)], 10)


def labels_in(parts, name, y=Y):
    return sorted(set(y[parts[name]].tolist()))


def test_shares():
    parts = make_split(Y, unseen=0.3, test_seen=0.2, val=0.25)
    assert len(labels_in(parts, "test_unseen")) == 3
    assert len(labels_in(parts, "val")) == 2  # of the 7 seen ones
    assert len(labels_in(parts, "train")) == 5
    assert len(labels_in(parts, "test_seen")) == 7
    sizes = {name: len(rows) for name, rows in parts.items()}
    assert sizes == {"train": 40, "val": 16, "test_seen": 14, "test_unseen": 30}


def test_names():
    parts = make_split(Y, unseen=["c3", "c1"], val={"c9"}, test_seen=0)
    assert labels_in(parts, "test_unseen") == ["c1", "c3"]
    assert labels_in(parts, "val") == ["c9"]
    assert len(parts["test_seen"]) == 0
    assert len(make_split(Y, unseen=[], val=0)["train"]) == 80


def test_the_seed_decides():
    assert_array_equal(make_split(Y)["train"], make_split(Y)["train"])
    different = {tuple(labels_in(make_split(Y, random_state=seed), "test_unseen")) for seed in range(20)}
    assert len(different) > 5


@given(st.permutations(range(100)), st.integers(0, 100))
def test_classes_do_not_depend_on_the_order_of_samples(order, seed):
    shuffled = Y[list(order)]
    a, b = make_split(Y, random_state=seed), make_split(shuffled, random_state=seed)
    for name in a:
        assert labels_in(a, name) == labels_in(b, name, shuffled)
        assert len(a[name]) == len(b[name])


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=60),
    st.floats(0, 0.99),
    st.floats(0, 0.99),
    st.floats(0, 0.99),
    st.integers(0, 10**6),
)
def test_any_split_makes_a_data_set_or_says_why_not(y, unseen, test_seen, val, seed):
    table = ClassTable(range(7), np.eye(7))
    try:
        parts = make_split(y, table, unseen=unseen, test_seen=test_seen, val=val, random_state=seed)
    except DatasetError as error:
        assert "none is left for training" in str(error)  # noqa: PT017 - or it works
        return
    data = Dataset("any", np.ones((len(y), 1)), y, table, parts)  # which checks everything
    assert sum(len(rows) for rows in data.parts.values()) == len(y)
    assert (len(data.unseen) > 0) == (unseen > 0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"unseen": ["c1", "yak"]}, DatasetError, "unseen names classes that have no samples to choose from: 'yak'"),
        ({"unseen": ["c1"], "val": ["c1"]}, DatasetError, "val names classes that have no samples .*: 'c1'"),
        ({"unseen": sorted(set(Y))}, DatasetError, "of 10 classes 10 are unseen and 0 for validation: none is left"),
        ({"unseen": "c1"}, TypeError, "unseen must be a share or a list of labels"),
        ({"unseen": 1.0}, ValueError, "the share of unseen classes must be at least 0 and less than 1"),
        ({"test_seen": -1}, ValueError, "the share of samples must be"),
        ({"classes": {"c1": [1.0]}}, DatasetError, "no class vectors for 9 of the 10 classes in y"),
        ({"random_state": -1}, ValueError, "random_state must be from 0"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        make_split(Y, **options)
