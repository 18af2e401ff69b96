"""How the search goes on: few classes, growing grids, halving, warm starts, Ctrl-C."""

import signal
import subprocess
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV
from jcmspl.methods import RPL, RidgeVS
from jcmspl.methods.jcmspl import WEIGHTS
from jcmspl.model_selection.grid import Grid
from jcmspl.model_selection.search import _interleaved
from support.animals import make_zoo
from support.processes import interruptible
from support.searches import BEST, SMALL, ZOO, split_scores, tuned


class TestFewClasses:
    """The best of many settings on few held-out classes is mostly luck."""

    def test_folds_are_drawn_several_times(self):
        assert tuned(cv=None).n_splits_ == 25
        for n_seen, n_folds in ((20, 15), (50, 5)):
            assert tuned(make_zoo(n_seen=n_seen, per_class=3), cv=None).n_splits_ == n_folds

    def test_prudent_is_nearest_to_the_defaults_of_all_within_a_standard_error(self):
        model = tuned(choose="prudent")
        means, scores = model.cv_results_["mean_test_score"], split_scores(model)
        gains = scores[means.argmax()] - scores
        good = gains.mean(axis=1) <= gains.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]) + 1e-12
        assert good[model.best_index_]
        default = JCMSPL()

        def distance(params):
            weights = [abs(np.log10(params[name] / getattr(default, name))) for name in WEIGHTS]
            return sum(weights) + (params["space"] != default.space)

        distances = np.array([distance(params) for params in model.cv_results_["params"]])
        assert distances[model.best_index_] == pytest.approx(distances[good].min())

    @pytest.mark.parametrize(("decades", "chosen"), [(0.75, "near"), (1.25, "far")])
    def test_prudent_counts_another_way_to_compare_as_a_decade(self, decades, chosen):
        """Own weight and own metric together recognise nothing: it leaves the one that is cheaper to leave."""
        weight = 10.0**decades

        def far(Z, P):
            return cdist(Z, P, "cosine")

        def near(Z, P):  # useless where the weight is the model's own, as the length of the projected samples tells
            return (1 if np.linalg.norm(Z, axis=1).mean() < limit else -1) * cdist(Z, P, "cosine")

        zoo = make_zoo(n_seen=10, noise=0.01, per_class=4)
        lengths = [
            np.linalg.norm(RidgeVS(alpha).fit(zoo.X, zoo.y, class_vectors=zoo.table).transform(zoo.X), axis=1).mean()
            for alpha in (1.0, weight)
        ]
        limit = np.mean(lengths)
        grid = {"alpha": (1.0, weight), "metric": (far, near)}
        search = ClassSearchCV(RidgeVS(1.0, metric=near), grid, cv=5, extend=0, choose="prudent")
        search.fit(zoo.X, zoo.y, class_vectors=zoo.table)
        results = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
        scores = {(params["alpha"], params["metric"].__name__): score for params, score in results}
        assert scores.pop((1.0, "near")) < 0.5
        assert set(scores.values()) == {0.9}  # all the others are equally good
        expected = {"near": {"alpha": pytest.approx(weight), "metric": near}, "far": {"alpha": 1.0, "metric": far}}
        assert search.best_params_ == expected[chosen]

    def test_auto(self):
        assert tuned(choose="auto").best_params_ == tuned(choose="prudent").best_params_
        many = make_zoo(n_seen=20, per_class=3)
        assert tuned(many, choose="auto").best_index_ == tuned(many, choose="best").best_index_
        with pytest.raises(ValueError, match="choose must be one of"):
            tuned(choose="lucky")


class TestGrowing:
    # on this data the best decade is 1, and beyond 100 nothing changes any more
    def search(self, *alphas, extend):
        return tuned(model=ClassSearchCV(RPL(metric="euclidean"), {"alpha": alphas}, extend=extend, **BEST))

    def test_the_grid_grows_towards_the_best(self):
        assert self.search(10, 100, extend=0).best_params_ == {"alpha": 10}
        model = self.search(10, 100, extend=4)
        assert model.best_params_ == {"alpha": 1}
        assert sorted(model.cv_results_["param_alpha"]) == [0.1, 1, 10, 100]  # one beyond the best tells that it is
        assert self.search(0.001, 0.01, extend=4).best_params_ == {"alpha": 1}

    def test_so_many_times_at_most(self):
        for extend in (0, 1, 2):
            model = self.search(1e-4, 1e-3, 1e-2, extend=extend)
            assert sorted(model.cv_results_["param_alpha"]) == [1e-4, 1e-3, 1e-2, 1e-1, 1][: 3 + extend]

    def test_not_along_a_plateau(self):
        model = self.search(1e5, 1e6, extend=4)
        assert model.best_params_ == {"alpha": 1e6}
        assert sorted(model.cv_results_["param_alpha"]) == [1e5, 1e6, 1e7]

    def test_not_where_the_best_is_inside(self):
        model = self.search(1e-9, 1, 1e9, extend=4)
        assert model.best_params_ == {"alpha": 1}
        assert len(model.cv_results_["params"]) == 3

    def test_single_values_and_zeros_stay(self):
        grid = Grid({"a": (1.0, 10.0), "b": 5.0, "c": (0.0, 1.0), "d": "x"}, weights=("a", "b", "c"))
        assert grid.beyond((1.0, 5.0, 0.0, "x")) == [(0.1, 5.0, 0.0, "x")]
        assert grid.axes == {"a": [0.1, 1.0, 10.0], "b": [5.0], "c": [0.0, 1.0], "d": ["x"]}
        assert grid.beyond((1.0, 5.0, 0.0, "x")) == []

    def test_several_edges_at_once(self):
        grid = Grid({"a": (1.0, 100.0), "b": (10.0, 1.0)}, weights=("a", "b"))
        assert grid.beyond((100.0, 1.0)) == [(100.0, 0.1), (1e4, 1.0), (1e4, 0.1)]

    @pytest.mark.parametrize(("values", "last"), [((1e9, 1e10, 1e11), 1e12), ((1e-9, 1e-10, 1e-11), 1e-12)])
    def test_it_stops_where_rounding_hides_any_difference(self, values, last):
        grid = Grid({"a": values}, weights=("a",))
        assert grid.beyond((values[-1],)) == [(last,)]
        assert grid.beyond((last,)) == []
        assert grid.axes == {"a": sorted([*values, last])}

    def test_presets_are_tuned_with_their_zeros(self):
        model = tuned(visual_reconstruction=0, semantic_reconstruction=[0], class_match=(0.1, 1), extend=2)
        assert set(model.cv_results_["param_visual_reconstruction"]) == {0.0}
        assert model.best_params_["semantic_reconstruction"] == 0


class TestHalving:
    def test_the_default_does_without(self):
        assert not JCMSPLCV().halving
        assert (tuned().cv_results_["iterations"] == 35).all()

    def test_drops_settings_and_chooses_among_the_rest(self):
        full, halved = tuned(max_iter=50, tol=0), tuned(max_iter=50, tol=0, halving=True)
        assert halved.cv_results_["params"] == full.cv_results_["params"]
        iterations = halved.cv_results_["iterations"]
        assert sorted(set(iterations.tolist())) == [2, 50]  # three of eight are left: too few for another round
        assert (iterations == 50).sum() == 3 * 3
        kept = iterations == 50
        assert_array_equal(split_scores(halved)[kept], split_scores(full)[kept])
        assert halved.best_score_ == halved.cv_results_["mean_test_score"][kept].max()
        ranks = halved.cv_results_["rank_test_score"]
        assert ranks[kept].max() < ranks[~kept].min()
        assert halved.n_iter_ == 50

    def test_makes_no_difference_without_iterations(self):
        one, two = (tuned(model=ClassSearchCV(RPL(), halving=halving, **BEST)) for halving in (False, True))
        assert_array_equal(split_scores(one), split_scores(two))


class TestWarmStart:
    def test_is_off_by_default(self):
        assert not JCMSPLCV().warm_start
        assert not ClassSearchCV(RidgeVS()).warm_start

    def test_fits_that_converge_end_where_they_would_have(self):
        grid = {**SMALL, "class_match": (1.0, 10.0), "extend": 0, "tol": 1e-13, "max_iter": 2000}
        cold, warm = (tuned(**grid, warm_start=warm) for warm in (False, True))
        assert_allclose(split_scores(warm), split_scores(cold), atol=0.05)
        assert warm.best_params_ == cold.best_params_

    def test_starts_from_codes_of_the_fold(self, monkeypatch):
        starts = []
        original = JCMSPL._solution

        def spy(self, spectrum, *args, **kwargs):
            if not kwargs.get("return_codes"):
                starts.append(self.init if isinstance(self.init, str) else np.shape(self.init))
            return original(self, spectrum, *args, **kwargs)

        monkeypatch.setattr(JCMSPL, "_solution", spy)
        tuned(warm_start=True, n_jobs=1)
        assert set(starts[:-1]) == {(8, 8)}  # ten classes, two of them held out
        assert starts[-1] == "codes"  # the fit with the chosen setting is a plain one

    def test_means_nothing_to_models_without_iterations(self):
        one, two = (tuned(model=ClassSearchCV(RPL(), warm_start=warm, **BEST)) for warm in (False, True))
        assert_array_equal(split_scores(one), split_scores(two))


def test_fits_to_the_fold_that_is_prepared_last_come_later():
    # two threads prepare folds 0 and 1, then one of them fold 2
    jobs = [divmod(job, 3) for job in _interleaved(6, 3, 2)]
    assert sorted(jobs) == [(setting, fold) for setting in range(6) for fold in range(3)]
    assert jobs[:9] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    assert jobs[9:12] == [(1, 2), (2, 2), (3, 2)]
    assert jobs[12:] == [(setting, fold) for setting in (4, 5) for fold in range(3)]
    assert _interleaved(2, 4, 2) == list(range(8))  # all threads are busy until all folds are prepared


class TestInterrupt:
    @pytest.fixture(params=[1, 2])
    def n_jobs(self, request):
        return request.param

    def stop_after(self, monkeypatch, n):
        """Press Ctrl-C in the n-th fit; fits that other threads have begun go on."""
        learnt, calls = JCMSPL._fit, iter(range(10**6))

        def pressed(self, *args):
            if next(calls) == n:
                raise KeyboardInterrupt
            return learnt(self, *args)

        monkeypatch.setattr(JCMSPL, "_fit", pressed)

    def test_the_best_so_far_is_fitted(self, monkeypatch, n_jobs):
        full = tuned()
        self.stop_after(monkeypatch, 5 * 5 + 2)
        with pytest.warns(RuntimeWarning, match="interrupted: the choice is among the 5 settings that"):
            model = tuned(n_jobs=n_jobs)
        n = 5 * 3
        assert model.interrupted_
        assert model.cv_results_["params"] == full.cv_results_["params"][:n]
        assert_array_equal(split_scores(model), split_scores(full)[:n])
        assert model.best_score_ == full.cv_results_["mean_test_score"][:n].max()
        assert model.predict(ZOO.X_new).shape == ZOO.y_new.shape

    def test_nothing_so_far(self, monkeypatch, n_jobs):
        model = tuned(n_jobs=n_jobs)
        before = dict(vars(model))
        self.stop_after(monkeypatch, 3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert vars(model) == before

    def test_a_real_one(self):
        script = """
            import numpy as np, warnings
            from jcmspl import JCMSPLCV
            warnings.simplefilter("ignore")
            rng = np.random.default_rng(0)
            y = np.arange(400) % 40
            vectors = rng.random((40, 20))
            X = vectors[y] @ rng.random((20, 60)) + 0.1 * rng.standard_normal((400, 60))
            many = np.geomspace(1e-3, 1e3, 60)
            model = JCMSPLCV(semantic_match=many, class_match=many, max_iter=200, tol=0)
            try:
                print("started", flush=True)
                model.fit(X, y, class_vectors=vectors)
                print(model.interrupted_, len(model.predict(X)))
            except KeyboardInterrupt:
                print("too early")
        """
        with interruptible("-c", textwrap.dedent(script), stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == "started\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(3.0)  # the search takes minutes
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=300)
        assert output in ("True 400\n", "too early\n")
        assert process.returncode == 0
