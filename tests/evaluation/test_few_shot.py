"""Few-shot recognition: figures against the same computed by hand, and the chart of them."""

import copy

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.metrics import balanced_accuracy_score

mpl.use("Agg")

from matplotlib import pyplot

from jcmspl import JCMSPL
from jcmspl.methods import GDA, RidgeVS
from jcmspl.metrics import few_shot_accuracies
from jcmspl.plots import FewShotDisplay
from support.animals import make_zoo

ZOO = make_zoo(noise=1.5)
SHOTS = (0, 1, 3)
BOTH, ALONE = "prediction and samples", "samples alone"


@pytest.fixture(scope="module")
def model():
    return JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(scope="module")
def found(model):
    return few_shot_accuracies(model, ZOO.X_new, ZOO.y_new, shots=SHOTS, n_draws=3)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def by_hand(model, shots, seed, weight):
    rng = np.random.default_rng(seed)
    given = np.concatenate(
        [rng.choice(np.flatnonzero(ZOO.y_new == label), shots, replace=False) for label in np.unique(ZOO.y_new)]
    )
    grown = copy.copy(model).add_classes(X=ZOO.X_new[given], y=ZOO.y_new[given]).set_params(prediction_count=weight)
    rest = np.setdiff1d(np.arange(len(ZOO.y_new)), given)
    return balanced_accuracy_score(ZOO.y_new[rest], grown.predict(ZOO.X_new[rest], candidates="unseen"))


def test_figures(model, found):
    for name, weight in ((BOTH, 1), (ALONE, 0)):
        for column, shots in enumerate(SHOTS[1:], 1):
            expected = [by_hand(model, shots, seed, weight) for seed in range(3)]
            np.testing.assert_allclose(found[name][:, column], expected)
    np.testing.assert_allclose(found[BOTH][:, 0], model.score(ZOO.X_new, ZOO.y_new))
    assert np.isnan(found[ALONE][:, 0]).all()


def test_draws_depend_on_the_seed_alone(model, found):
    again = few_shot_accuracies(model, ZOO.X_new, ZOO.y_new, shots=[3], n_draws=2, random_state=1)
    np.testing.assert_array_equal(again[BOTH][:, 0], found[BOTH][1:, 2])


def test_the_model_stays_as_it_is(model):
    before = model.decision_function(ZOO.X_new, seen_penalty=0)
    adapted = copy.copy(model).adapt(ZOO.X_new, candidates="unseen")
    of_both = [few_shot_accuracies(one, ZOO.X_new, ZOO.y_new, shots=[0, 2], n_draws=1) for one in (model, adapted)]
    np.testing.assert_array_equal(model.decision_function(ZOO.X_new, seen_penalty=0), before)
    np.testing.assert_array_equal(of_both[0][BOTH], of_both[1][BOTH])  # samples undo an adaptation
    assert hasattr(adapted, "adapted_")


def test_data_frames_keep_their_names():
    columns = [f"f{i}" for i in range(ZOO.X.shape[1])]
    X, X_new = (pd.DataFrame(rows, columns=columns) for rows in (ZOO.X, ZOO.X_new))
    model = JCMSPL(progress=False).fit(X, ZOO.y, class_vectors=ZOO.table)
    assert few_shot_accuracies(model, X_new, ZOO.y_new, shots=[1], n_draws=1)[BOTH].shape == (1, 1)


def test_the_chart_has_means_and_standard_errors(model, found):
    display = FewShotDisplay.from_estimator(model, ZOO.X_new, ZOO.y_new, shots=SHOTS, n_draws=3)
    assert display.chance == pytest.approx(1 / 3)
    for container, name in zip(display.ax_.containers, (BOTH, ALONE), strict=True):
        line, _, (bars,) = container.lines
        there = slice(None) if name == BOTH else slice(1, None)
        np.testing.assert_array_equal(line.get_xdata(), SHOTS[there])
        means, errors = 100 * found[name].mean(axis=0)[there], 100 * scipy.stats.sem(found[name], axis=0)[there]
        np.testing.assert_allclose(line.get_ydata(), means)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends, np.column_stack([means - errors, means + errors]), atol=1e-9)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [BOTH, ALONE, "chance: 33.3 %"]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "1", "3"]


def test_axes_start_where_the_data_does():
    high = FewShotDisplay([0, 1], {BOTH: [[0.8, 0.9]]}, chance=0.01).plot()
    assert high.ax_.get_ylim()[0] > 70
    assert "chance: 1.0 %" in [text.get_text() for text in high.ax_.get_legend().get_texts()]
    low = FewShotDisplay([0, 1], {BOTH: [[0.2, 0.4]]}, chance=0.1).plot()
    assert low.ax_.get_ylim()[0] < 10
    assert FewShotDisplay([0, 1, 100], {BOTH: [[0.2, 0.4, 0.5]]}).plot().ax_.get_xscale() == "symlog"


def test_a_single_draw_has_no_error():
    display = FewShotDisplay([0, 1], {BOTH: [[0.8, 0.9]]})
    assert display.standard_error(BOTH).tolist() == [0, 0]


def test_what_cannot_be_measured(model):
    X, y = ZOO.X_new, ZOO.y_new
    for change, message in (
        ({"y": y[:-1]}, "45 samples in X but 44 labels in y"),
        ({"X": ZOO.X, "y": ZOO.y}, "was trained on 'animal .*: pass only samples of new classes"),
        ({"shots": [15]}, "has 15 samples, too few to draw 15 .*leave out shots above 14"),
        ({"shots": [2, 1]}, "ascending"),
        ({"shots": []}, "ascending"),
        ({"shots": [-1]}, "shots must be from 0"),
        ({"n_draws": 0}, "n_draws must be from 1"),
        ({"X": X[y == y[0]], "y": y[y == y[0]]}, "two or more new classes"),
        ({"y": ["yeti"] * len(y)}, "no class vectors for 1 of the 1 classes in y: 'yeti'"),
        ({"estimator": copy.copy(model).set_params(space="semantic")}, "in the semantic space, where samples"),
    ):
        given = {"estimator": model, "X": X, "y": y, **change}
        with pytest.raises(ValueError, match=message):
            few_shot_accuracies(**given)
    gda = GDA(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.raises(ValueError, match="a GDA needs another fit to use labelled samples"):
        few_shot_accuracies(gda, X, y)
    with pytest.raises(ValueError, match=r"a row for each draw and a column for each of 2 shots, .* \(2,\)"):
        FewShotDisplay([0, 1], {BOTH: [0.5, 0.6]})


def test_any_bilinear_model_will_do():
    ridge = RidgeVS(space="visual", progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    accuracies = few_shot_accuracies(ridge, ZOO.X_new, ZOO.y_new, shots=[0, 10], n_draws=2)[BOTH].mean(axis=0)
    assert accuracies[1] > accuracies[0]
