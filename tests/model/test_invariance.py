"""Answers depend on names of classes and on other candidates for a few methods only, as docs/methods.md tells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.methods import AAW
from jcmspl.model import registry
from support.animals import make_zoo
from support.small_networks import small

ZOO = make_zoo(n_seen=7, n_unseen=4, noise=0.8)
ALIGNED = make_zoo(n_seen=7, n_unseen=4, n_attributes=20, noise=0.8, aligned=True)
METHODS = [method for method in registry.methods().values() if method.__module__.startswith("jcmspl.")]
EACH = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
DRAW_CLASSES = {"AAW", "COSMO", "LESD"}
LOOK_AT_CANDIDATES = {"AMP", "COSMO"}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def scores_of(model, rename=lambda name: name, leave_out=0):
    zoo = ALIGNED if type(model).__name__ in ("TextPrototypes", "IdentityRidge") else ZOO
    X, X_new = (np.abs(part) if type(model).__name__ == "SSE" else part for part in (zoo.X, zoo.X_new))
    vectors = {rename(name): zoo.table[name] for name in zoo.table}
    model.fit(X, [rename(name) for name in zoo.y], class_vectors=vectors)
    names = [rename(name) for name in zoo.unseen]
    return model.decision_function(X_new, candidates=names[: len(names) - leave_out])


def largest_difference(found, expected):
    return np.abs(found - expected).max() / np.ptp(expected)


def reversed_order(name):
    return "".join(chr(255 - ord(letter)) for letter in name)


@EACH
def test_names_of_classes(method):
    names = [reversed_order(name) for name in ZOO.seen]
    assert sorted(names) != names or len(names) < 2
    options = {"max_iter": 5} if "max_iter" in method._get_param_names() else {}
    plain, renamed = (scores_of(small(method, progress=False, **options), how) for how in (str, reversed_order))
    if method.__name__ in DRAW_CLASSES:
        assert largest_difference(renamed, plain) > 1e-6  # else the documentation says too much
    else:
        assert_allclose(renamed, plain, atol=1e-6 * np.ptp(plain))


@EACH
def test_other_candidates(method):
    options = {"max_iter": 5} if "max_iter" in method._get_param_names() else {}
    model = small(method, progress=False, **options)
    fewer, all_of_them = scores_of(model, leave_out=1), scores_of(model)
    if method.__name__ in LOOK_AT_CANDIDATES:
        assert largest_difference(all_of_them[:, :-1], fewer) > 1e-6
    else:
        assert_allclose(all_of_them[:, :-1], fewer, atol=1e-9 * np.ptp(fewer))


def test_a_prediction_that_is_aware_of_candidates():
    model = AAW(prediction="aware", max_iter=5, progress=False)
    assert largest_difference(scores_of(model)[:, :-1], scores_of(model, leave_out=1)) > 1e-6
