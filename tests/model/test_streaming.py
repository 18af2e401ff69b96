"""Learning in parts: chunks, partial_fit, statistics made elsewhere, classes added later."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from jcmspl import JCMSPL
from jcmspl.core import Statistics
from support.fits import ZOO, assert_same_model, fitted


class Loader:
    """An iterable with a length, as data loaders of deep learning are; its chunks are lists, and some are empty."""

    def __init__(self, chunks):
        self.chunks = [[ZOO.X[:0], ZOO.y[:0]], *([X, y] for X, y in chunks)]

    def __len__(self):
        return len(self.chunks)

    def __iter__(self):
        return iter(self.chunks)


@pytest.mark.parametrize("form", [iter, list, lambda chunks: (chunk for chunk in chunks), Loader])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks(form, size):
    chunks = [(ZOO.X[i : i + size], ZOO.y[i : i + size]) for i in range(0, len(ZOO.X), size)]
    assert_same_model(JCMSPL().fit(form(chunks), class_vectors=ZOO.table), fitted())


def test_a_class_at_a_time():
    """Classes without vectors given become known one after the other, sorted data at its worst."""
    chunks = ((ZOO.X[ZOO.y == name], ZOO.y[ZOO.y == name]) for name in reversed(ZOO.seen))
    assert_same_model(JCMSPL().fit(chunks), JCMSPL().fit(ZOO.X, ZOO.y))


class TestPartialFit:
    def test_equals_one_fit(self):
        model = JCMSPL()
        for first in range(0, len(ZOO.X), 20):
            rows = slice(first, first + 20)
            model.partial_fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table)
        assert_same_model(model, fitted())

    def test_classes_and_their_vectors_arrive_over_time(self):
        model = JCMSPL()
        pairs = [ZOO.seen[i : i + 2] for i in range(0, 6, 2)]
        for pair in pairs:
            rows = np.isin(ZOO.y, pair)
            model.partial_fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table.select(pair))
        model.add_classes(ZOO.table.select(ZOO.unseen))
        assert_same_model(model, fitted())

    def test_without_class_vectors(self):
        model = JCMSPL()
        for half in (ZOO.seen[3:], ZOO.seen[:3]):
            rows = np.isin(ZOO.y, half)
            model.partial_fit(ZOO.X[rows], ZOO.y[rows])
        assert_same_model(model, JCMSPL().fit(ZOO.X, ZOO.y))

    def test_goes_on_after_fit(self):
        half = len(ZOO.X) // 2
        model = JCMSPL().fit(ZOO.X[:half], ZOO.y[:half], class_vectors=ZOO.table)
        assert_same_model(model.partial_fit(ZOO.X[half:], ZOO.y[half:]), fitted())

    def test_solve_later(self):
        model = JCMSPL()
        for i in range(0, len(ZOO.X), 9):
            last = i + 9 >= len(ZOO.X)
            model.partial_fit(ZOO.X[i : i + 9], ZOO.y[i : i + 9], class_vectors=ZOO.table, refit=last)
            if not last:
                with pytest.raises(NotFittedError):
                    model.predict(ZOO.X)
        assert_same_model(model, fitted())

    def test_one_class_at_first(self):
        model = JCMSPL()
        for name in ZOO.seen:
            model.partial_fit(ZOO.X[ZOO.y == name], ZOO.y[ZOO.y == name], class_vectors=ZOO.table)
            if name == ZOO.seen[0]:
                with pytest.raises(NotFittedError):
                    model.predict(ZOO.X)
        assert_same_model(model, fitted())

    def test_declared_classes_are_remembered_and_hold_for_chunks(self):
        model = JCMSPL().partial_fit(ZOO.X, ZOO.y, classes=ZOO.seen)
        for X, y in ((ZOO.X[:1], ["yeti"]), (iter([(ZOO.X[:1], ["yeti"])]), None)):
            with pytest.raises(ValueError, match="not in classes: 'yeti'"):
                model.partial_fit(X, y)

    def test_statistics_are_a_copy(self):
        model = fitted()
        total = model.statistics_
        total += model.statistics_
        assert model.statistics_.n_samples == len(ZOO.X)
        with pytest.raises(AttributeError, match="not fitted yet"):
            _ = JCMSPL().statistics_

    def test_what_cannot_go_on(self):
        rows = slice(0, 20)
        model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        before = dict(vars(model))
        with pytest.raises(ValueError, match="20 features"):
            model.partial_fit(ZOO.X[rows, :3], ZOO.y[rows])
        with pytest.raises(ValueError, match="changes the vector of a class that has samples"):
            model.partial_fit(ZOO.X[rows], ZOO.y[rows], class_vectors={ZOO.seen[0]: np.ones(8)})
        with pytest.raises(ValueError, match="no class vectors for 1 of the 1 classes in y: 'yeti'"):
            model.partial_fit(ZOO.X[:1], ["yeti"])
        with pytest.raises(ValueError, match="not in classes: "):
            model.partial_fit(ZOO.X[rows], ZOO.y[rows], classes=["yeti"])
        with pytest.raises(ValueError, match="feature_normalisation='none' differs"):
            model.set_params(feature_normalisation="none").partial_fit(ZOO.X[rows], ZOO.y[rows])
        model.set_params(feature_normalisation=before["feature_normalisation"])
        assert vars(model) == before
        plain = JCMSPL().fit(ZOO.X, ZOO.y)
        with pytest.raises(ValueError, match="came without class_vectors"):
            plain.partial_fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


class TestStatistics:
    def test_made_elsewhere_and_merged(self):
        names = list(ZOO.table)
        codes = np.array([names.index(label) for label in ZOO.y])
        parts = [
            Statistics.from_samples(ZOO.X[rows], codes[rows], len(names), unit_rows=True)
            for rows in (slice(0, 30), slice(30, None))
        ]
        model = JCMSPL().fit_from_statistics(parts[0] + parts[1], names, class_vectors=ZOO.table)
        assert_same_model(model, fitted())
        assert_array_equal(model.predict(ZOO.X_new), fitted().predict(ZOO.X_new))
        assert model.statistics_.allclose(fitted().statistics_)

    def test_class_numbers_are_the_default_labels(self):
        codes = np.unique(ZOO.y, return_inverse=True)[1]
        model = JCMSPL().fit_from_statistics(Statistics.from_samples(ZOO.X, codes, unit_rows=True))
        assert_array_equal(model.classes_, np.arange(6))

    def test_bad_input(self):
        codes = np.unique(ZOO.y, return_inverse=True)[1]
        statistics = Statistics.from_samples(ZOO.X, codes, unit_rows=True)
        with pytest.raises(TypeError, match=r"jcmspl.core.Statistics, but is ndarray"):
            JCMSPL().fit_from_statistics(ZOO.X)
        with pytest.raises(ValueError, match="6 different labels"):
            JCMSPL().fit_from_statistics(statistics, ["a", "b"])
        with pytest.raises(ValueError, match="no class vectors for 6 of the 6 classes in the statistics: 0, 1, 2"):
            JCMSPL().fit_from_statistics(statistics, class_vectors=ZOO.table)
        with pytest.raises(ValueError, match="unit_rows=False"):
            JCMSPL(feature_normalisation="center").fit_from_statistics(statistics)
        with pytest.raises(ValueError, match="no samples"):
            JCMSPL().fit_from_statistics(Statistics(3, 2, unit_rows=True))


def test_add_classes():
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table.select(ZOO.seen))
    assert len(model.unseen_classes_) == 0
    projection = model.visual_projection_
    for name in ZOO.unseen:
        model.add_classes({name: ZOO.table[name]})
    assert model.visual_projection_ is projection
    assert_array_equal(model.predict(ZOO.X_new), fitted().predict(ZOO.X_new))
    with pytest.raises(ValueError, match=r"knows 'animal .' already: pass replace=True"):
        model.add_classes({ZOO.unseen[0]: np.ones(8)})
    model.add_classes({ZOO.unseen[0]: np.ones(8)}, replace=True)
    assert_array_equal(model.class_table_[ZOO.unseen[0]], np.ones(8))
    with pytest.raises(ValueError, match="was trained on"):
        model.add_classes({ZOO.seen[0]: np.ones(8)}, replace=True)
    with pytest.raises(ValueError, match="3 attributes, but those of the model have 8"):
        model.add_classes({"new": np.ones(3)})
    with pytest.raises(TypeError, match="must name its classes"):
        model.add_classes(np.ones((1, 8)))
