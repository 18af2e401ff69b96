import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import ClassSearchCV, ClassTable
from jcmspl.methods import SJE
from support.linear import ZOO, ZOOS, assert_map, explicit_data, fit
from support.ranking import textbook_fit

FEW = {"margin": 0.3, "max_iter": 3, "validation_fraction": 0.0, "random_state": 5}
OTHER = ClassTable(list(ZOO.table), np.random.default_rng(7).standard_normal((ZOO.table.n_classes, 5)))
JOINED = ZOO._replace(table=ClassTable.joined(look=ZOO.table, text=OTHER))


@ZOOS
@pytest.mark.parametrize("average", [True, False])
def test_oracle_one_sample_after_the_other(zoo, average):
    X, _, S, codes = explicit_data(zoo)
    model = fit(SJE(2.0, margin=0.3, average=average, max_iter=3, validation_fraction=0.0, random_state=5), zoo)
    assert_map(model, textbook_fit(model, X.T, S.T, codes)[0])


@pytest.mark.parametrize("shares", [None, (3, 1)])
def test_oracle_of_separate_sources(shares):
    """The scores of each source by itself, with vectors as long as the joined ones, weighted by their shares."""
    X, *_, codes = explicit_data(JOINED)
    model = fit(SJE(2.0, separate_sources=True, source_shares=shares, **FEW), JOINED)
    S = model.class_normalisation_.of_rows(JOINED.table.select(ZOO.seen).vectors)
    expected, total = 0.0, 0.0
    for own in (S[:, :8], S[:, 8:]):
        share = np.sum(own**2) / np.sum(S**2)
        alone = own / np.sqrt(share)
        W = textbook_fit(model, X.T, alone, codes)[0]
        expected, total = expected + share * (X.T @ W.T @ alone.T), total + share
    assert total == pytest.approx(1)
    assert_allclose(model.decision_function(ZOO.X, candidates="seen"), expected, atol=1e-9)
    assert len(model.losses_) == model.n_iter_ > 3


def test_one_source_is_not_separate():
    one, two = (fit(SJE(separate_sources=separate, **FEW)) for separate in (True, False))
    assert_array_equal(one.visual_projection_, two.visual_projection_)
    silent = fit(SJE(separate_sources=True, source_shares=(1, 0), **FEW), JOINED)
    assert_array_equal(silent.visual_projection_[8:], 0)
    assert len(silent.losses_) == 3


def test_a_search_knows_the_sources():
    grid = {"separate_sources": (True, False), "source_shares": ((3, 1), (1, 3))}
    search = ClassSearchCV(SJE(max_iter=3, progress=False), grid, cv=2, extend=0, progress=False)
    search.fit(ZOO.X, ZOO.y, class_vectors=JOINED.table)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 9))) > 1


def test_a_kernel_does_not_go_with_separate_sources():
    with pytest.raises(ValueError, match="class_kernel='rbf' mixes the sources"):
        fit(SJE(separate_sources=True, class_kernel="rbf"), JOINED)
