import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import ClassTable
from jcmspl.methods import IAP
from jcmspl.methods.iap import _scores
from jcmspl.model.posteriors import Signatures
from support.linear import ZOO, ZOOS, fit, refuses
from support.posteriors import SHRINKAGE, TEMPERATURE, lda_posterior, normalised, of_logits, scores_of

RNG = np.random.default_rng(0)


@ZOOS
@pytest.mark.parametrize("use_prior", [True, False])
def test_oracle_definition_with_the_posterior_of_scikit_learn(zoo, use_prior):
    model = fit(IAP(shrinkage=SHRINKAGE, posterior_temperature=TEMPERATURE, use_prior=use_prior), zoo)
    Z, vectors = normalised(model, zoo)
    binary = vectors > vectors[:6].mean(axis=0)
    prior = binary[:6].mean(axis=0)
    p = np.clip(lda_posterior(zoo, Z) @ binary[:6], 1e-6, 1 - 1e-6)
    expected = np.zeros((len(Z), len(binary)))
    for attribute in range(binary.shape[1]):
        for number, has in enumerate(binary[:, attribute]):
            share = p[:, attribute] if has else 1 - p[:, attribute]
            before = prior[attribute] if has else 1 - prior[attribute]
            expected[:, number] += np.log(share) - use_prior * np.log(before)
    assert_allclose(scores_of(model, zoo), expected, atol=1e-6)


def scores(known, candidates, logits):
    return _scores(known, candidates, of_logits(len(known.training)), True, logits)


def test_attributes_that_are_classes_are_as_likely_as_these():
    known = Signatures.fitted(np.eye(5), "attribute_mean")
    P = RNG.dirichlet(np.ones(5), size=20)
    expected = known.scores(P, known.training, use_prior=True)
    assert_allclose(scores(known, known.training, np.log(P)), expected)


def test_a_sure_posterior_names_the_class_with_the_same_signature():
    known = Signatures.fitted(RNG.random((5, 12)), "attribute_mean")
    others = 1 - known.training
    found = scores(known, np.concatenate([others, known.training]), 1e4 * np.eye(5))
    assert_array_equal(found.argmax(axis=1), np.arange(5, 10))


def test_a_posterior_that_says_nothing_scores_zero():
    known = Signatures.fitted(RNG.random((5, 12)), "attribute_mean")
    assert_allclose(scores(known, known.training, np.zeros((3, 5))), 0, atol=1e-12)


def test_vectors_that_cannot_be_made_binary():
    table = ClassTable(list(ZOO.table), np.repeat(np.arange(9.0)[:, None], 3, axis=1) * 0 + [1.0, 2.0, 3.0])
    with (
        pytest.warns(RuntimeWarning, match="have the same class vector"),
        pytest.raises(ValueError, match="IAP asks which training classes have an attribute"),
    ):
        fit(IAP(class_normalisation="none"), ZOO._replace(table=table))
    refuses(IAP("median"), "threshold must be one of")
