"""The search along the path on which JCMSPL is ridge regression."""

import copy
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, JCMSPLCV, ClassKFold, ClassTable
from jcmspl.methods import TextPrototypes
from jcmspl.methods.jcmspl import WEIGHTS
from jcmspl.model_selection import path
from jcmspl.model_selection.grid import next_value
from jcmspl.model_selection.path import PREDICTION_WEIGHTS, SHARES
from jcmspl.model_selection.search import is_clearly_better
from model_selection.test_cross_validation import plain_loop
from support.animals import make_zoo
from support.searches import split_scores

ZOO = make_zoo(n_seen=10, noise=0.9, per_class=12)


@pytest.fixture(scope="module")
def search():
    return JCMSPLCV(cv=5, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def tried(search, **fixed):
    return [params for params in search.cv_results_["params"] if fixed.items() <= params.items()]


def is_on_path(params):
    return params["class_match"] == np.inf == params["visual_reconstruction"]


class TestSteps:
    def test_starts_with_all_normalisations_and_no_kernel(self, search):
        first = tried(search, class_kernel="linear", class_match=np.inf)
        normalisations = {(params["feature_normalisation"], params["whitening_shrinkage"]) for params in first}
        # no roots are taken of these samples, so that one of the names means the same as the first
        assert normalisations == {(path.FEATURES[0], b) for b in path.SHRINKAGES} | {(path.FEATURES[2], 5.0)}
        assert {params["semantic_reconstruction"] for params in first} >= set(path.PENALTIES)

    def test_roots_are_left_out_where_they_would_be_taken(self):
        zoo = ZOO._replace(X=np.abs(ZOO.X))
        model = JCMSPLCV(cv=3, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
        assert set(model.cv_results_["param_feature_normalisation"]) == set(path.FEATURES)

    def test_then_kernels_with_the_best_normalisation(self, search):
        results = search.cv_results_
        linear = [i for i, p in enumerate(results["params"]) if p["class_kernel"] == "linear" and is_on_path(p)]
        best = results["params"][max(linear, key=lambda i: results["mean_test_score"][i])]
        kernels = [p for p in results["params"] if p["class_kernel"] != "linear" and is_on_path(p)]
        assert {(p["class_kernel"], p["kernel_width"]) for p in kernels} == {
            ("poly2", 1.0),
            *itertools.product(["rbf"], path.WIDTHS),
        }
        for name in ("feature_normalisation", "whitening_shrinkage"):
            assert {params[name] for params in kernels} == {best[name]}

    def test_then_other_weights_and_spaces(self, search):
        beside = [params for params in search.cv_results_["params"] if not is_on_path(params)]
        assert len(beside) == len(path.BESIDE) * 3
        assert {params["space"] for params in beside} == {"visual", "semantic", "concept"}
        assert {params["space"] for params in search.cv_results_["params"] if is_on_path(params)} == {"visual"}

    def test_not_beside_the_path_with_few_classes(self):
        model = JCMSPLCV(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.n_splits_ == 25
        assert all(is_on_path(params) for params in model.cv_results_["params"])

    def test_scores_are_those_of_a_plain_loop(self, search):
        scores = split_scores(search)
        for i in range(0, len(scores), 7):
            params = search.cv_results_["params"][i]
            expected = plain_loop(JCMSPL(max_iter=35, progress=False).set_params(**params), ClassKFold(5), ZOO)
            assert_allclose(scores[i], expected, atol=0.02 if not is_on_path(params) else 1e-12, err_msg=str(params))

    def test_goes_on_where_the_best_lies_at_an_end(self):
        rng = np.random.default_rng(0)
        table = ClassTable(ZOO.seen, rng.standard_normal((10, 3)))  # which say nothing of the samples
        model = JCMSPLCV(cv=5, extend=2, progress=False).fit(ZOO.X, ZOO.y, class_vectors=table)
        found = set(model.cv_results_["param_semantic_reconstruction"])
        none = JCMSPLCV(cv=5, extend=0, progress=False).fit(ZOO.X, ZOO.y, class_vectors=table)
        assert set(none.cv_results_["param_semantic_reconstruction"]) == set(path.PENALTIES)
        assert len(found) <= len(path.PENALTIES) + 2

    @pytest.mark.parametrize(
        ("values", "value", "expected"),
        [([1, 10], 10, 100), ([1, 10], 1, 0.1), ([1, 10, 100], 10, None), ([5], 5, None), ([0, 1], 1, None)],
    )
    def test_a_step_further(self, values, value, expected):
        assert next_value(values, value) == expected

    def test_nothing_is_given_up(self, search):
        halved = JCMSPLCV(cv=5, halving=True, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert (halved.cv_results_["iterations"] == 35).all()
        assert halved.best_params_ == search.best_params_


class TestChoice:
    def test_of_all_that_are_about_as_good_the_one_nearest_to_the_start_is_chosen(self, search):
        def distance(params):
            decades = [params["semantic_reconstruction"], params["whitening_shrinkage"] / 5, params["kernel_width"]]
            named = {"feature_normalisation": path.FEATURES[0], "class_kernel": "linear"}
            other = sum(params[name] != value for name, value in named.items())
            return sum(abs(np.log10(one)) for one in decades) + 0.5 * other + 5 * (not is_on_path(params))

        scores = split_scores(search)
        best = scores[search.cv_results_["mean_test_score"].argmax()]
        good = np.array([not is_clearly_better(best, own, 5) for own in scores])
        distances = np.array([distance(params) for params in search.cv_results_["params"]])
        assert good[search.best_index_]
        assert not good.all()
        assert distances[search.best_index_] == pytest.approx(distances[good].min())

    def test_the_best_if_that_is_wanted(self):
        model = JCMSPLCV(cv=5, choose="best", progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.best_score_ == model.cv_results_["mean_test_score"].max()

    def test_repeats_do_not_count_as_further_folds(self):
        scores, others = np.array([0.6, 0.5, 0.7, 0.5]), np.array([0.5, 0.5, 0.5, 0.5])
        gains = scores - others
        assert is_clearly_better(scores, others, 4)
        assert gains.mean() < gains.std(ddof=1) / 1
        assert not is_clearly_better(scores, others, 1)
        assert not is_clearly_better(others, others, 4)

    def test_the_same_every_time_and_for_any_order(self, search):
        order = np.random.default_rng(1).permutation(len(ZOO.X))
        again = JCMSPLCV(cv=5, n_jobs=1, progress=False).fit(ZOO.X[order], ZOO.y[order], class_vectors=ZOO.table)
        assert again.best_params_ == search.best_params_
        # beside the path the descent leaves saddle points along rounding errors
        on_path = [is_on_path(params) for params in search.cv_results_["params"]]
        assert_allclose(split_scores(again)[on_path], split_scores(search)[on_path])

    def test_is_a_plain_model(self, search):
        plain = JCMSPL(max_iter=35, **search.best_params_).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert_allclose(search.decision_function(ZOO.X_new), plain.decision_function(ZOO.X_new), atol=1e-9)


class TestWhatIsNamed:
    def test_weights_make_a_grid(self):
        model = JCMSPLCV(class_match=(1, 100), semantic_match=1, extend=0, cv=3, max_iter=3, progress=False)
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        grid = JCMSPL.GRID
        expected = 2 * len(grid["visual_reconstruction"]) * len(grid["semantic_reconstruction"]) * 3
        assert len(model.cv_results_["params"]) == expected
        assert set(model.cv_results_["param_class_kernel"]) == {"linear"}

    def test_normalisations_and_kernels_limit_the_path(self):
        named = {"feature_normalisation": "sample_l2+center", "class_kernel": "rbf", "kernel_width": 0.7}
        model = JCMSPLCV(**named, cv=5, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        for name, value in named.items():
            assert set(model.cv_results_[f"param_{name}"]) == {value}

    def test_all_widths_and_shrinkages_that_are_named_are_tried(self):
        named = {"class_kernel": "rbf", "kernel_width": (0.7, 1.4)}
        model = JCMSPLCV(**named, cv=3, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert set(model.cv_results_["param_kernel_width"]) == {0.7, 1.4}
        named = {"feature_normalisation": ("sample_l2+center", "center+whiten"), "whitening_shrinkage": (2, 7)}
        model = JCMSPLCV(**named, class_kernel="linear", cv=3, progress=False)
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert set(model.cv_results_["param_whitening_shrinkage"]) == {2, 7}

    def test_parameters_can_be_set_again(self, search):
        copied = copy.copy(search)
        assert copied.set_params(**copied.get_params()).cosine_share == "auto"
        assert copied.set_params(cosine_share=0.0).best_estimator_.cosine_share == 0
        assert copied.set_params(cosine_share="auto").best_estimator_.cosine_share == 0
        assert (
            copied.set_params(seen_mean_share=0.3).set_params(seen_mean_share="auto").best_estimator_.seen_mean_share
            == "auto"
        )

    def test_a_space(self):
        model = JCMSPLCV(space="semantic", cv=5, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert set(model.cv_results_["param_space"]) == {"semantic"}


class TestEvidence:
    @pytest.fixture
    def aligned(self):
        """Samples around their class vectors, which a map of them would have to find out."""
        rng = np.random.default_rng(3)
        vectors = rng.standard_normal((14, 30))
        y = np.repeat(np.arange(14), 12)
        X = vectors[y] + 1.3 * rng.standard_normal((len(y), 30))
        return X, y, vectors, y < 8

    @pytest.mark.filterwarnings("ignore::jcmspl.exceptions.AlignmentWarning")
    def test_a_share_of_the_cosine(self, aligned):
        X, y, vectors, seen = aligned
        model = JCMSPLCV(progress=False).fit(X[seen], y[seen], class_vectors=vectors)
        cosine = TextPrototypes().fit(X[seen], y[seen], class_vectors=vectors)
        assert model.best_params_["cosine_share"] in ("auto", *SHARES[1:])
        assert model.cosine_share_ > 0
        assert model.score(X[~seen], y[~seen]) >= cosine.score(X[~seen], y[~seen]) - 0.03
        named = JCMSPLCV(progress=False, cosine_share=0.0).fit(X[seen], y[seen], class_vectors=vectors)
        assert "cosine_share" not in named.best_params_
        assert named.best_estimator_.cosine_share == 0
        assert model.score(X[~seen], y[~seen]) > named.score(X[~seen], y[~seen]) + 0.05

    def test_all_settings_whiten_where_encoders_are_aligned(self, aligned):
        """Held-out classes live by the cosine; what classes with samples need they do not tell."""
        X, y, vectors, seen = aligned
        model = JCMSPLCV(progress=False).fit(X[seen], y[seen], class_vectors=vectors)
        assert all(name.endswith("whiten") for name in model.cv_results_["param_feature_normalisation"])
        shuffled = JCMSPLCV(progress=False).fit(X[seen], y[seen], class_vectors=vectors[:, ::-1])
        assert not all(name.endswith("whiten") for name in shuffled.cv_results_["param_feature_normalisation"])

    def test_no_cosine_where_vectors_are_shuffled(self, aligned):
        X, y, vectors, seen = aligned
        columns = np.random.default_rng(0).permutation(30)
        model = JCMSPLCV(progress=False).fit(X[seen], y[seen], class_vectors=vectors[:, columns])
        assert model.cosine_share_ == 0

    def test_none_where_there_cannot_be_one(self, search):
        assert ZOO.X.shape[1] != ZOO.table.n_attributes
        assert search.best_params_["cosine_share"] == "auto"
        assert search.alignment_ is None
        assert search.cosine_share_ == 0

    def test_the_weight_of_predictions(self, search):
        assert search.best_params_["prediction_count"] in PREDICTION_WEIGHTS
        rng = np.random.default_rng(0)
        table = ClassTable(ZOO.seen, rng.standard_normal((10, 3)))  # predictions are worth nothing
        model = JCMSPLCV(cv=5, progress=False).fit(ZOO.X, ZOO.y, class_vectors=table)
        assert model.best_params_["prediction_count"] == min(PREDICTION_WEIGHTS)
        few = np.concatenate([np.flatnonzero(ZOO.y == name)[:4] for name in ZOO.seen])
        small = JCMSPLCV(cv=5, progress=False).fit(ZOO.X[few], ZOO.y[few], class_vectors=ZOO.table)
        assert small.best_params_["prediction_count"] == JCMSPL.prediction_count

    def test_one_sample_far_away_changes_nothing(self, search):
        X = ZOO.X.copy()
        X[0] *= 1e12
        model = JCMSPLCV(cv=5, progress=False).fit(X, ZOO.y, class_vectors=ZOO.table)
        assert model.best_params_ == search.best_params_

    def test_ctrl_c_leaves_the_defaults(self, monkeypatch, search):
        def pressed(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr("jcmspl.model_selection.jcmspl_cv.chosen_share", pressed)
        with pytest.warns(RuntimeWarning, match="interrupted: the setting is chosen"):
            model = JCMSPLCV(cv=5, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.interrupted_
        assert "cosine_share" not in model.best_params_
        assert model.best_params_.items() <= search.best_params_.items()

    def test_a_share_that_is_named_needs_samples_as_they_are(self, aligned):
        X, y, vectors, seen = aligned
        model = JCMSPLCV(cosine_share=0.5, progress=False).fit(np.abs(X[seen]), y[seen], class_vectors=np.abs(vectors))
        assert model.best_estimator_.cosine_share == 0.5


class TestEnsemble:
    def test_averages_the_best_of_the_path(self):
        model = JCMSPLCV(cv=5, ensemble=3, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        factors = model.best_params_["ensemble_factors"]
        assert len(factors) == 3
        assert factors[0] == 1
        alike = [
            (params["semantic_reconstruction"], score)
            for params, score in zip(model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True)
            if all(params[n] == model.best_params_[n] for n in params if n != "semantic_reconstruction")
        ]
        best = sorted((score for value, score in alike if value != model.best_params_["semantic_reconstruction"]))[-2:]
        chosen = [
            score for value, score in alike if value / model.best_params_["semantic_reconstruction"] in factors[1:]
        ]
        assert_array_equal(sorted(chosen), best)
        assert len(model.recogniser(candidates="unseen").weights) == len(ZOO.unseen)

    def test_zeros_are_not_averaged(self):
        weights = dict.fromkeys(("semantic_match", "class_match", "visual_reconstruction"), 1.0)
        model = JCMSPLCV(**weights, semantic_reconstruction=(0, 1.0), ensemble=3, extend=0, cv=3, progress=False)
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.best_params_["ensemble_factors"] is None

    def test_off_by_default(self, search):
        assert "ensemble_factors" not in search.best_params_
        with pytest.raises(ValueError, match="ensemble must be from 1"):
            JCMSPLCV(ensemble=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_without_class_vectors_the_defaults_are_fitted():
    with pytest.warns(UserWarning, match="nothing is tuned"):
        model = JCMSPLCV(progress=False).fit(ZOO.X, ZOO.y)
    for name in WEIGHTS:
        assert model.best_params_[name] == getattr(JCMSPL, name)
