"""Evaluation finds samples that are new to a model, and tells of those that are not."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl import ClassSearchCV, evaluate
from jcmspl.data import sample_digest
from jcmspl.datasets import load_arrays, load_digits, make_zsl
from jcmspl.datasets.splits import HeldOut
from jcmspl.evaluation.trained_on import trained_on, with_test_parts
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.exceptions import TrainedOnWarning
from jcmspl.methods import RPL

DATA = make_zsl(600, 12, 8, 8, 4, random_state=0)  # with test parts
X, Y = np.asarray(DATA.X), DATA.y
UNSPLIT = load_arrays(X, Y, class_vectors=DATA.classes)  # without


def model_of(dataset=DATA, part="trainval"):
    return RPL(progress=False).fit(*dataset.part(part), class_vectors=DATA.classes)


MODEL = model_of()
SEEN, TRAINED = np.isin(Y, DATA.seen), DATA.rows("trainval")
ON_ALL_SEEN = RPL(progress=False).fit(X[SEEN], Y[SEEN], class_vectors=DATA.classes)


def report_of(model, dataset, **options):
    return evaluate(model, dataset, spaces=["semantic"], progress=False, **options)


def parts_of(dataset):
    return {name: rows.tolist() for name, rows in dataset.parts.items()}


class TestWarning:
    def test_new_samples_are_not_warned_of(self):
        report = report_of(MODEL, DATA, allow_trained=False)
        assert (report.trained_on.test_seen, report.trained_on.test_unseen) == (0, 0)
        assert report.trained_on.is_exact
        assert "training data" not in report.to_text()

    def test_training_samples_are_counted(self):
        n = len(DATA.rows("test_seen"))
        with pytest.warns(TrainedOnWarning, match=f"{n} of {n} test samples of seen classes were in the training data"):
            report = report_of(ON_ALL_SEEN, DATA)
        assert report.trained_on.test_seen == n
        assert report.trained_on.test_unseen == 0
        sentence = f"Warning: {n} of {n} test samples of seen classes were in the training data."
        for text in (report.to_text(), report.to_markdown(), report._repr_html_()):
            assert sentence in text
        assert report.data["trained_on"] == {"test_seen": n, "test_unseen": 0, "is_exact": True}
        assert Report.from_json(report.to_json()) == report

    def test_page_tells_of_them(self):
        pytest.importorskip("matplotlib")
        with pytest.warns(TrainedOnWarning):
            report = report_of(ON_ALL_SEEN, DATA)
        assert "test samples of seen classes were in the training data" in report.to_html()

    def test_most_of_a_part_can_be_refused(self):
        with pytest.raises(ValueError, match=r"80 of 80 test samples .*--allow-trained"):
            report_of(ON_ALL_SEEN, DATA, allow_trained=False)
        rows = np.concatenate([DATA.rows("trainval"), DATA.rows("test_seen")[:5]])
        a_few = RPL(progress=False).fit(X[rows], Y[rows], class_vectors=DATA.classes)
        with pytest.warns(TrainedOnWarning, match=r"^5 of \d+ test samples of seen"):
            report_of(a_few, DATA, allow_trained=False)

    def test_samples_of_classes_that_were_added_count(self):
        rows = DATA.rows("test_unseen")[:4]
        model = model_of().add_classes(X=X[rows], y=Y[rows])
        with pytest.warns(TrainedOnWarning, match=r"^4 of \d+ test samples of unseen"):
            report_of(model, DATA)

    def test_other_types_of_the_same_values(self):
        rounded = X.astype(np.float32)
        model = RPL(progress=False).fit(rounded[SEEN], Y[SEEN], class_vectors=DATA.classes)
        for same in (rounded, rounded.astype(np.float64), np.asfortranarray(rounded)):
            with pytest.warns(TrainedOnWarning):
                report_of(model, replace(DATA, X=same))

    def test_of_a_search(self):
        search = ClassSearchCV(RPL(), {"alpha": [0.1, 1.0]}, progress=False)
        search.fit(X[SEEN], Y[SEEN], class_vectors=DATA.classes)
        with pytest.warns(TrainedOnWarning):
            report_of(search, DATA)

    def test_of_many_samples_is_an_estimate(self, monkeypatch):
        monkeypatch.setattr(sample_digest, "MOST", 200)
        model = RPL(progress=False).fit(X[SEEN], Y[SEEN], class_vectors=DATA.classes)
        n = len(DATA.rows("test_seen"))
        with pytest.warns(TrainedOnWarning, match=f"about {n} of {n} test samples"):
            report = report_of(model, DATA)
        assert not report.trained_on.is_exact
        assert report.trained_on.test_unseen == 0

    def test_where_nothing_is_known_nothing_is_said(self):
        model = pickle.loads(pickle.dumps(ON_ALL_SEEN))
        model.training_digest_ = None  # as in an older file
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = report_of(model, DATA, allow_trained=False)
        assert report.trained_on is None
        assert report.data["trained_on"] is None

    def test_of_dask(self):
        da = pytest.importorskip("dask.array")
        lazy = replace(DATA, X=da.from_array(X, chunks=(50, -1)))
        assert trained_on(ON_ALL_SEEN, lazy) == trained_on(ON_ALL_SEEN, DATA)
        assert trained_on(MODEL, lazy) == trained_on(MODEL, DATA)
        standard = replace(lazy, parts={**DATA.parts, "test_seen": []})
        assert trained_on(MODEL, standard).test_seen == 0


class TestWithoutTestParts:
    def test_what_was_not_trained_on_is_tested_with(self):
        found = with_test_parts(MODEL, UNSPLIT)
        assert_array_equal(found.rows("trainval"), DATA.rows("trainval"))
        for part in ("test_seen", "test_unseen"):
            assert_array_equal(found.rows(part), DATA.rows(part))
        one, other = report_of(MODEL, UNSPLIT), report_of(MODEL, DATA)
        assert one.results == other.results
        assert one.dataset.samples == other.dataset.samples

    def test_given_parts_are_used(self):
        assert with_test_parts(ON_ALL_SEEN, DATA) is DATA
        standard = replace(DATA, parts={**DATA.parts, "test_seen": []})
        assert not len(with_test_parts(MODEL, standard).rows("test_seen"))

    def test_held_out_samples_of_a_data_set_with_unseen_classes(self):
        """The classes of the data set say what is unseen, if it does not say itself."""
        held_out = UNSPLIT.held_out(0.25, 3)  # of all classes
        found = with_test_parts(MODEL, held_out)
        assert set(found.unseen) == set(DATA.unseen)
        assert_array_equal(found.rows("test_unseen"), DATA.rows("test_unseen"))
        assert_array_equal(found.rows("test_seen"), np.setdiff1d(held_out.rows("test_seen"), DATA.rows("test_unseen")))

    def test_what_the_fit_held_out_is_held_out_again(self):
        digits = load_digits()
        whole = replace(digits, parts={**digits.parts, "train": digits.rows("trainval"), "val": [], "test_seen": []})
        held_out = whole.held_out(0.3, 5)
        model = RPL(progress=False).fit(*held_out.part("trainval"), class_vectors=digits.classes)
        assert not len(with_test_parts(model, whole).rows("test_seen"))
        rows = whole.rows("trainval")
        model.held_out_ = HeldOut.of(rows, digits.y[rows], 0.3, 5)
        assert parts_of(with_test_parts(model, whole)) == parts_of(held_out)
        assert report_of(model, whole, allow_trained=False).results == report_of(model, held_out).results
        unsplit = load_arrays(digits.X, digits.y, class_vectors=digits.classes)  # of which other samples would be drawn
        report = report_of(model, unsplit, allow_trained=False)
        assert report.trained_on.test_seen == 0
        assert report.dataset.samples["test_seen"] == len(digits.rows("test_seen")) + len(held_out.rows("test_seen"))

    def test_what_was_held_out_of_other_data_is_not(self):
        model = model_of()
        model.held_out_ = HeldOut.of(np.arange(len(Y)), Y, 0.5, 0)
        other = load_arrays(X[::-1] + 1, Y[::-1], class_vectors=DATA.classes)
        found = with_test_parts(model, other)
        assert len(found.rows("test_seen")) == SEEN.sum()

    def test_new_data_is_all_to_test_with(self):
        new = load_arrays(X + 0.01, Y, class_vectors=DATA.classes)
        report = report_of(MODEL, new, allow_trained=False)
        assert report.dataset.samples == {
            "trainval": len(DATA.rows("trainval")),
            "test_seen": SEEN.sum(),
            "test_unseen": (~SEEN).sum(),
        }

    def test_new_data_of_unseen_classes_alone(self):
        new = load_arrays(X[~SEEN], Y[~SEEN], class_vectors=DATA.classes)
        report = report_of(MODEL, new)
        assert report.harmonic_mean is None
        assert report.accuracy == report_of(MODEL, DATA).accuracy

    def test_without_unseen_classes_the_test_is_among_seen_ones(self):
        new = load_arrays(X[SEEN], Y[SEEN], class_vectors=DATA.classes)
        rows = with_test_parts(MODEL, new).rows("test_seen")
        report = evaluate(MODEL, new, progress=False)
        named = MODEL.predict(new.X[rows], candidates="seen")
        shares = [np.mean(named[new.y[rows] == label] == label) for label in np.unique(new.y[rows])]
        assert report.accuracy == pytest.approx(np.mean(shares))
        assert (report.dataset.tested, report.harmonic_mean) == ("seen", None)
        assert report.results[0].standard.per_sample == pytest.approx(np.mean(named == new.y[rows]))
        assert {row.kind for row in report.classes} == {"seen"}
        assert "seen classes among" not in report.to_text()
        assert "Seen classes" in report.to_html()
        assert "unseen" not in report.to_text()
        with pytest.raises(ValueError, match="need samples of unseen classes"):
            evaluate(MODEL, new, open_set=True, progress=False)

    def test_all_of_them_training_samples(self):
        new = load_arrays(X[TRAINED], Y[TRAINED], class_vectors=DATA.classes)
        with pytest.raises(ValueError, match="no samples to test with: the model was trained on all of them"):
            report_of(MODEL, new)

    def test_a_plain_classifier(self):
        model = RPL(progress=False).fit(X[TRAINED], Y[TRAINED])
        others = np.setdiff1d(np.flatnonzero(SEEN), TRAINED)
        report = evaluate(model, load_arrays(X[others], Y[others], class_vectors=None), progress=False)
        assert report.accuracy == pytest.approx(model.score(X[others], Y[others]))
        assert report.dataset.n_attributes == 0
        assert "without class vectors" in report.to_text()
        with pytest.warns(UserWarning, match="classes that the model does not know are left out"):
            among_others = evaluate(model, load_arrays(X, Y, class_vectors=None), progress=False)
        assert among_others.results == report.results

    def test_where_nothing_is_known_only_unseen_classes_are_tested(self):
        model = pickle.loads(pickle.dumps(MODEL))
        model.training_digest_ = None
        found = with_test_parts(model, UNSPLIT)
        assert_array_equal(found.rows("test_unseen"), DATA.rows("test_unseen"))
        assert not len(found.rows("test_seen"))

    def test_of_many_samples_what_is_certain(self, monkeypatch):
        monkeypatch.setattr(sample_digest, "MOST", 150)
        found = with_test_parts(model_of(), UNSPLIT).rows("test_seen")
        assert 0 < len(found) < len(DATA.rows("test_seen"))
        assert np.isin(found, DATA.rows("test_seen")).all()

    def test_samples_in_no_part_stay_there(self):
        some = replace(UNSPLIT, parts={"train": np.arange(0, len(Y), 2)})
        found = with_test_parts(MODEL, some)
        assert all((rows % 2 == 0).all() for rows in found.parts.values())

    def test_of_dask(self):
        da = pytest.importorskip("dask.array")
        lazy = replace(UNSPLIT, X=da.from_array(X, chunks=(70, -1)))
        assert parts_of(with_test_parts(MODEL, lazy)) == parts_of(with_test_parts(MODEL, UNSPLIT))

    def test_labels_of_another_type(self):
        numbers = {label: 100 + i for i, label in enumerate(DATA.classes)}
        y = np.array([numbers[label] for label in Y])
        vectors = {numbers[label]: DATA.classes[label] for label in DATA.classes}
        model = RPL(progress=False).fit(X[SEEN][::2], y[SEEN][::2], class_vectors=vectors)
        as_text = {str(number): vector for number, vector in vectors.items()}
        found = with_test_parts(model, load_arrays(X, y.astype(str), class_vectors=as_text))
        assert_array_equal(found.rows("test_seen"), np.flatnonzero(SEEN)[1::2])
        assert_array_equal(found.rows("test_unseen"), np.flatnonzero(~SEEN))
