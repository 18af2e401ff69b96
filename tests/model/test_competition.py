"""Seen and unseen classes as candidates of the same samples: what score and predict say, and the warning."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from jcmspl import JCMSPL, ClassSearchCV, evaluate, load
from jcmspl.datasets import load_digits
from jcmspl.exceptions import UncalibratedWarning
from jcmspl.methods import RidgeVS
from support.animals import make_zoo

pytestmark = pytest.mark.filterwarnings("error::jcmspl.exceptions.UncalibratedWarning")

ZOO = make_zoo(n_seen=6, noise=0.5)


@pytest.fixture
def model():
    return RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


CALLS = {
    "predict": lambda model, **how: model.predict(ZOO.X_new, **how),
    "predict_topk": lambda model, **how: model.predict_topk(ZOO.X_new, **how),
    "predict_proba": lambda model, **how: model.predict_proba(ZOO.X_new, **how),
    "score": lambda model, **how: model.score([*ZOO.X, *ZOO.X_new], [*ZOO.y, *ZOO.y_new], **how),
    "explain": lambda model, **how: model.explain(ZOO.X_new[:1], **how),
    "recogniser": lambda model, **how: model.recogniser(**how),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_warning_the_first_time(model, call):
    with pytest.warns(UncalibratedWarning, match=r"calibrate\(X, y\).*candidates='unseen'") as caught:
        call(model)
    assert [warning.filename for warning in caught] == [__file__]
    call(model)
    model.predict(ZOO.X_new, candidates="all")


def test_no_warning_where_none_is_due(model):
    for candidates in ("seen", "unseen", ZOO.unseen[:2]):
        model.predict(ZOO.X_new, candidates=candidates)
    model.predict(ZOO.X_new, seen_penalty=0.0)
    model.decision_function(ZOO.X_new)  # chooses nothing
    model.score(ZOO.X_new, ZOO.y_new)
    RidgeVS().fit(ZOO.X, ZOO.y).predict(ZOO.X_new)
    RidgeVS(seen_penalty=0.1).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).predict(ZOO.X_new)
    model.calibrate(ZOO.X, ZOO.y).predict(ZOO.X_new)


def test_again_after_a_fit_or_a_calibration_for_something_else(model):
    with pytest.warns(UncalibratedWarning):
        model.predict(ZOO.X_new)
    model.partial_fit(ZOO.X, ZOO.y).predict(ZOO.X_new)
    model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.warns(UncalibratedWarning):
        model.predict(ZOO.X_new)
    model.calibrate(ZOO.X, ZOO.y).set_params(metric="euclidean")
    with pytest.warns(UncalibratedWarning):
        model.predict(ZOO.X_new)


def test_files_and_copies(model, tmp_path):
    model.save(tmp_path / "model")
    with pytest.warns(UncalibratedWarning):
        load(tmp_path / "model").predict(ZOO.X_new)
    with pytest.warns(UncalibratedWarning):
        model.predict(ZOO.X_new)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.predict(ZOO.X_new)


def test_searches_and_evaluation():
    search = ClassSearchCV(RidgeVS(), {"alpha": (0.1, 1.0)}, cv=2).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.warns(UncalibratedWarning) as caught:
        search.predict(ZOO.X_new)
    assert [warning.filename for warning in caught] == [__file__]
    digits = load_digits()
    evaluate(JCMSPL().fit(digits.chunks("trainval"), class_vectors=digits.classes), digits, progress=False)


def test_score_says_first_what_its_candidates_are(model):
    first = JCMSPL.score.__doc__.splitlines()[0]
    assert "among the classes in y if all are unseen, else among all that the model knows" in first
    of_all = model.predict(ZOO.X_new, seen_penalty=0.0)
    alone = model.predict(ZOO.X_new, candidates="unseen")
    assert (of_all != alone).any()
    shares = [np.mean([np.mean(named[ZOO.y_new == name] == name) for name in ZOO.unseen]) for named in (of_all, alone)]
    assert model.score(ZOO.X_new, ZOO.y_new) == pytest.approx(shares[1])
    assert model.score(ZOO.X_new, ZOO.y_new, candidates="all", seen_penalty=0.0) == pytest.approx(shares[0])


def test_the_user_decides_what_becomes_of_it(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        model.predict(ZOO.X_new)
