"""Expectations of scikit-learn's checks of estimators that models of this package do not meet, with the reason."""

import os
from functools import partial
from unittest import mock

import scipy
from sklearn.utils import estimator_checks

from jcmspl.methods import CADAVAE, GMMN, JLSE, SSE, VZSL
from jcmspl.methods.cosmo import COSMO
from jcmspl.model.bilinear_ranker import Ranker
from jcmspl.model.posteriors import PosteriorMethod
from jcmspl.networks.network_method import NetworkMethod

NO_PRIORS = (
    "expects a prior: here the weight of a class shapes the projections, and prototypes of all classes are then "
    "compared on equal terms"
)
OTHER_FOLDS = (
    "sets cv to splits of samples, but these searches split classes (test_weights.py has the equivalence with such)"
)

NO_PARTS = "calls partial_fit, which a method that reads samples more than once refuses"
STEPS = "expects a sample of weight 2 to be as one that comes twice, but two steps are not one step of twice the length"
NEGATIVE = "gives negative features to a method that says that it takes none"
TWO_FEATURES = "gives two features that are not negative: of two such that are scaled to length one too little is left"
# Checks that call partial_fit if there is one.
CALLS_PARTIAL_FIT = (
    "check_estimators_partial_fit_n_features",
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
)


# scikit-learn leaves out its checks of the array API unless this is set; it refuses an older SciPy then.
ARRAY_API = {"SCIPY_ARRAY_API": "1"} if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 14) else {}


def expected_failures(estimator):
    parameters = estimator.get_params(deep=False)
    expected = {}
    # of posteriors there are priors, and JLSE has more pairs for some classes
    if "class_weight" in parameters and not isinstance(estimator, (PosteriorMethod, COSMO, JLSE, CADAVAE, VZSL)):
        expected["check_class_weight_classifiers"] = NO_PRIORS
    if "cv" in parameters:
        expected["check_sample_weight_equivalence_on_dense_data"] = OTHER_FOLDS
    if getattr(estimator, "NEEDS", "") == "samples":
        expected |= dict.fromkeys(CALLS_PARTIAL_FIT, NO_PARTS)
    if isinstance(estimator, (Ranker, GMMN)):
        expected["check_sample_weight_equivalence_on_dense_data"] = STEPS
    if isinstance(estimator, SSE):
        expected["check_decision_proba_consistency"] = NEGATIVE
        expected["check_classifiers_train"] = TWO_FEATURES
    return expected


def run_check(check, estimator):
    """Run a check with nothing left out."""
    name, *others = check.args
    if name == "CCA":  # taken for scikit-learn's own, whose y has two columns
        name = "CCA of jcmspl"
    with mock.patch.dict(os.environ, ARRAY_API), mock.patch.object(estimator_checks, *_equal(estimator)):
        check.func(name, estimator, *others, **check.keywords)


def _equal(estimator):
    """Return the name and the value of scikit-learn's comparison: networks are fitted in float32, so by its digits."""
    name = "assert_allclose_dense_sparse"
    compare = getattr(estimator_checks, name)
    in_float32 = isinstance(estimator, NetworkMethod)
    return name, partial(_by_digits_of_float32, compare) if in_float32 else compare


def _by_digits_of_float32(compare, x, y, rtol=1e-7, atol=1e-9, err_msg=""):
    compare(x, y, rtol=max(rtol, 1e-4), atol=max(atol, 1e-5), err_msg=err_msg)
