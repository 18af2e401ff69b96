"""Prediction sets with a promised coverage."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import log_softmax
from scipy.stats import binom

from jcmspl import JCMSPL, ClassKFold, load
from jcmspl.data.class_folds import held_out_rows
from jcmspl.exceptions import UncalibratedWarning
from jcmspl.model.labelling import BEST
from jcmspl.model.prediction import spread_of
from jcmspl.model.prediction_sets import LEVELS, lower_bound
from support.animals import make_zoo

ZOO = make_zoo(n_seen=24, n_unseen=6, noise=1.2)


def fitted(zoo=ZOO, **parameters):
    return JCMSPL(progress=False, **parameters).fit(zoo.X, zoo.y, class_vectors=zoo.table)


@pytest.fixture(scope="module")
def calibrated():
    return fitted().calibrate(ZOO.X, ZOO.y).calibrate_sets(ZOO.X, ZOO.y)


def distances_by_hand(model, X, candidates, temperature, penalty=0.0):
    scores = model.decision_function(X, candidates=candidates, seen_penalty=penalty)
    found = -log_softmax(scores / temperature, axis=1) - np.log(len(candidates))
    found[np.arange(len(X)), scores.argmax(axis=1)] = BEST
    return found


class TestCalibration:
    def test_is_a_plain_loop_over_folds_of_classes(self):
        """One draw of folds, of enough classes, class after class and threshold after threshold."""
        zoo = make_zoo(n_seen=100, n_unseen=25, per_class=4, noise=1.2)
        model = fitted(zoo).calibrate(zoo.X, zoo.y).calibrate_sets(zoo.X, zoo.y)
        rng = np.random.RandomState(0)
        classes = sorted(set(zoo.y.tolist()))
        folds = [[classes[i] for i in fold] for fold in ClassKFold(5, random_state=rng).split_classes(100)]
        testing = held_out_rows(zoo.y.tolist(), 0.2, rng)
        own = {group: {} for group in ("seen", "unseen", "all")}
        sizes = []
        for fold in folds:
            out = np.isin(zoo.y, fold)
            one = fitted(zoo._replace(X=zoo.X[~out & ~testing], y=zoo.y[~out & ~testing]))
            rest = [label for label in classes if label not in fold]
            parts = (("unseen", fold, [out]), ("seen", rest, [~out & testing]), ("all", classes, [out, ~out & testing]))
            for group, candidates, sides in parts:
                temperature = model.temperatures_["visual", "cosine", group] * spread_of(one)
                for rows in sides:
                    found = distances_by_hand(one, zoo.X[rows], candidates, temperature, model.seen_penalty_)
                    for label, row in zip(zoo.y[rows].tolist(), found, strict=True):
                        part = own[group].setdefault((label, rows is out), [])
                        part.append(row[candidates.index(label)])
                    if group == "unseen":
                        sizes.append(found)
        for group, found in own.items():
            calibration = model.set_calibration_[group]
            assert calibration.n_classes == 100

            def coverage(threshold, found=found):
                of_classes = {}
                for (label, _), values in found.items():
                    of_classes.setdefault(label, []).append(np.mean(np.array(values) <= threshold + 1e-9))
                return np.mean([np.mean(shares) for shares in of_classes.values()])

            values = np.sort(np.concatenate(list(found.values())))
            for level in (120, 280, 359):
                threshold = calibration.thresholds[level]
                assert coverage(threshold) >= LEVELS[level] - 1e-9
                lower = values[values < threshold - 1e-6]
                assert not len(lower) or coverage(lower[-1]) < LEVELS[level]
        calibration = model.set_calibration_["unseen"]
        for level in (280, 359):
            expected = np.mean(np.concatenate([(found <= calibration.thresholds[level]).sum(1) for found in sizes]))
            assert calibration.sizes[level] == pytest.approx(expected, rel=0.03)

    def test_the_order_of_samples_is_all_the_same(self, calibrated):
        zoo = make_zoo(n_seen=12, n_unseen=4, per_class=6, noise=0.8)
        one, two = (fitted(zoo) for _ in range(2))
        one.calibrate_sets(zoo.X, zoo.y)
        two.calibrate_sets(zoo.X, zoo.y)
        assert_array_equal(one.set_calibration_["all"].thresholds, two.set_calibration_["all"].thresholds)
        two.calibrate_sets(zoo.X, zoo.y, random_state=1)
        assert np.any(one.set_calibration_["all"].thresholds != two.set_calibration_["all"].thresholds)

    def test_too_few_classes_are_refused(self):
        zoo = make_zoo(n_seen=3, n_unseen=2)
        with pytest.raises(ValueError, match="two folds of 2 classes"):
            fitted(zoo).calibrate_sets(zoo.X, zoo.y)

    def test_a_new_penalty_forgets_the_sets_among_all_classes(self, calibrated):
        model = fitted().calibrate_sets(ZOO.X, ZOO.y)
        model.set_params(seen_penalty=0.01)
        assert set(model.set_calibration_) == {"seen", "unseen"}
        with pytest.raises(ValueError, match="calibrate_sets"):
            model.predict_set(ZOO.X_new)
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        with pytest.raises(AttributeError, match="calibrate_sets"):
            _ = model.set_calibration_


class TestSets:
    @pytest.mark.parametrize("coverage", [0.3, 0.6, 0.9])
    @pytest.mark.parametrize("kind", ["seen", "unseen", "all"])
    def test_are_the_definition(self, calibrated, coverage, kind):
        calibration = calibrated.set_calibration_[kind]
        names = {"seen": ZOO.seen, "unseen": ZOO.unseen, "all": [*ZOO.seen, *ZOO.unseen]}[kind]
        temperature = calibration.temperature * spread_of(calibrated)
        far = distances_by_hand(calibrated, ZOO.X_new, names, temperature, calibrated.seen_penalty_)
        found = calibrated.predict_set(ZOO.X_new, coverage=coverage, candidates=names)
        assert_array_equal(found, far <= calibration.at(coverage).threshold)

    def test_cover_classes_that_are_like_those_of_training(self):
        """Over draws of data: in the mean what was asked for, and rarely less than what was promised."""
        covered, promised, sizes = [], [], []
        for seed in range(12):
            zoo = make_zoo(n_seen=30, n_unseen=30, per_class=6, noise=1.5, seed=seed)
            model = fitted(zoo).calibrate(zoo.X, zoo.y).calibrate_sets(zoo.X, zoo.y)
            sets = model.predict_set(zoo.X_new, coverage=0.8, candidates=sorted(zoo.unseen))
            own = np.searchsorted(sorted(zoo.unseen), zoo.y_new)
            covered.append(sets[np.arange(len(own)), own].mean())
            sizes.append(sets.sum(axis=1).mean() / 30)
            promised.append(model.set_calibration_["unseen"].at(0.8).promised)
        assert np.mean(covered) > 0.77
        assert np.mean(covered) < 0.95
        assert np.mean(sizes) < 0.9
        assert np.mean(np.array(covered) < promised) <= 0.1

    def test_hold_the_predicted_class_and_grow_with_the_coverage(self, calibrated):
        named = calibrated.predict(ZOO.X_new, candidates="unseen")
        before = np.zeros((len(ZOO.X_new), len(ZOO.unseen)), dtype=bool)
        columns = {label: i for i, label in enumerate(calibrated.unseen_classes_.tolist())}
        for coverage in (0.01, 0.3, 0.6, 0.9, 0.95):
            sets = calibrated.predict_set(ZOO.X_new, coverage=coverage, candidates="unseen")
            assert sets[np.arange(len(named)), [columns[label] for label in named]].all()
            assert not (before & ~sets).any()
            before = sets
        assert calibrated.predict_set(ZOO.X_new[:1], coverage=0.01, candidates="unseen").sum() == 1

    def test_do_not_depend_on_the_temperature_of_probabilities(self, calibrated):
        model = fitted().calibrate(ZOO.X, ZOO.y).calibrate_sets(ZOO.X, ZOO.y)
        before = model.predict_set(ZOO.X_new, candidates="unseen")
        model.set_params(temperature=3.0)
        assert_array_equal(model.predict_set(ZOO.X_new, candidates="unseen"), before)

    def test_every_candidate_where_the_classes_are_too_few(self):
        zoo = make_zoo(n_seen=8, n_unseen=3)
        model = fitted(zoo).calibrate_sets(zoo.X, zoo.y)
        with pytest.warns(UncalibratedWarning, match=r"8 training classes can promise at most 88.8 %"):
            assert model.predict_set(zoo.X_new, candidates="unseen").all()
        assert not model.predict_set(zoo.X_new, coverage=0.85, candidates="unseen").all()

    def test_warn_once_after_an_adaptation(self):
        model = fitted().calibrate_sets(ZOO.X, ZOO.y).adapt(ZOO.X_new, candidates="unseen")
        with pytest.warns(UncalibratedWarning, match="without adaptation"):
            model.predict_set(ZOO.X_new, candidates="unseen")

    def test_of_scores_that_leave_no_doubt(self, tmp_path):
        """A distance may overflow; files hold no infinity."""
        model = fitted().calibrate_sets(ZOO.X, ZOO.y)
        model.temperatures_ = dict.fromkeys([("visual", "cosine", kind) for kind in ("seen", "unseen", "all")], 1e-300)
        model.calibrate_sets(ZOO.X, ZOO.y)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert_array_equal(
            again.predict_set(ZOO.X_new, candidates="unseen"), model.predict_set(ZOO.X_new, candidates="unseen")
        )

    def test_of_two_classes(self, calibrated):
        assert calibrated.predict_set(ZOO.X_new, candidates=ZOO.unseen[:2]).shape == (len(ZOO.X_new), 2)

    @pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, "much", None, np.nan])
    def test_bad_coverages_are_refused(self, calibrated, coverage):
        with pytest.raises((ValueError, TypeError), match="coverage"):
            calibrated.predict_set(ZOO.X_new, coverage=coverage)


class TestPromise:
    def test_says_it_in_plain_words(self, calibrated):
        promise = calibrated.set_calibration_["unseen"].at(0.9)
        text = str(promise)
        assert text.startswith("asked for 90 %, this data can promise ")
        assert "with 95 % confidence, because there are only 24 training classes" in text
        assert f"sets hold {promise.size:.1f} of {promise.n_candidates:.0f} candidates" in text

    @pytest.mark.parametrize(("mean", "n"), [(0.9, 40), (0.925, 24), (0.5, 10), (0.99, 300), (1.0, 5)])
    def test_bound_holds_for_binomial_and_other_variables(self, mean, n):
        bound = lower_bound(mean, n)
        assert bound < mean
        assert binom.sf(np.ceil(n * mean - 1e-9) - 1, n, bound - 1e-3) <= 0.05
        rng = np.random.default_rng(0)
        for a in (0.2, 1.0, 5.0):  # beta variables of this expectation, from nearly binary to concentrated
            draws = rng.beta(a * bound, a * (1 - bound), size=(4000, n)).mean(axis=1)
            assert np.mean(draws >= mean) <= 0.06

    def test_bound_gets_nearer_with_more_classes(self):
        bounds = [lower_bound(0.9, n) for n in (10, 40, 150, 1000, 20_000)]
        assert bounds == sorted(bounds)
        assert 0.89 < bounds[-1] < 0.9

    def test_the_documentation_has_the_promised_shares(self):
        lines = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8").splitlines()
        (at,) = (i for i, line in enumerate(lines) if line.startswith("| promised of 90 %"))
        numbers, shares = ([cell.strip() for cell in lines[i].split("|")[2:-1]] for i in (at - 2, at))
        promised = [lower_bound(0.9 * (int(n) + 1) / int(n), int(n)) for n in numbers]
        assert shares == [f"{np.floor(1000 * share) / 10:.1f} %" for share in promised]

    def test_files_keep_it(self, calibrated, tmp_path):
        calibrated.save(tmp_path / "model")
        again = load(tmp_path / "model")
        for group, one in calibrated.set_calibration_.items():
            assert str(again.set_calibration_[group]) == str(one)
            assert_array_equal(again.set_calibration_[group].thresholds, one.thresholds)
