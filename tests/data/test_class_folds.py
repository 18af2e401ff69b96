import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jcmspl import ClassKFold


@given(
    st.lists(st.integers(0, 9), min_size=4, max_size=60).filter(lambda y: len(set(y)) >= 3),
    st.integers(2, 3),
    st.integers(1, 3),
)
def test_each_class_is_held_out_once_a_repeat_and_never_on_both_sides(y, n_splits, n_repeats):
    y = np.array(y)
    cv = ClassKFold(n_splits, n_repeats=n_repeats, random_state=3)
    folds = list(cv.split(y, y))
    assert len(folds) == cv.get_n_splits() == n_splits * n_repeats
    held_out = []
    for train, test in folds:
        assert not set(y[train]) & set(y[test])
        assert sorted([*train, *test]) == list(range(len(y)))
        held_out += sorted(set(y[test].tolist()))
    assert sorted(held_out) == sorted(sorted(set(y.tolist())) * n_repeats)
    sizes = [len(set(y[test].tolist())) for _, test in folds]
    assert max(sizes) - min(sizes) <= 1


def test_folds_depend_on_the_seed_and_not_on_the_order_of_samples():
    y = np.array(list("aabbccddeeff"))
    order = np.random.default_rng(0).permutation(len(y))

    def held_out(labels, seed):
        return [sorted(set(labels[test].tolist())) for _, test in ClassKFold(3, random_state=seed).split(None, labels)]

    assert held_out(y, 1) == held_out(y, 1) == held_out(y[order], 1)
    assert held_out(y, 1) != held_out(y, 2)
    plain = [sorted(set(y[test].tolist())) for _, test in ClassKFold(3, shuffle=False).split(None, y)]
    assert plain == [["a", "d"], ["b", "e"], ["c", "f"]]


def test_repeats_differ():
    y = np.repeat(np.arange(20), 2)
    folds = [tuple(test) for _, test in ClassKFold(4, n_repeats=2).split(None, y)]
    assert len(set(folds)) == 8


def test_bad_input():
    with pytest.raises(ValueError, match="too few for 5 folds: lower n_splits"):
        next(ClassKFold(5).split(None, [1, 2, 3]))
    with pytest.raises(ValueError, match="needs y"):
        next(ClassKFold().split([1, 2]))
    with pytest.raises(ValueError, match="n_splits must be from 2"):
        ClassKFold(1)
