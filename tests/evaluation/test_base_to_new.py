"""Base to new: figures against a plain loop, what is drawn, and the forms of the result."""

import json

import numpy as np
import pytest

from jcmspl import JCMSPL, JCMSPLCV, ClassTable, evaluate
from jcmspl.datasets import Dataset, load_dataset, load_digits, make_zsl
from jcmspl.evaluation.base_to_new import BaseToNew
from jcmspl.methods import ESZSL, TextPrototypes

N_CLASSES, N_TRAIN, N_TEST, N_FEATURES = 12, 6, 5, 10


def make_aligned(noise=0.6, seed=0, n_train=N_TRAIN):
    """Samples around the vectors of their classes; a part to train on and one to test with, of all classes."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((N_CLASSES, N_FEATURES))
    labels = [f"class {i:02}" for i in range(N_CLASSES)]
    numbers = np.repeat(np.arange(N_CLASSES), n_train + N_TEST)
    X = vectors[numbers] + 0.3 + noise * rng.standard_normal((len(numbers), N_FEATURES))
    rows = np.arange(len(numbers)).reshape(N_CLASSES, -1)
    parts = {"train": rows[:, :n_train].ravel(), "test_seen": rows[:, n_train:].ravel()}
    return Dataset("aligned", X, [labels[i] for i in numbers], ClassTable(labels, vectors), parts)


@pytest.fixture(scope="module")
def data():
    return make_aligned()


def run(model, data, **options):
    return evaluate(model, data, protocol="base-to-new", progress=False, **options)


def accuracy(model, data, labels, candidates, **options):
    """Per class, one sample at a time."""
    X, y = data.part("test_seen")
    shares = []
    for label in labels:
        own = [row for row, name in zip(X, y, strict=True) if name == label]
        named = [model.predict(row[None], candidates=candidates, seen_penalty=0.0, **options)[0] for row in own]
        shares.append(np.mean([name == label for name in named]))
    return float(np.mean(shares))


@pytest.mark.parametrize("method", [JCMSPL, ESZSL])
def test_oracle_a_plain_loop(data, method):
    found = run(method(), data)
    labels = list(data.classes)
    base, new = labels[: N_CLASSES // 2], labels[N_CLASSES // 2 :]
    X, y = data.part("train")
    is_base = np.isin(y, base)
    for model, row in ((TextPrototypes(), found.row(0)), (method(progress=False), found.row())):
        model.fit(X[is_base], y[is_base], class_vectors=data.classes)
        of_base, of_new = accuracy(model, data, base, base), accuracy(model, data, new, new)
        assert row.base == pytest.approx(of_base)
        assert row.new == pytest.approx(of_new)
        assert row.harmonic_mean == pytest.approx(2 * of_base * of_new / (of_base + of_new))
        among_all = row.draws[0].uncalibrated
        assert among_all.acc_seen == pytest.approx(accuracy(model, data, base, labels))
        assert among_all.acc_unseen == pytest.approx(accuracy(model, data, new, labels))
    assert 0 < found.row().harmonic_mean < 1
    assert (found.n_base, found.n_new, found.n_tested) == (6, 6, [30, 30])


def test_the_bias_is_calibrated_on_base_classes(data):
    found = run(JCMSPL(), data).row().draws[0]
    X, y = data.part("train")
    is_base = np.isin(y, list(data.classes)[: N_CLASSES // 2])
    model = JCMSPL(progress=False).fit(X[is_base], y[is_base], class_vectors=data.classes)
    model.calibrate(X[is_base], y[is_base])
    assert found.seen_bias == pytest.approx(model.seen_penalty_)
    assert found.seen_bias != 0
    assert run(JCMSPL(), data).row(0).draws[0].seen_bias == 0  # nothing was trained


class Recorded:
    """Remembers what models were fitted to."""

    def __init__(self, monkeypatch):
        self.fits = []
        fit = ESZSL.fit

        def recording(model, X, y, **options):
            self.fits.append((np.asarray(X), list(y)))
            return fit(model, X, y, **options)

        monkeypatch.setattr(ESZSL, "fit", recording)

    def counts(self):
        return [np.unique(y, return_counts=True)[1].tolist() for _, y in self.fits]

    def rows(self):
        return [{row.tobytes() for row in X} for X, _ in self.fits]


@pytest.fixture
def recorded(monkeypatch):
    return Recorded(monkeypatch)


def test_shots_are_of_each_class_and_more_include_fewer(data, recorded):
    found = run(ESZSL(), data, shots=[4, "all", 1])
    assert recorded.counts() == [[1] * 6, [4] * 6, [N_TRAIN] * 6]
    one, four, everything = recorded.rows()
    assert one < four < everything
    assert [(row.shots, row.n_samples) for row in found.rows] == [(0, 0), (1, 6), (4, 24), (None, 36)]


def test_draws_follow_from_the_seed(data, recorded):
    first, second = (run(ESZSL(), data, shots=2, random_state=seed) for seed in (3, 4))
    both = run(ESZSL(), data, shots=2, n_draws=2, random_state=3)
    rows = recorded.rows()
    assert rows[2:] == rows[:2]
    assert rows[0] != rows[1]
    assert both.row().draws == [first.row().draws[0], second.row().draws[0]]
    assert both.row().base == pytest.approx((first.row().base + second.row().base) / 2)


def test_random_halves(data, recorded):
    found = run(ESZSL(), data, base="random", n_draws=3)
    halves = [frozenset(y) for _, y in recorded.fits]
    assert "60 test samples" in found.about()[0]
    assert len(set(halves)) == 3
    assert {len(half) for half in halves} == {6}


def test_classes_that_are_named(data, recorded):
    chosen = ["class 03", "class 07", "class 11"]
    found = run(ESZSL(), data, base=(label for label in chosen), n_draws=2)
    assert [set(y) for _, y in recorded.fits] == [set(chosen)] * 2
    assert (found.base, found.n_base, found.n_new) == ("given", 3, 9)
    assert run(ESZSL(), data, base=np.array(chosen)).rows[1].draws == found.rows[1].draws[:1]


def test_classes_with_few_samples_give_all(data, recorded):
    few = np.setdiff1d(data.rows("train"), [1, 2, 3, 4, 5])  # one is left of the first class
    short = Dataset("short", data.X, data.y, data.classes, {**data.parts, "train": few})
    found = run(ESZSL(), short, shots=4)
    assert recorded.counts() == [[1, 4, 4, 4, 4, 4]]
    assert any("'class 00'" in note and "fewer" in note for note in found.notes)


def test_classes_without_samples_are_in_neither_half(data, recorded):
    rows = {part: rows[data.class_numbers[rows] != 2] for part, rows in data.parts.items()}
    found = run(ESZSL(), Dataset("gap", data.X, data.y, data.classes, rows))
    assert (found.n_base, found.n_new) == (6, 5)
    assert "class 02" not in recorded.fits[0][1]


def test_one_shot_cannot_be_calibrated(data):
    figures = run(ESZSL(), data, shots=1).row(1).draws[0]
    assert figures.seen_bias == 0
    assert figures.generalized == figures.uncalibrated


def test_without_class_vectors_of_that_length_there_is_no_cosine():
    found = run(ESZSL(), make_zsl(300, 12, 5, 8, 4))
    assert [row.method for row in found.rows] == ["ESZSL"]


def test_a_data_set_with_unseen_classes(recorded):
    digits = load_digits()
    own = run(ESZSL(), digits)
    assert (own.base, own.n_base, own.n_new) == ("own", len(digits.seen), len(digits.unseen))
    model = ESZSL(progress=False).fit(*digits.part("trainval"), class_vectors=digits.classes)
    assert own.row().new == pytest.approx(model.score(*digits.part("test_unseen"), candidates=digits.unseen))
    other = run(ESZSL(), digits, base="first")
    assert (other.n_base, other.n_new) == (5, 5)
    assert any("split" in note for note in other.notes)


def test_a_test_part_is_drawn_where_there_is_none(data):
    whole = Dataset("whole", data.X, data.y, data.classes, {"train": np.arange(len(data.X))})
    found = run(ESZSL(), whole)
    assert found.n_tested == [12, 12]  # 2 of 11 of each class
    assert any(note.startswith("20%") for note in found.notes)


def test_the_model_stays_as_it_was(data):
    fitted = JCMSPL(progress=False).fit(*data.part("train"), class_vectors=data.classes)
    before = fitted.decision_function(data.X[:3], seen_penalty=0)
    assert run(fitted, data).row().draws == run(JCMSPL(), data).row().draws
    np.testing.assert_array_equal(fitted.decision_function(data.X[:3], seen_penalty=0), before)
    assert len(fitted.classes_) == N_CLASSES


def test_no_model_is_the_default_and_a_search_is_tuned_on_base_classes(data):
    assert run(None, data).rows == run(JCMSPL(), data).rows
    search = JCMSPLCV(class_kernel="linear", whitening_shrinkage=5, cv=2)
    assert run(search, data, shots=4).model == "JCMSPLCV"


def test_a_search_that_is_interrupted_ends_it(data, monkeypatch):
    monkeypatch.setattr(ESZSL, "interrupted_", True, raising=False)
    with pytest.raises(KeyboardInterrupt):
        run(ESZSL(), data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shots": 0}, "shots must be from 1 to"),
        ({"shots": []}, "at least one"),
        ({"shots": [2, 2]}, "different numbers"),
        ({"shots": "many"}, "numbers of samples of each class, or 'all'"),
        ({"base": "second"}, "base must be one of 'first', 'random', 'own'"),
        ({"base": "own"}, "has no unseen classes"),
        ({"base": ["class 01", "yeti"]}, "'yeti'"),
        ({"base": ["class 01"]}, "1 base and 11 new ones"),
        ({"n_draws": 0}, "n_draws must be from 1 to"),
        ({"adapt": True}, "adapt: protocol='base-to-new' does not have this option"),
        ({"hits": (1, 3)}, "hits: protocol='base-to-new'"),
    ],
)
def test_mistakes(data, options, words):
    with pytest.raises(ValueError, match=words):
        run(ESZSL(), data, **options)


def test_mistakes_of_the_protocol(data):
    with pytest.raises(ValueError, match="protocol must be"):
        evaluate(ESZSL(), data, protocol="few-shot")
    with pytest.raises(ValueError, match="shots: protocol='zero-shot' does not have this option"):
        evaluate(ESZSL(), data, shots=4)
    with pytest.raises(TypeError, match="an estimator such as JCMSPL"):
        run("JCMSPL", data)
    two, parts = ClassTable(["a", "b"], [[0.0], [1.0]]), {"train": [0, 2], "test_seen": [1, 3]}
    few = Dataset("few", np.eye(4), ["a", "a", "b", "b"], two, parts)
    with pytest.raises(ValueError, match=r"2 classes have training and test samples, but .* four"):
        run(ESZSL(), few)


@pytest.fixture(scope="module")
def found(data):
    return run(JCMSPL(), data, shots=[2, 4, None], n_draws=2)


class TestForms:
    def test_text(self, found):
        text = found.to_text()
        assert text.startswith("JCMSPL on aligned: base to new\n6 base and 6 new classes (the first half")
        assert "plain cosine" in text
        assert "2 draws (seeds 0 to 1)" in text
        assert str(found) == text

    def test_json_and_back(self, found):
        assert BaseToNew.from_json(found.to_json()) == found
        assert json.loads(found.to_json())["rows"][1]["shots"] == 2

    def test_markdown_and_notebook(self, found):
        assert "| plain cosine | 0 |" in found.to_markdown()
        assert "plain cosine" in found._repr_html_()

    def test_page(self, found, tmp_path):
        found.save(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert "<svg" in page
        assert "is that of the plain cosine" in page

    def test_chart_starts_at_the_cosine(self, found):
        chart = found.chart()
        assert list(chart.shots) == [0, 2, 4, N_TRAIN]
        assert chart.mean("new")[0] == pytest.approx(found.row(0).new)

    def test_rows(self, found):
        assert found.row() is found.rows[-1]
        with pytest.raises(ValueError, match="no row with 3 shots: choose from 0, 2, 4, all"):
            found.row(3)

    def test_other_endings(self, found, tmp_path):
        with pytest.raises(ValueError, match="a report is written as"):
            found.save(tmp_path / "page.pdf")


def test_the_field_s_split_of_real_data(data_folder):
    """The plain cosine has the figures that were measured without this package."""
    path = data_folder / "clip_cars.npz"
    if not path.exists():
        pytest.skip("no clip_cars.npz")
    row = run(ESZSL(), load_dataset(path), shots=1).row(0)
    figures = (row.base, row.new, row.harmonic_mean)
    assert [round(100 * figure, 1) for figure in figures] == [59.1, 69.1, 63.7]
