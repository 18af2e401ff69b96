"""The layout of the SAE demonstration files, recreated from its description."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl.datasets import DatasetError, load_dataset, load_sae
from support.sae_files import SEEN_VECTORS, UNSEEN_VECTORS, content, written

BOTH = pytest.mark.parametrize("version", ["5", "7.3"])


@BOTH
def test_classes_come_from_the_rows_of_the_training_vectors(tmp_path, version):
    data = load_sae(written(tmp_path / "awa_demo.mat", version))
    variables = content()
    assert data.name == "awa_demo"
    assert_array_equal(data.part("train")[0], variables["X_tr"])
    assert_array_equal(data.part("test_unseen")[0], variables["X_te"])
    assert data.y[data.rows("test_unseen")].tolist() == [2, 5, 5, 2, 5]
    # free numbers in the order of first occurrence: rows 2, 0, 1, 3 of the vectors become 1, 3, 4, 6
    assert data.y[data.rows("train")].tolist() == [1, 3, 4, 4, 6, 3, 1, 6, 3, 4]
    assert sorted(data.seen) == [1, 3, 4, 6]
    assert sorted(data.unseen) == [2, 5]
    assert_array_equal(data.classes[5], UNSEEN_VECTORS[0])
    assert_array_equal(data.classes[2], UNSEEN_VECTORS[1])
    for label, vector in zip([1, 3, 4, 6], SEEN_VECTORS[[2, 0, 1, 3]], strict=True):
        assert_array_equal(data.classes[label], vector)
    assert len(data.rows("test_seen")) == 0
    assert len(data.held_out(0.5).rows("test_seen")) == 1 + 2 + 2 + 1


@BOTH
def test_labels_of_training_samples_count_if_they_are_there(tmp_path, version):
    labels = np.array([13, 11, 12, 12, 14, 11, 13, 14, 11, 12])
    data = load_sae(written(tmp_path / "a.mat", version, train_labels=labels[:, None]))
    assert data.y[data.rows("train")].tolist() == labels.tolist()
    for label in range(11, 15):
        assert_array_equal(data.classes[label], SEEN_VECTORS[label - 11])


def test_ground_truth_stands_in_for_prototypes(tmp_path):
    data = load_dataset(written(tmp_path / "a.mat", S_te_pro=None))
    assert_array_equal(data.classes[5], UNSEEN_VECTORS[1])


NAN = UNSEEN_VECTORS.copy()
NAN[1, 0] = np.nan


@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_te": None, "test_labels": None}, r"lacks X_te, param.test_labels: it holds .*param.testclasses_id"),
        ({"S_te_pro": None, "S_te_gt": None}, r"lacks S_te_pro"),
        ({"X_te": np.ones((4, 6))}, "X_te is 4 x 6, but param.test_labels says that there are 5 rows"),
        ({"X_te": np.ones((5, 7))}, "do not fit together: X_tr is 10 x 6, X_te is 5 x 7"),
        ({"X_tr": np.ones((6, 10))}, "X_tr is 6 x 10, but S_tr says that there are 10 rows"),
        ({"S_te_pro": UNSEEN_VECTORS.T}, "S_te_pro is 3 x 2, but param.testclasses_id says that there are 2 rows"),
        ({"S_te_pro": NAN}, "NaN or infinity in the vectors of 1 classes: 2$"),
        ({"test_labels": np.c_[[2, 5, 5, 2, 9]]}, "param.test_labels holds 9, which is not in param.testc"),
        ({"train_labels": np.arange(9)[:, None]}, "param.train_labels has 9 labels, but S_tr has 10 rows"),
        ({"train_labels": np.repeat([1, 5], 5)[:, None]}, "overlap: 5 is in both param.train_labels and param.testcl"),
        ({"train_labels": np.ones((10, 1))}, "rows of S_tr for the class 1 differ"),
    ],
)
def test_bad_content(tmp_path, version, changes, message):
    path = written(tmp_path / "a.mat", version, **changes)
    with pytest.raises(DatasetError, match=message) as caught:
        load_sae(path)
    assert str(path) in str(caught.value)
