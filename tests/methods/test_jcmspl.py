"""JCMSPL is the model of the textbook."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl import JCMSPL
from jcmspl.data.normalisation import NORMALISATIONS
from jcmspl.methods import ESZSL
from jcmspl.methods.jcmspl import WEIGHTS
from support.animals import make_zoo
from support.linear import fit
from support.normalised import explicit
from support.reference import PAPER_SETTINGS, class_codes, jcmspl_iterations


@pytest.mark.parametrize("init", ["codes", "random"])
@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_oracle_the_textbook_end_to_end(normalisation, init):
    zoo = make_zoo()
    names = zoo.seen
    n_iter, lambdas = 6, (0.3, 0.7, 0.2, 0.4)
    model = JCMSPL(
        semantic_match=lambdas[0],
        class_match=lambdas[1],
        visual_reconstruction=lambdas[2],
        semantic_reconstruction=lambdas[3],
        feature_normalisation=normalisation,
        class_normalisation=normalisation,
        init=init,
        random_state=5,
        max_iter=n_iter,
        tol=0,
    ).fit(zoo.X, zoo.y, class_vectors=zoo.table)

    codes = np.array([names.index(label) for label in zoo.y])
    X, Y = explicit(normalisation, zoo.X), explicit(normalisation, zoo.table.select(names).vectors)
    H = class_codes(6, 6)
    start = H if init == "codes" else np.random.default_rng(5).standard_normal((6, 6))
    *_, (A, B, _, terms) = jcmspl_iterations(X.T, Y[codes].T, H[:, codes], start[:, codes], lambdas, n_iter)
    assert_allclose(model.visual_projection_, A, rtol=0, atol=1e-8 * np.abs(A).max())
    assert_allclose(model.semantic_projection_ @ Y.T, B @ Y.T, rtol=0, atol=1e-8 * np.abs(B @ Y.T).max())
    assert_allclose(model.objective_terms_[-1], terms, rtol=1e-8)
    assert model.n_iter_ == n_iter == len(model.objective_)


@pytest.mark.parametrize("data_set", PAPER_SETTINGS)
def test_the_papers_form_has_its_weights_and_normalises_nothing(data_set):
    model = JCMSPL.paper(data_set.lower(), max_iter=3, tol=0, random_state=5)
    lambdas = PAPER_SETTINGS[data_set]
    assert tuple(getattr(model, name) for name in WEIGHTS) == lambdas
    assert (model.space, JCMSPL.paper().max_iter) == ("semantic", 35)
    zoo = make_zoo()
    model = fit(model, zoo)
    codes = np.array([zoo.seen.index(label) for label in zoo.y])
    Y = zoo.table.select(zoo.seen).vectors
    start = np.random.default_rng(5).standard_normal((6, 6))
    H = class_codes(6, 6)
    *_, (A, _, _, terms) = jcmspl_iterations(zoo.X.T, Y[codes].T, H[:, codes], start[:, codes], lambdas, 3)
    assert_allclose(model.visual_projection_, A, rtol=0, atol=1e-6 * np.abs(A).max())
    assert_allclose(model.objective_terms_[-1].sum(), np.sum(terms), rtol=1e-6)


def test_the_papers_form_can_be_changed():
    model = JCMSPL.paper("SUN", space="visual", class_match=2)
    assert (model.space, model.class_match, model.semantic_match) == ("visual", 2, 1e-4)
    assert JCMSPL.paper().visual_reconstruction == JCMSPL.paper("CUB").visual_reconstruction == 1e4
    with pytest.raises(ValueError, match="data_set must be one of 'AwA', 'CUB', 'SUN', 'ImNet', but is 'MNIST'"):
        JCMSPL.paper("MNIST")


def test_jcmspl_with_codes_pinned_ranks_as_eszsl():
    """With λ2 large, C = H: A and B are least squares onto the codes, and x'A'By is ESZSL's score for 0/1 labels."""
    zoo = make_zoo(n_attributes=4, n_seen=10)
    plain = {"feature_normalisation": "none", "class_normalisation": "none"}
    pinned = JCMSPL(
        semantic_match=1,
        class_match=1e9,
        max_iter=5,
        tol=0,
        visual_reconstruction=0,
        semantic_reconstruction=0,
        space="concept",
        metric="dot",
        **plain,
    )
    model = fit(pinned, zoo)
    eszsl = fit(ESZSL(0, 0, negative_label=0, **plain), zoo)
    assert_allclose(
        model.decision_function(zoo.X_new, candidates="unseen"),
        eszsl.decision_function(zoo.X_new, candidates="unseen"),
        rtol=1e-4,
        atol=1e-6,
    )
