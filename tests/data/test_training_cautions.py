"""Class vectors that can be learnt from, but are hardly what was meant."""

import numpy as np
import pandas as pd
import pytest

from jcmspl import ClassSearchCV, ClassTable
from jcmspl.methods import RidgeVS
from support.animals import make_zoo

ZOO = make_zoo()
VECTORS = np.random.default_rng(0).random((9, 6)) + 0.1
Y = np.repeat(np.arange(6), 15)


def test_a_zero_vector_is_told_of_by_name():
    empty = {**ZOO.attributes, "ghost": np.zeros(8)}
    with pytest.warns(RuntimeWarning, match="the class vector of 'ghost' is all zero") as caught:
        model = RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=empty)
    assert [warning.filename for warning in caught] == [__file__]
    model.predict(ZOO.X, candidates="unseen")
    model = RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.warns(RuntimeWarning, match="the class vector of 'shade' is all zero"):
        model.add_classes({"shade": np.zeros(8)})
    with pytest.warns(RuntimeWarning, match="the class vector of 'spirit' is all zero"):
        model.predict(ZOO.X, class_vectors={"spirit": np.zeros(8), "yeti": np.ones(8)})


@pytest.mark.parametrize("make", [RidgeVS, lambda: ClassSearchCV(RidgeVS(), {"alpha": (1.0,)}, cv=2)])
def test_an_array_that_may_be_the_wrong_way_round(make):
    """6 classes with 9 attributes each, given as 9 rows: y holds the classes 0 to 5, and both ways fit."""
    with pytest.warns(
        RuntimeWarning, match=r"9 rows and 6 columns, and y holds the classes up to 5: .*class_vectors\.T"
    ):
        make().fit(ZOO.X, Y, class_vectors=VECTORS)
    make().fit(ZOO.X, Y, class_vectors=VECTORS.T)
    make().fit(ZOO.X, Y, class_vectors=VECTORS[:6])  # a square one cannot be told
    make().fit(ZOO.X, Y, class_vectors=ClassTable(range(9), VECTORS, [f"trait {i}" for i in range(6)]))


def test_a_table_that_is_the_wrong_way_round():
    with pytest.raises(ValueError, match=r"no class vectors for 1 of the 6 classes.*pass its transpose"):
        RidgeVS().fit(ZOO.X, Y, class_vectors=VECTORS[:5])
    frame = pd.DataFrame(ZOO.table.vectors, index=list(ZOO.table), columns=ZOO.table.attributes)
    with pytest.raises(ValueError, match=r"no class vectors for 6 of the 6 classes.*pass its transpose"):
        RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=frame.T)
    RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=frame)
