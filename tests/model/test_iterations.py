"""Methods that iterate say whether they came to an end."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl import load
from jcmspl.methods import AAW, BZSL, JLSE, LAD, LESAE, SSE, SCoRe, SemanticSoftmax, SSVoc, SynCHinge
from support.animals import make_zoo

ZOO, RECTIFIED = (make_zoo(n_seen=8, rectified=rectified) for rectified in (False, True))
METHODS = [
    AAW(),
    BZSL(n_bits=64),
    JLSE(loss="squared_hinge"),
    JLSE(loss="hinge"),
    LAD(),
    LESAE(),
    SSE(),
    SCoRe(),
    SemanticSoftmax(),
    SSVoc(),
    SynCHinge(),
]
EACH = pytest.mark.parametrize("model", METHODS, ids=repr)


def fit(model, **parameters):
    zoo = RECTIFIED if isinstance(model, SSE) else ZOO
    return clone(model).set_params(progress=False, **parameters).fit(zoo.X, zoo.y, class_vectors=zoo.table)


@EACH
def test_it_says_when_it_stops_early(model, tmp_path):
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 iterations, before it converged"):
        stopped = fit(model, max_iter=1)
    assert not stopped.converged_
    stopped.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert not again.converged_
    assert again.n_iter_ == stopped.n_iter_ == len(stopped.objective_)


@EACH
def test_it_says_nothing_when_it_ends_or_is_to_take_so_many(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ended = fit(model, tol=0.9, max_iter=50)
        fit(model, tol=0, max_iter=2)
    assert ended.converged_
    assert ended.n_iter_ < 50
    assert np.isfinite(ended.objective_).all()


def test_a_closed_form_has_converged():
    model = fit(JLSE(loss="squared"), max_iter=1)
    assert model.converged_
    assert model.n_iter_ == 1
