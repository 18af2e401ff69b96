import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from jcmspl import ClassKFold, ClassSearchCV, ClassTable
from jcmspl.methods import ALE, LATEM, SJE, DeViSE
from jcmspl.support.exceptions import DivergenceError
from support.animals import make_zoo
from support.linear import ZOO, assert_map, explicit_data, fit
from support.ranking import textbook_fit

FEW = {"max_iter": 3, "validation_fraction": 0.0}
ALL = [DeViSE, SJE, ALE, LATEM]


@pytest.mark.parametrize("average", [True, False])
def test_oracle_one_sample_after_the_other(average):
    X, _, S, codes = explicit_data(ZOO)
    model = fit(DeViSE(2.0, margin=0.3, average=average, random_state=5, **FEW))
    assert_map(model, textbook_fit(model, X.T, S.T, codes)[0])


def test_two_classes_are_the_same_to_all():
    zoo = make_zoo(n_seen=2)
    first, *others = (fit(method(0.7, **FEW), zoo) for method in (DeViSE, SJE, ALE))
    for other in others:
        assert_array_equal(other.visual_projection_, first.visual_projection_)
        assert_array_equal(other.losses_, first.losses_)
    assert_array_equal(
        fit(LATEM(0.7, n_maps=1, feature_normalisation="sample_l2+center", **FEW), zoo).maps_[0],
        first.visual_projection_,
    )


@pytest.mark.parametrize("method", ALL)
def test_no_loss_means_no_margin_is_violated(method):
    zoo = make_zoo(noise=0.05)
    model = fit(method(1.0, margin=0.2, average=False, max_iter=5000, validation_fraction=0.0), zoo)
    assert model.losses_[-1] == 0
    assert model.n_iter_ == len(model.losses_) < 5000
    if method is DeViSE:
        model.set_params(metric="dot")
    scores = model.decision_function(zoo.X, candidates="seen")
    own = scores[np.arange(len(zoo.y)), np.searchsorted(zoo.seen, zoo.y)]
    others = np.where(scores == own[:, None], -np.inf, scores).max(axis=1)
    assert (own - others).min() >= 0.2 * (1 - 1e-12)


def test_a_search_over_metrics_fits_each():
    """The metric decides after how many epochs classes that were held out are recognised best."""
    zoo = make_zoo(n_seen=9, noise=2.0)
    X, y, options = zoo.X, zoo.y, {"class_vectors": zoo.table}
    different = 0
    for seed in range(4):
        base = DeViSE(max_iter=9, tol=0, n_iter_no_change=9, random_state=seed, progress=False)
        search = ClassSearchCV(base, {"metric": ["cosine", "dot"]}, cv=3, extend=0).fit(X, y, **options)
        fits = []
        for number, params in enumerate(search.cv_results_["params"]):
            for fold, (train, test) in enumerate(ClassKFold(3).split(X, y)):
                fits.append(clone(base).set_params(**params).fit(X[train], y[train], **options))
                score = fits[-1].score(X[test], y[test], candidates=sorted(set(y[test].tolist())))
                assert search.cv_results_[f"split{fold}_test_score"][number] == pytest.approx(score, abs=1e-12)
        different += any(a.n_iter_ != b.n_iter_ for a, b in zip(fits[:3], fits[3:], strict=True))
    assert different


def test_only_the_ratio_of_margin_and_learning_rate_matters():
    one, two = fit(DeViSE(0.1, margin=0.5)), fit(DeViSE(0.4, margin=2.0))
    assert_allclose(4 * one.visual_projection_, two.visual_projection_, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "with_vectors"), [(method, True) for method in ALL] + [(method, False) for method in ALL[:3]]
)
def test_names_of_classes_do_not_matter(method, with_vectors):
    """Other names bring the classes into another order; without vectors, another dimension is theirs."""
    zoo = make_zoo(n_seen=8, noise=1.0)
    names = dict(zip(sorted(zoo.table), np.random.default_rng(0).permutation(sorted(zoo.table)).tolist(), strict=True))
    other = zoo._replace(
        y=np.array([names[label] for label in zoo.y]),
        table=ClassTable([names[label] for label in zoo.table], zoo.table.vectors),
    )
    one, two = (
        clone(method(max_iter=8)).fit(some.X, some.y, class_vectors=some.table if with_vectors else None)
        for some in (zoo, other)
    )
    assert one.n_iter_ == two.n_iter_
    found = two.decision_function(zoo.X, candidates=[names[label] for label in zoo.seen])
    assert_allclose(found, one.decision_function(zoo.X, candidates=zoo.seen), atol=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_seeds(method):
    one, same, other = (fit(method(random_state=seed)) for seed in (1, np.random.RandomState(1), 2))
    arrays = [np.asarray(next(iter(model.arrays_.values()))) for model in (one, same, other)]
    assert_array_equal(arrays[0], arrays[1])
    assert not np.allclose(arrays[0], arrays[2])


def test_the_number_of_epochs_is_found_by_holding_out_classes():
    zoo = make_zoo(n_seen=12, noise=1.0)
    model = fit(SJE(max_iter=40, n_iter_no_change=3), zoo)
    assert 1 <= model.n_iter_ < 40
    assert fit(SJE(max_iter=7, validation_fraction=0.0), zoo).n_iter_ == 7
    for fraction in (0.5, 1.0):  # never more than half of the classes, but not none, either
        assert fit(SJE(max_iter=40, n_iter_no_change=3, validation_fraction=fraction), zoo).n_iter_ < 40
    few = make_zoo(n_seen=4, noise=3.0)  # too few to hold any out
    assert fit(SJE(max_iter=7), few).n_iter_ == 7


def test_the_mean_over_all_steps_is_another_model():
    last, mean = fit(DeViSE(average=False, **FEW)), fit(DeViSE(**FEW))
    assert not np.allclose(last.visual_projection_, mean.visual_projection_)
    assert_array_equal(last.losses_, mean.losses_)


@pytest.mark.parametrize("method", ALL)
def test_a_weight_multiplies_the_step(method):
    """So that the same weight for all samples is a factor of learning_rate, and one for those of a class is not."""
    weighed = fit(method(0.5, **FEW), sample_weight=np.full(len(ZOO.y), 4.0))
    plain, balanced = fit(method(2.0, **FEW)), fit(method(0.5, class_weight={ZOO.seen[0]: 9.0}, **FEW))
    first, second, third = (next(iter(model.arrays_.values())) for model in (weighed, plain, balanced))
    assert_allclose(first, second, atol=1e-12)
    assert_allclose(weighed.losses_, plain.losses_)
    assert not np.allclose(first, third)


def test_progress_is_told(monkeypatch):
    told = []

    def update(self, done, note=""):
        if self.what == "fitting":
            told.append(done)

    monkeypatch.setattr("jcmspl.support.progress.Progress.update", update)
    zoo = make_zoo(n_seen=8)
    model = DeViSE(max_iter=6, n_iter_no_change=100).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    assert told == sorted(told)
    assert 6 + model.n_iter_ >= len(told) >= model.n_iter_
    assert told[-1] <= 6


def test_a_descent_that_overflows_says_so():
    with pytest.raises(DivergenceError, match="lower it, or scale the data down"):
        fit(DeViSE(1e307, margin=1e307, max_iter=50, feature_normalisation="none", validation_fraction=0.0))
