"""Bad and extreme arguments: a sentence that names them, or a sane result."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl import JCMSPL
from jcmspl.methods import ALE, AMP, BZSL, CAPD, DAP, ESZSL, JLSE, LAD, SSE, RidgeVS
from support.animals import make_zoo

ZOO = make_zoo(n_seen=6)
UNHASHABLE = [[1, 2], {}, np.array([1.0])]


@pytest.fixture(scope="module")
def fitted():
    return RidgeVS(progress=False, space="visual").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (ValueError, "n_splits must be from 2", {"n_splits": 0}),
        (ValueError, "n_splits must be from 2", {"n_splits": 1}),
        (TypeError, "n_splits must be a whole number", {"n_splits": "two"}),
        (TypeError, "n_splits must be a whole number, but is True", {"n_splits": True}),
        (TypeError, "held_out must be a share between 0 and 1, but is 'a'", {"held_out": "a"}),
        (ValueError, "held_out must be a finite number", {"held_out": np.nan}),
        (ValueError, "random_state must be a whole number from 0", {"random_state": "a"}),
        (ValueError, "random_state must be a whole number from 0", {"random_state": -1}),
    ],
)
def test_calibrate(model, error, message, options):
    with pytest.raises(error, match=message):
        model.calibrate(ZOO.X, ZOO.y, **options)
    if "held_out" not in options:
        with pytest.raises(error, match=message):
            model.calibrate_rejection(ZOO.X, ZOO.y, **options)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1.0, "sample_weight must be 0 or a number from .* but that of sample 0 is -1"),
        (np.nan, "sample_weight must be 0 or a number from"),
        (np.inf, "sample_weight must be 0 or a number from"),
        (0.0, "none that weighs anything"),
    ],
)
@pytest.mark.parametrize("average", ["class", "sample"])
def test_weights_of_a_score(model, weights, message, average):
    with pytest.raises(ValueError, match=message):
        model.score(ZOO.X, ZOO.y, np.full(len(ZOO.X), weights), candidates="seen", average=average)


@pytest.mark.parametrize("value", UNHASHABLE, ids=str)
def test_what_cannot_be_a_label(model, value):
    with pytest.raises(TypeError, match=r"reject_label holds .* which cannot be a label"):
        model.predict(ZOO.X, candidates="seen", reject=0.0, reject_label=value)
    for name in ("label", "against"):
        with pytest.raises(TypeError, match=f"{name} holds .* which cannot be a label"):
            model.explain(ZOO.X[:2], candidates="seen", **{name: value})


def test_numbers_that_no_float_holds(model):
    for name in ("seen_penalty", "reject"):
        with pytest.raises(ValueError, match=f"{name} must be a finite number, but has 401 digits"):
            model.predict(ZOO.X, candidates="all", **{"seen_penalty": 0.0, name: 10**400})


@pytest.mark.parametrize("value", [np.array([]), np.array([1.0, 2.0]), None, 3])
def test_names_that_are_none(value):
    with pytest.raises(ValueError, match="space must be one of"):
        JCMSPL(space=value).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.mark.parametrize("extreme", [1e200, 1e-200, 5e-324, 1e308])
@pytest.mark.parametrize(
    "make",
    [
        lambda value: JCMSPL(class_kernel="rbf", kernel_width=value),
        lambda value: AMP(width=value),
        lambda value: AMP(posterior_temperature=value),
        lambda value: DAP(posterior_temperature=value),
    ],
)
@pytest.mark.filterwarnings("ignore:the classes:RuntimeWarning")
def test_extreme_widths_and_temperatures_are_limits(make, extreme):
    """Where classes are all alike, all strangers, or posteriors all or nothing."""
    near = 1e12 if extreme > 1 else 1e-12
    scores, limit = (
        make(value).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).predict_proba(ZOO.X_new, candidates="unseen")
        for value in (extreme, near)
    )
    assert np.isfinite(scores).all()
    if extreme < 1 or not hasattr(make(1.0), "posterior_temperature") or isinstance(make(1.0), AMP):
        assert_allclose(scores, limit, atol=1e-6)  # else scores differ by less and less, and at last not at all


@pytest.mark.filterwarnings("ignore:the class vector of:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:the classes:RuntimeWarning")
def test_class_vectors_that_are_all_zero():
    model = CAPD(progress=False).fit(ZOO.X, ZOO.y, class_vectors={name: [0.0] for name in ZOO.table})
    assert not model.decision_function(ZOO.X, candidates="all").any()


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (ESZSL(negative_label="a"), TypeError, "negative_label must be a number"),
        (BZSL(n_bits=True), TypeError, "n_bits must be a whole number"),
        (ALE(learning_rate=1e308, max_iter=3), np.linalg.LinAlgError, "the fit of ALE overflowed"),
        (
            JLSE(visual_ridge=1e308),
            np.linalg.LinAlgError,
            r"the fit of JLSE failed.* in place of visual_ridge=1e\+308$",
        ),
        (
            SSE(class_margin=1e200),
            np.linalg.LinAlgError,
            r"the fit of SSE overflowed.*nearer to 1 .* class_margin=1e\+200$",
        ),
        (
            LAD(class_match=1e308),
            np.linalg.LinAlgError,
            r"the fit of LAD overflowed.*nearer to 1 .* class_match=1e\+308$",
        ),
        (BZSL(n_bits=8, visual_weight=1e308), np.linalg.LinAlgError, "the fit of BZSL overflowed, in its objective"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parameters_of_methods(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(np.abs(ZOO.X), ZOO.y, class_vectors=ZOO.table)


def test_an_overflow_with_usual_parameters_is_one_of_the_data(monkeypatch):
    monkeypatch.setattr(RidgeVS, "_solve", lambda self, moments: np.full((2, 1, 1), np.inf))
    with pytest.raises(np.linalg.LinAlgError, match=r"the fit of RidgeVS overflowed.* values of the data, are too far"):
        RidgeVS().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
