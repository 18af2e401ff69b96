"""Heads on generated samples: each against its definition, and noise that is the same for all classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from jcmspl import load
from jcmspl.methods import CVA
from support.animals import make_zoo
from support.small_networks import small

ZOO = make_zoo(noise=0.6)
MODEL = small(CVA, reconstruction_weight=10.0, max_iter=30, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def samples_of(model, names):
    """Return normalised samples of classes, (n_classes, n_generated, n_features), by the layers one by one."""
    arrays = {name: array.astype(float) for name, array in model.arrays_.items()}
    vectors = model.class_normalisation_.of_rows(ZOO.table.select(names).vectors) * arrays["class_unit"]
    weights = np.hstack([arrays["class_weights"], arrays["noise_weights"]])
    shape = model.n_generated, arrays["noise_weights"].shape[1]
    noise = np.random.RandomState(int(arrays["generation"])).standard_normal(shape)
    inputs = [np.hstack([np.tile(vector, (len(noise), 1)), noise]) for vector in vectors]
    hidden = [np.maximum(one @ weights.T + arrays["hidden_bias"], 0) for one in inputs]
    found = [one @ arrays["output_weights"].T + arrays["output_bias"] for one in hidden]
    return np.stack(found) / arrays["feature_unit"]


def scores(head, names=ZOO.unseen, model=MODEL, **parameters):
    twin = model.set_params(head=head, **parameters)
    return twin.decision_function(ZOO.X_new, candidates=names)


def test_cosine_with_generated_means():
    means = samples_of(MODEL, ZOO.unseen).mean(axis=1)
    expected = (
        MODEL.feature_normalisation_.of_rows(ZOO.X_new) @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
    )
    assert_allclose(scores("cosine"), expected, rtol=1e-6, atol=1e-8)


def test_discriminant_analysis():
    Z = MODEL.feature_normalisation_.of_rows(ZOO.X)
    deviations = np.concatenate([Z[ZOO.y == name] - Z[ZOO.y == name].mean(axis=0) for name in ZOO.seen])
    S = deviations.T @ deviations / len(Z)
    precision = np.linalg.inv(0.5 * S + 0.5 * np.trace(S) / len(S) * np.eye(len(S)))
    means = samples_of(MODEL, ZOO.unseen).mean(axis=1)
    X_new = MODEL.feature_normalisation_.of_rows(ZOO.X_new)
    expected = X_new @ precision @ means.T - np.einsum("ij,jk,ik->i", means, precision, means) / 2
    assert_allclose(scores("lda"), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_softmax_is_logistic_regression():
    samples = samples_of(MODEL, ZOO.unseen) * float(MODEL.arrays_["feature_unit"])
    Z, numbers = samples.reshape(-1, samples.shape[2]), np.repeat(np.arange(len(samples)), samples.shape[1])
    peer = LogisticRegression(C=1 / (0.1 * len(Z)), tol=1e-8, max_iter=5000).fit(Z, numbers)
    new = MODEL.feature_normalisation_.of_rows(ZOO.X_new) * float(MODEL.arrays_["feature_unit"])
    found, expected = scores("softmax"), peer.decision_function(new)
    differences = [one - one.mean(axis=1, keepdims=True) for one in (found, expected)]
    assert_allclose(*differences, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("head", ["cosine", "lda"])
def test_other_candidates_do_not_matter(head):
    everything, some = scores(head, ZOO.unseen), scores(head, ZOO.unseen[1:])
    assert_allclose(everything[:, 1:], some, rtol=1e-12)


@pytest.mark.parametrize("head", ["cosine", "lda", "softmax"])
def test_equal_vectors_tie_and_order_does_not_matter(head):
    MODEL.set_params(head=head)
    vectors = {name: ZOO.table[name] for name in ZOO.unseen} | {"twin": ZOO.table[ZOO.unseen[0]]}
    found = MODEL.decision_function(ZOO.X_new, class_vectors=vectors)
    assert_array_equal(found[:, -1], found[:, 0])
    turned = MODEL.decision_function(ZOO.X_new, class_vectors=dict(reversed(vectors.items())))
    assert_allclose(turned[:, ::-1], found, atol=1e-9 * np.abs(found).max())


def test_a_calibration_belongs_to_a_head(tmp_path):
    model = small(CVA, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).calibrate(ZOO.X, ZOO.y, n_splits=2)
    assert set(model.calibration_) == {("visual", "cosine")}
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.seen_penalty_ == model.seen_penalty_
    assert again.set_params(head="lda").seen_penalty_ == 0


def test_samples_of_a_class_move_its_prototype():
    model = small(CVA, progress=False, prediction_count=0.0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    model.add_classes(X=ZOO.X_new, y=ZOO.y_new)
    for head in ("cosine", "lda", "softmax"):
        assert model.set_params(head=head).score(ZOO.X_new, ZOO.y_new) > 0.9
    with pytest.raises(ValueError, match="head='cosine'"):
        model.adapt(ZOO.X_new)
