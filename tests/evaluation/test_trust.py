"""Probabilities and prediction sets in the report of an evaluation."""

import copy

import numpy as np
import pytest
from sklearn.metrics import log_loss

from jcmspl import JCMSPL, evaluate
from jcmspl.datasets import make_zsl
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.metrics import expected_calibration_error


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(900, 30, 12, 16, 4, noise=1.5, random_state=0)


@pytest.fixture(scope="module")
def model(dataset):
    X, y = dataset.part("train")
    fitted = JCMSPL(progress=False).fit(X, y, class_vectors=dataset.classes)
    return fitted.calibrate(X, y).calibrate_sets(X, y)


@pytest.fixture(scope="module")
def report(model, dataset):
    return evaluate(model, dataset, spaces=["visual"], progress=False)


def samples_of(dataset, group):
    X, y = dataset.part("test_unseen")
    if group == "all":
        others = dataset.part("test_seen")
        X, y = np.concatenate([X, others[0]]), np.concatenate([y, others[1]])
    return X, y


@pytest.mark.parametrize("group", ["unseen", "all"])
def test_figures_are_those_of_calls(model, dataset, report, group):
    X, y = samples_of(dataset, group)
    labels = list(dataset.unseen) if group == "unseen" else [*model.classes_.tolist(), *dataset.unseen]
    (found,) = (one for one in report.trust if one.group == group)
    assert found.is_calibrated
    assert found.n_candidates == len(labels)
    shares = model.predict_proba(X, candidates=sorted(labels))
    assert found.errors.log_loss == pytest.approx(log_loss(y, shares, labels=sorted(labels)), rel=1e-4)
    error = expected_calibration_error(y, shares, labels=sorted(labels))
    assert found.errors.calibration_error == pytest.approx(error, abs=1e-4)
    assert found.reliability.error == found.errors.calibration_error
    sets = model.predict_set(X, candidates=labels)
    own = sets[np.arange(len(y)), [labels.index(label) for label in y.tolist()]]
    of_classes = {label: own[y == label].mean() for label in set(y.tolist())}
    assert found.sets.covered == pytest.approx(np.mean(list(of_classes.values())))
    assert found.sets.size == pytest.approx(sets.sum(axis=1).mean())
    assert found.sets.promise == str(model.set_calibration_[group].at(0.9))
    for row in report.classes:
        if (row.kind == "unseen") == (group == "unseen"):
            (label,) = (one for one in of_classes if str(one) == row.label)
            assert row.coverage == pytest.approx(of_classes[label])
            assert row.set_size == pytest.approx(sets[y == label].sum(axis=1).mean())


def test_forms(report):
    again = Report.from_json(report.to_json())
    assert again.trust == report.trust
    text = report.to_text()
    assert "calibration error" in text
    assert "Prediction sets among unseen classes: asked for 90 %, this data can promise" in " ".join(text.split())
    assert "covered by sets" in report.to_markdown()
    pytest.importorskip("matplotlib")
    page = report.to_html()
    assert "asked for 90 %, this data can promise" in page
    assert "How often predicted classes are right, by their probability" in page
    assert "covered by sets" in page


def test_a_model_without_calibration_says_so(dataset):
    X, y = dataset.part("train")
    plain = JCMSPL(progress=False).fit(X, y, class_vectors=dataset.classes)
    report = evaluate(plain, dataset, spaces=["visual"], progress=False)
    assert [one.is_calibrated for one in report.trust] == [False, False]
    assert "sets" not in report.tables()
    assert "not calibrated" in report.to_text()
    pytest.importorskip("matplotlib")
    assert "The temperature was not calibrated" in report.to_html()
    assert "covered by sets" not in report.to_html()


def test_another_space_than_that_of_the_model(model, dataset):
    report = evaluate(model, dataset, spaces=["semantic"], progress=False)
    twin = copy.copy(model).set_params(space="semantic")
    X, y = dataset.part("test_unseen")
    labels = sorted(dataset.unseen)
    expected = log_loss(y, twin.predict_proba(X, candidates=labels), labels=labels)
    assert report.trust[0].errors.log_loss == pytest.approx(expected, rel=1e-4)
