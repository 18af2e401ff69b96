"""Made-up files in the layout of the SAE demonstration."""

import numpy as np
from scipy.io import savemat

from support.benchmark_files import write_mat73

SEEN_VECTORS = np.array([[0.1, 0.9, 0.3], [0.8, 0.2, 0.2], [0.5, 0.5, 0.7], [0.05, 0.1, 0.9]])
UNSEEN_VECTORS = np.array([[0.9, 0.9, 0.1], [0.3, 0.1, 0.2]])


def content(**changes):
    """Ten training samples of four classes in no order, five test samples of the classes 2 and 5."""
    rng = np.random.default_rng(0)
    classes = np.array([2, 0, 1, 1, 3, 0, 2, 3, 0, 1])
    param = {"testclasses_id": np.array([[5], [2]]), "test_labels": np.array([[2], [5], [5], [2], [5]])}
    variables = {
        "X_tr": rng.random((10, 6)),
        "X_te": rng.random((5, 6)),
        "S_tr": SEEN_VECTORS[classes],
        "S_te_pro": UNSEEN_VECTORS,
        "S_te_gt": np.flipud(UNSEEN_VECTORS),
    }
    for name, value in changes.items():
        (variables if name[0] in "XS" else param)[name] = value
    variables["param"] = {name: value for name, value in param.items() if value is not None}
    return {name: value for name, value in variables.items() if value is not None}


def written(path, version="5", **changes):
    (savemat if version == "5" else write_mat73)(path, content(**changes))
    return path
