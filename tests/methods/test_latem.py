import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.methods import LATEM, DeViSE, SSVoc
from support.animals import make_zoo
from support.linear import ZOO, explicit_data, fit
from support.normalised import explicit
from support.ranking import settled, textbook, textbook_fit

FEW = {"max_iter": 3, "validation_fraction": 0.0}


@pytest.mark.parametrize("n_maps", [2, 3])
def test_oracle_one_sample_after_the_other(n_maps):
    X, _, S, codes = explicit_data(ZOO)
    model = fit(LATEM(2.0, margin=0.3, n_maps=n_maps, random_state=5, feature_normalisation="sample_l2+center", **FEW))
    expected = textbook_fit(model, X.T, S.T, codes, n_maps)
    assert_allclose(model.maps_, expected, atol=1e-10)
    scores = np.max([X.T @ W.T @ S for W in expected], axis=0)
    assert_allclose(model.decision_function(ZOO.X, candidates="seen"), scores, atol=1e-9)


def test_one_map_is_devise():
    one, devise = fit(LATEM(n_maps=1, feature_normalisation="sample_l2+center")), fit(DeViSE(metric="dot"))
    assert_array_equal(one.maps_[0], devise.visual_projection_)
    for candidates in ("seen", "unseen"):
        found = (model.decision_function(ZOO.X_new, candidates=candidates) for model in (one, devise))
        assert_allclose(*found, atol=1e-10)


def test_the_highest_map_counts():
    model = fit(LATEM(n_maps=4, feature_normalisation="sample_l2+center"))
    vectors = model.class_normalisation_.of_rows(ZOO.table.vectors)
    Z = explicit("sample_l2+center", ZOO.X)
    expected = np.max([Z @ W.T @ vectors.T for W in model.maps_], axis=0)
    assert_allclose(model.decision_function(ZOO.X, candidates=list(ZOO.table)), expected, atol=1e-9)
    assert len({W.tobytes() for W in model.maps_}) == 4


def pruned_by_hand(model, X, S, codes, n_maps, share):
    """The maps by textbook steps: those that few samples chose in the first five epochs end there."""
    generator = np.random.RandomState(model.random_state)
    lengths = [np.sqrt(np.mean(np.sum(rows**2, axis=1))) for rows in (X, S)]
    maps = 0.1 * model.margin / np.prod(lengths) * generator.standard_normal((n_maps, S.shape[1], X.shape[1]))
    seed, choices = int(generator.randint(2**31 - 1)), np.zeros(n_maps)
    S, codes, order = settled(X, S, codes)
    for epoch in range(model.max_iter):
        rows = order[generator.permutation(len(order))]
        for step, row in enumerate(rows, start=epoch * len(rows)):
            choices[np.argmax([S[codes[row]] @ W @ X[row] for W in maps])] += 1
            options = {"margin": model.margin, "rate": model.learning_rate, "seed": seed, "first_step": step}
            (maps,), _ = textbook(maps, S, X[[row]], codes[[row]], "any", **options)
        if epoch == 4:
            maps = maps[choices >= share * choices.sum()]
    return maps


def test_oracle_of_pruning():
    zoo = make_zoo(noise=1.5)
    X, _, S, codes = explicit_data(zoo)
    model = LATEM(2.0, margin=0.3, n_maps=5, average=False, max_iter=7, validation_fraction=0.0, random_state=5)
    model.set_params(feature_normalisation="sample_l2+center", pruning=0.15)
    expected = pruned_by_hand(model, X.T, S.T, codes, 5, 0.15)
    assert 1 <= len(expected) < 5
    found = fit(model, zoo)
    assert found.n_iter_ == 7
    assert_allclose(found.maps_, expected, atol=1e-10)


def test_pruning_leaves_a_map_and_waits_for_five_epochs():
    model = LATEM(n_maps=6, pruning=1.0, validation_fraction=0.0)
    assert len(fit(model.set_params(max_iter=4)).maps_) == 6
    assert len(fit(model.set_params(max_iter=6)).maps_) == 1
    assert len(fit(model.set_params(average=False)).maps_) == 1


@pytest.mark.parametrize("model", [LATEM(), SSVoc(metric="cosine")])
def test_samples_that_lie_close_together_are_told_apart(model):
    far = ZOO._replace(X=ZOO.X + 300)
    fitted = fit(model, far)
    assert np.mean(fitted.predict(far.X, candidates="seen") == far.y) > 0.8
