"""A seen_penalty so far below 0 that training classes alone are named leaves the digits of their scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL
from jcmspl.methods import BZSL, GFZSL, RPL
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, noise=1.0)
MODELS = [JCMSPL(), JCMSPL(space="visual", metric="euclidean"), RPL(), GFZSL(), BZSL(n_bits=16)]


@pytest.fixture(scope="module", params=MODELS, ids=repr)
def model(request):
    return request.param.set_params(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.mark.parametrize("bias", [-1e5, -1e9, -1e18])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_training_classes_are_named(model, bias, dtype):
    X = ZOO.X.astype(dtype)
    expected = model.predict_topk(X, 8, candidates="seen")
    assert_array_equal(model.predict(X, candidates="all", seen_penalty=bias), expected[:, 0])
    assert_array_equal(model.predict_topk(X, 8, candidates="all", seen_penalty=bias), expected)
    shares = model.predict_proba(X, candidates="all", seen_penalty=bias, temperature=1.0)
    assert_allclose(shares[:, :8], model.predict_proba(X, candidates="seen", temperature=1.0), atol=1e-5)
    scores = model.decision_function(X, candidates="all", seen_penalty=bias)
    assert_allclose(scores[:, :8], -bias, rtol=1e-3)


def test_scores_are_those_without_a_bias_and_the_bias(model):
    plain = model.decision_function(ZOO.X, candidates="all", seen_penalty=0.0)
    found = model.decision_function(ZOO.X, candidates="all", seen_penalty=-0.25)
    assert_allclose(found[:, :8], plain[:, :8] + 0.25, atol=1e-12 * np.abs(plain).max())
    assert_allclose(found[:, 8:], plain[:, 8:], atol=1e-12 * np.abs(plain).max())
    labels, scores = model.predict_topk(ZOO.X, candidates="all", seen_penalty=-0.25, return_scores=True)
    assert_allclose(scores, -np.sort(-found, axis=1)[:, :5], atol=1e-9 * np.abs(plain).max())
    assert labels.shape == (len(ZOO.X), 5)


def test_a_plain_layer_and_onnx(tmp_path):
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    X = ZOO.X.astype(np.float32)
    for bias in (-0.25, -1e9):
        layer = model.recogniser(candidates="all", seen_penalty=bias)
        layer.to_onnx(tmp_path / "model.onnx", overwrite=True)
        session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
        scores, index = session.run(None, {"features": X})
        assert_allclose(scores, layer.scores(X), rtol=1e-5, atol=1e-5)
        assert_array_equal(layer.labels[index], model.predict(ZOO.X, candidates="all", seen_penalty=bias))
    units = ZOO.X / np.linalg.norm(ZOO.X, axis=1, keepdims=True) if layer.unit_rows else ZOO.X
    layer = model.recogniser(candidates="all", seen_penalty=-0.25)
    expected = model.decision_function(ZOO.X, candidates="all", seen_penalty=-0.25)
    if not layer.scaling.power:
        assert_allclose(units @ layer.weights.T + layer.bias, expected, atol=1e-12)


def test_a_bias_that_float32_does_not_hold():
    model = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    X = ZOO.X.astype(np.float32)
    assert_array_equal(model.predict(ZOO.X, seen_penalty=-1e300), model.predict(ZOO.X, candidates="seen"))
    with pytest.raises(ValueError, match="float64"):
        model.decision_function(X, seen_penalty=-1e300)
