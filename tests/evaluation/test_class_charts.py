"""Charts of classes: what is drawn, against an independent computation."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, recall_score

mpl.use("Agg")

from matplotlib import pyplot

from jcmspl import JCMSPL
from jcmspl.evaluation.class_charts import wilson
from jcmspl.plots import ClassAccuracyDisplay, ConfusionDisplay
from support.animals import make_zoo

ZOO = make_zoo(noise=0.8)
X_ALL, Y_ALL = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])


@pytest.fixture(scope="module")
def model():
    return JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def guesses(n_classes, per_class=6, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat([f"class {i:03}" for i in range(n_classes)], per_class)
    return truth, np.where(rng.random(len(truth)) < 0.6, truth, rng.permutation(truth))


class TestClassAccuracy:
    @pytest.mark.parametrize("n_classes", [1, 3, 60])
    def test_bars(self, n_classes):
        labels, shares = [f"class {i}" for i in range(n_classes)], np.linspace(1, 0, n_classes)
        display = ClassAccuracyDisplay(labels, {"among unseen": shares, "among all": [None, *shares[1:] / 2]}).plot()
        widths = [bar.get_width() for bar in display.ax_.patches]
        np.testing.assert_allclose(widths, 100 * np.concatenate([shares, [0], shares[1:] / 2]))
        assert [text.get_text() for text in display.ax_.get_yticklabels()] == labels
        assert "nan" not in display.to_svg("classes").lower()  # a share that is missing is not told
        # names do not overlap, and the best is on top
        display.figure_.canvas.draw()
        boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
        assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes))

    def test_dots_of_many_classes(self):
        truth, named = guesses(200)
        display = ClassAccuracyDisplay.from_predictions(truth, named)
        expected = np.sort(recall_score(truth, named, average=None))[::-1]
        np.testing.assert_allclose(display.ax_.get_lines()[0].get_xdata(), 100 * expected)
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert 20 < len(names) < 200
        at = display.ax_.get_yticks().astype(int)
        assert names == [display.labels[i] for i in at]  # each beside its own dot

    def test_from_predictions(self):
        truth, named = guesses(5)
        display = ClassAccuracyDisplay.from_predictions(truth, named, name="mine")
        shares = dict(zip(sorted(set(truth)), recall_score(truth, named, average=None), strict=True))
        assert dict(zip(display.labels, display.accuracies["mine"], strict=True)) == pytest.approx(shares)
        assert display.samples.tolist() == [6] * 5
        mean = np.mean(list(shares.values()))
        assert display.ax_.get_lines()[0].get_xdata()[0] == pytest.approx(100 * mean)
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [f"mine (mean {100 * mean:.1f} %)", "95 % interval"]

    def test_a_class_that_is_only_named_has_no_bar(self):
        display = ClassAccuracyDisplay.from_predictions(["a", "a", "b"], ["a", "c", "c"])
        assert display.labels == ["a", "b"]
        assert list(display.accuracies["accuracy"]) == [0.5, 0]

    def test_intervals_are_wilsons(self):
        right, of = [0, 3, 7, 10, 1], [4, 3, 20, 10, 1]
        display = ClassAccuracyDisplay(list("abcde"), {"accuracy": np.array(right) / np.array(of)}, samples=of).plot()
        expected = [binomtest(k, n).proportion_ci(method="wilson") for k, n in zip(right, of, strict=True)]
        drawn = np.array([segment[:, 0] for segment in display.ax_.collections[0].get_segments()])
        np.testing.assert_allclose(drawn, 100 * np.array(expected), atol=1e-9)

    def test_no_interval_without_samples(self):
        low, high = wilson(np.array([0.5, np.nan]), np.array([0.0, 5.0]))
        assert np.isnan([*low, *high]).all()
        display = ClassAccuracyDisplay(["a", "b"], {"accuracy": [0.5, None]}, samples=[0, 5]).plot()
        assert len(display.ax_.collections[0].get_segments()) == 0

    def test_order(self):
        display = ClassAccuracyDisplay(["b", "c", "a"], {"one": [0.2, None, 0.9]}, samples=[1, 2, 3])
        for order, names in (("given", "bca"), ("name", "abc"), ("accuracy", "abc")):
            drawn = display.plot(order=order)
            assert [text.get_text() for text in drawn.ax_.get_yticklabels()] == list(names)
            widths = dict(zip(names, [bar.get_width() for bar in drawn.ax_.patches], strict=True))
            assert widths == {"a": 90, "b": 20, "c": 0}

    def test_of_a_model(self, model):
        named = model.predict(X_ALL, candidates="all")
        bars = ClassAccuracyDisplay.from_estimator(model, X_ALL, Y_ALL, candidates="all")
        right = {label: np.mean(named[label == Y_ALL] == label) for label in set(Y_ALL.tolist())}
        assert dict(zip(bars.labels, bars.accuracies["accuracy"], strict=True)) == pytest.approx(right)
        unbiased = ClassAccuracyDisplay.from_estimator(model, X_ALL, Y_ALL, seen_penalty=1e6)
        assert all(
            bars_of == 0
            for label, bars_of in zip(unbiased.labels, unbiased.accuracies["accuracy"], strict=True)
            if label in ZOO.seen
        )

    def test_bad_input(self):
        with pytest.raises(ValueError, match="there are 2 labels but 1 values of 'accuracy'"):
            ClassAccuracyDisplay(["a", "b"], {"accuracy": [0.5]})
        with pytest.raises(ValueError, match="there are 2 labels but 3 values of 'samples'"):
            ClassAccuracyDisplay(["a", "b"], {"accuracy": [0.5, 1]}, samples=[1, 2, 3])
        with pytest.raises(ValueError, match="2 labels in y_true but 1 in y_pred"):
            ClassAccuracyDisplay.from_predictions(["a", "b"], ["a"])
        with pytest.raises(ValueError, match="is empty"):
            ClassAccuracyDisplay.from_predictions([], [])


class TestConfusion:
    @pytest.mark.parametrize("n_classes", [1, 3, 50])
    def test_cells(self, n_classes):
        counts = np.random.default_rng(0).integers(0, 3, (n_classes, n_classes)) * 123
        counts[0] = 0  # a class without samples
        display = ConfusionDisplay(counts, [f"class {i}" for i in range(n_classes)]).plot()
        assert len(display.ax_.patches) == np.count_nonzero(counts)
        written = [int(text.get_text()) for text in display.ax_.texts]
        assert written == (counts[counts > 0].tolist() if n_classes <= 3 else [])
        assert len(display.ax_.get_yticklabels()) == n_classes

    def test_an_image_of_many_classes(self):
        truth, named = guesses(200)
        display = ConfusionDisplay.from_predictions(truth, named)
        counts = confusion_matrix(truth, named)
        image = display.ax_.get_images()[0].get_array()
        np.testing.assert_allclose(image.filled(0), 100 * counts / counts.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(image.mask, counts == 0)
        names = [text.get_text() for text in display.ax_.get_xticklabels()]
        assert 20 < len(names) < 200
        assert names == [display.labels[i] for i in display.ax_.get_xticks().astype(int)]

    def test_from_predictions(self):
        truth, named = guesses(4)
        display = ConfusionDisplay.from_predictions(truth, named)
        np.testing.assert_array_equal(display.counts, confusion_matrix(truth, named))
        assert display.labels == sorted(set(truth))
        mixed = ConfusionDisplay.from_predictions([1, "a", (2, 3)], [1, 1, "a"])
        assert sorted(map(str, mixed.labels)) == ["(2, 3)", "1", "a"]
        chosen = ConfusionDisplay.from_predictions(["a", "b"], ["a", "a"], labels=["b", "a", "z"])
        assert np.asarray(chosen.counts).tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]

    def test_order(self):
        #  a and c are taken for each other, as are b and d
        counts = np.array([[5, 0, 4, 0], [0, 9, 0, 1], [5, 0, 3, 0], [0, 2, 0, 6]])
        display = ConfusionDisplay(counts, ["d1", "a", "d2", "b"])

        def drawn(order):
            ax = display.plot(order=order).ax_
            cells = {(round(cell.get_y() + 0.5), round(cell.get_x() + 0.5)) for cell in ax.patches}
            names = [text.get_text() for text in ax.get_yticklabels()]
            assert {(names[i], names[j]) for i, j in cells} == {
                (display.labels[i], display.labels[j]) for i, j in np.argwhere(counts)
            }
            return names

        assert drawn("given") == ["d1", "a", "d2", "b"]
        assert drawn("name") == ["a", "b", "d1", "d2"]
        assert drawn("accuracy") == ["a", "b", "d1", "d2"]  # 0.9, 0.75, 0.56, 0.38
        alike = drawn("similarity")
        assert abs(alike.index("d1") - alike.index("d2")) == abs(alike.index("a") - alike.index("b")) == 1

    def test_what_can_be_chosen(self):
        display = ConfusionDisplay(np.eye(2), ["a", "b"])
        assert len(display.plot(colorbar=False).figure_.axes) == 1
        drawn = display.plot(include_values=False, cmap="viridis")
        assert [*drawn.ax_.texts] == []
        assert drawn.ax_.patches[0].get_facecolor() == mpl.colormaps["viridis"](1.0)
        assert "class (row)" in drawn.figure_.axes[1].get_ylabel()

    def test_of_a_model(self, model):
        named = model.predict(X_ALL, candidates="all")
        display = ConfusionDisplay.from_estimator(model, X_ALL, Y_ALL, candidates="all")
        assert display.counts.sum() == len(Y_ALL)
        assert np.trace(display.counts) == np.sum(named == Y_ALL)

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"2 labels, so counts must be 2 x 2, but its shape is \(3, 3\)"):
            ConfusionDisplay(np.eye(3), ["a", "b"])
        for bad in (-1, np.nan):
            with pytest.raises(ValueError, match="negative or not finite"):
                ConfusionDisplay([[bad]], ["a"])
        with pytest.raises(ValueError, match="order must be one of"):
            ConfusionDisplay([[1]], ["a"]).plot(order="size")
