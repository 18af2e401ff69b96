"""Old names of parameters: every way in which a user may give one still works, and tells the new name."""

import inspect
import pickle
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from jcmspl import JCMSPL, JCMSPLCV, ClassKFold, ClassSearchCV, load
from jcmspl.methods import GDA, RPL, RidgeVS
from jcmspl.model.bilinear import Bilinear
from jcmspl.plots import ClassAccuracyDisplay
from jcmspl.support.calls import KEYWORDS, PARAMETERS, RenamedKeys, accepts_old_keywords, current_names
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, n_unseen=3)
VALUES = {
    "aligned": 0.0,
    "penalty_factors": (1.0, 2.0),
    "prediction_weight": 2.0,
    "seen_bias": 0.5,
    "seen_samples": 0.3,
}


def fitted(model=None):
    return (RidgeVS() if model is None else model).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def renamed(name):
    return pytest.warns(DeprecationWarning, match=f"{name} is now called")


@pytest.mark.parametrize(("old", "new"), PARAMETERS.items())
class TestParameters:
    def test_the_constructor(self, old, new):
        with renamed(old):
            assert getattr(JCMSPL(**{old: VALUES[old]}), new) == VALUES[old]

    def test_set_params(self, old, new):
        with renamed(old):
            assert getattr(JCMSPL().set_params(**{old: VALUES[old]}), new) == VALUES[old]

    def test_attributes(self, old, new):
        model = JCMSPL()
        with renamed(old):
            setattr(model, old, VALUES[old])
        with renamed(old):
            assert getattr(model, old) == getattr(model, new) == model.get_params()[new] == VALUES[old]

    def test_both_names(self, old, new):
        with pytest.raises(TypeError, match=f"{old} is the old name of {new}"), renamed(old):
            JCMSPL(**{old: VALUES[old], new: VALUES[old]})

    def test_only_new_names_are_shown(self, old, new):
        for names in (inspect.signature(JCMSPL).parameters, JCMSPL().get_params(), clone(JCMSPL()).get_params()):
            assert new in names
            assert old not in names
        assert old not in repr(JCMSPL(**{new: VALUES[old]}))

    def test_pickles(self, old, new):
        model = JCMSPL(**{new: VALUES[old]})
        vars(model)[old] = vars(model).pop(new)  # as an earlier version wrote it
        again = pickle.loads(pickle.dumps(model))
        assert getattr(again, new) == VALUES[old]
        assert old not in vars(again)


def test_grids_of_a_search():
    search = ClassSearchCV(RPL(space="visual"), {"alpha": (1.0,), "seen_samples": (0.0, 1.0)}, cv=2, progress=False)
    with renamed("seen_samples"):
        fitted(search)
    assert set(search.best_params_) == {"alpha", "seen_mean_share"}
    with renamed("seen_samples"):
        assert search.best_params_["seen_samples"] == search.best_params_["seen_mean_share"]
    with renamed("param_seen_samples"):
        assert_array_equal(search.cv_results_["param_seen_samples"], search.cv_results_["param_seen_mean_share"])
    with renamed("estimator__seen_bias"):
        assert search.set_params(estimator__seen_bias=0.75).best_estimator_.seen_penalty == 0.75


def test_a_search_of_scikit_learn():
    search = GridSearchCV(RidgeVS(), {"seen_bias": [0.25]}, cv=ClassKFold(2))
    with renamed("seen_bias"):
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert search.best_estimator_.seen_penalty == 0.25


def test_jcmsplcv():
    with renamed("seen_bias"):
        model = JCMSPLCV(seen_bias=0.5)
    assert model.seen_penalty == 0.5
    with renamed("aligned"):
        assert model.set_params(aligned=0.0).cosine_share == 0


def test_keywords():
    model = fitted(RidgeVS(space="visual"))
    expected = model.decision_function(ZOO.X, candidates="all", seen_penalty=0.5)
    with renamed("seen_bias"):
        assert_array_equal(model.decision_function(ZOO.X, candidates="all", seen_bias=0.5), expected)
    for call in (model.predict, model.predict_topk, model.predict_proba, model.explain, model.adapt):
        with renamed("seen_bias"):
            call(ZOO.X_new, candidates="all", seen_bias=0.5)
    with renamed("seen_bias"):
        assert model.recogniser(candidates="all", seen_bias=0.5).bias.any()
    with renamed("seen_bias"):
        model.score(ZOO.X, ZOO.y, candidates="all", seen_bias=0.5)
    with renamed("lost"):
        model.calibrate_rejection(ZOO.X, ZOO.y, lost=0.2)
    with renamed("solve"):
        model.partial_fit(ZOO.X[:3], ZOO.y[:3], solve=False)
    with pytest.raises(TypeError, match="solve is the old name of refit"), renamed("solve"):
        model.partial_fit(ZOO.X[:3], ZOO.y[:3], solve=False, refit=True)
    with pytest.raises(TypeError, match="lost"):
        model.predict(ZOO.X, lost=1)


def test_keywords_of_a_search():
    search = fitted(ClassSearchCV(RidgeVS(), {"alpha": (1.0,)}, cv=2, progress=False))
    with renamed("seen_bias"):
        search.predict(ZOO.X, candidates="all", seen_bias=0.5)
    with renamed("solve"):
        search.partial_fit(ZOO.X[:3], ZOO.y[:3], solve=False)
    with renamed("seen_bias_"):
        assert search.seen_bias_ == 0


def test_keywords_of_a_chart():
    pytest.importorskip("matplotlib")
    with renamed("seen_bias"):
        ClassAccuracyDisplay.from_estimator(fitted(), ZOO.X, ZOO.y, seen_bias=0.0)


def test_the_fitted_attribute():
    model = fitted(RidgeVS(seen_penalty=0.25))
    with renamed("seen_bias_"):
        assert model.seen_bias_ == model.seen_penalty_ == 0.25


def test_model_files_of_earlier_versions(tmp_path):
    """The golden files have old names; here is one with values that are not the defaults."""
    path = tmp_path / "model.safetensors"
    fitted(RPL(space="visual", seen_mean_share=0.3, seen_penalty=0.5)).save(path)
    given = path.read_bytes()
    for new, old in (("seen_mean_share", "seen_samples"), ("seen_penalty", "seen_bias")):
        assert given.count(new.encode()) == 1
        given = given.replace(f'{new}\\"'.encode(), f'{old}\\"'.encode() + b" " * (len(new) - len(old)))
    path.write_bytes(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(path)
    assert (model.seen_mean_share, model.seen_penalty) == (0.3, 0.5)


def test_a_method_with_a_parameter_of_the_old_name_keeps_it():
    @dataclass(kw_only=True, eq=False, repr=False)
    class Own(Bilinear):
        """A method of another package."""

        aligned: float = field(default=0.5)

    assert Own(aligned=0.25).set_params(aligned=0.75).aligned == 0.75
    assert Own().cosine_share == 0


def test_a_parameter_that_a_method_lacks():
    with pytest.raises((TypeError, ValueError), match="aligned"):
        GDA().set_params(aligned=0.3)
    with pytest.raises(TypeError, match="aligned"):
        GDA(aligned=0.3)


def test_the_tables():
    assert not {*PARAMETERS, *KEYWORDS} & {*PARAMETERS.values(), *KEYWORDS.values()}
    with pytest.raises(KeyError, match="other"):
        RenamedKeys(a=1)["other"]
    assert current_names({"aligned": 1}, ["other"]) == {"aligned": 1}
    assert current_names({"aligned": 1}, ["cosine_share"], warn=False) == {"cosine_share": 1}

    @accepts_old_keywords
    def function(*, refit=True):
        return refit

    assert list(inspect.signature(function).parameters) == ["refit"]
    with renamed("solve"):
        assert np.array_equal(function(solve=False), False)
