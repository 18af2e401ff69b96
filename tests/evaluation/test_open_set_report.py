"""Open sets in the report of an evaluation."""

import copy
import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from jcmspl import JCMSPL, evaluate
from jcmspl.datasets import make_zsl
from jcmspl.evaluation.zero_shot_report import Report


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(600, 30, 12, 8, 4, noise=1.5, random_state=0)


@pytest.fixture(scope="module")
def model(dataset):
    X, y = dataset.part("trainval")
    return JCMSPL(progress=False).fit(X, y, class_vectors=dataset.classes).calibrate(X, y)


def test_figures_are_those_of_candidates_by_name(model, dataset):
    X, y = dataset.part("train")
    twin = copy.copy(model).calibrate_rejection(X, y, max_false_rejection=0.2)
    report = evaluate(twin, dataset, open_set=True, progress=False)
    X, y = dataset.part("test_unseen")
    scores = twin.decision_function(X, candidates=dataset.unseen)
    own = y[:, None] == np.array(dataset.unseen)
    known, strangers = scores.max(axis=1), np.where(own, -np.inf, scores).max(axis=1)  # equal where the name was wrong
    for label in dataset.unseen:
        others = [other for other in dataset.unseen if other != label]
        by_name = twin.decision_function(X[y == label], candidates=others).max(axis=1)
        np.testing.assert_allclose(strangers[y == label], by_name, rtol=0, atol=1e-6)  # float32
    found, chosen = report.results[0].open_set, twin.rejection_["visual", "cosine", "unseen"]
    threshold = chosen.value
    rival = chosen.temperature * logsumexp(
        twin.decision_function(X, candidates="seen").astype(float) / chosen.temperature, axis=1
    )
    known, strangers = (scores - chosen.weight * np.maximum(rival - chosen.floor, 0) for scores in (known, strangers))
    truth = np.repeat([1, 0], len(X))
    assert found.auroc == pytest.approx(roc_auc_score(truth, np.concatenate([known, strangers])), abs=1e-4)
    assert found.threshold == threshold
    assert found.lost == pytest.approx(np.mean(known < threshold), abs=1 / len(X))
    assert found.rejected == pytest.approx(np.mean(strangers < threshold), abs=1 / len(X))
    assert all(result.open_set for result in report.results)
    again = Report.from_json(report.to_json())
    assert again.results[0].open_set == found
    assert "AUROC" in report.to_text()
    assert "## Open set" in report.to_markdown()


def test_seen_unseen_or_neither(model, dataset):
    twin = copy.copy(model).calibrate_rejection(*dataset.part("train"), max_false_rejection=0.3)
    report = evaluate(twin, dataset, spaces=["visual"], open_set=True, progress=False)
    kinds, everything = report.results[0].open_set.kinds, [*twin.classes_, *dataset.unseen]
    for kind, part in (("seen", "test_seen"), ("unseen", "test_unseen")):
        named = twin.predict(dataset.part(part)[0], candidates=everything, reject="auto", reject_label="")
        expected = [np.isin(named, twin.classes_), np.isin(named, dataset.unseen), named == ""]
        np.testing.assert_allclose(kinds[kind], np.mean(expected, axis=1), atol=1e-12)
    X, y = dataset.part("test_unseen")
    named = np.empty(len(y), dtype=object)
    for label in dataset.unseen:
        others = [other for other in everything if other != label]
        named[y == label] = twin.predict(X[y == label], candidates=others, reject="auto")
    expected = [np.isin(named, twin.classes_), np.isin(named, dataset.unseen), [name is None for name in named]]
    np.testing.assert_allclose(kinds["stranger"], np.mean(expected, axis=1), atol=1e-12)
    assert "neither" in report.to_text()
    assert Report.from_json(report.to_json()).results[0].open_set.kinds == kinds
    pytest.importorskip("matplotlib")
    assert "seen, unseen or neither?" in report.to_html()


def test_without_a_threshold_and_unless_asked_for(dataset):
    X, y = dataset.part("trainval")
    model = JCMSPL(progress=False).fit(X, y, class_vectors=dataset.classes)
    report = evaluate(model, dataset, spaces=["visual"], open_set=True, progress=False)
    found = report.results[0].open_set
    assert (found.threshold, found.lost, found.rejected) == (None, None, None)
    assert "none chosen" in report.to_text()
    pytest.importorskip("matplotlib")
    assert '<h2 id="open-set">Open set</h2>' in report.to_html()
    plain = evaluate(model, dataset, spaces=["visual"], progress=False)
    assert plain.results[0].open_set is None
    assert "open_set" not in plain.data["results"][0]
    assert "open_set" not in plain.tables()
    assert "Open set" not in plain.to_html()


def test_an_adapted_model_has_none(model, dataset):
    report = evaluate(model, dataset, spaces=["visual"], adapt=True, open_set=True, progress=False)
    assert [result.open_set is None for result in report.results] == [False, True]
    assert len(report.tables()["open_set"].rows) == 1


def test_one_unseen_class_cannot_be_left_out(model, dataset):
    first, *others = dataset.unseen
    rows = dataset.rows("test_unseen")
    labels = np.asarray(dataset.y)[rows]
    one = dataclasses.replace(dataset, parts={**dataset.parts, "test_unseen": rows[labels == first]})
    assert others
    with pytest.raises(ValueError, match="needs two unseen classes"):
        evaluate(model, one, open_set=True, progress=False)
