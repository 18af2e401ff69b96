import numpy as np

from jcmspl import ClassTable
from jcmspl.data.samples import SamplesInMemory
from jcmspl.model_selection.folds import FoldedData


def folded(X):
    labels = [f"class {i % 4}" for i in range(len(X))]
    classes = sorted(set(labels))
    table = ClassTable(classes, np.eye(4))
    return FoldedData(SamplesInMemory(X, labels), classes, table, [np.array([0, 1]), np.array([2, 3])], 2)


def test_the_first_of_equal_normalisations_stays_in_its_place():
    names = ["auto_power+center", "center", "power+center", "sample_l2"]
    positive = np.random.default_rng(0).random((12, 3))
    # roots are taken where no feature is negative, so "auto_power" equals "power" there and nothing elsewhere
    with_roots, without = (
        ["auto_power+center", "center", "sample_l2"],
        ["auto_power+center", "power+center", "sample_l2"],
    )
    for X, expected in ((positive, with_roots), (positive - 0.5, without)):
        data = folded(X)
        data.read(names, progress=False)
        assert data.without_duplicates(names) == expected
