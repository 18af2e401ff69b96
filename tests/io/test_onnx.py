"""A fitted model as a plain linear layer."""

import copy
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL
from jcmspl.model.recogniser import LinearRecogniser
from support.animals import make_zoo

ZOO = make_zoo(noise=1.0)


@pytest.fixture(scope="module", params=["sample_l2+center", "zscore"])
def model(request):
    return JCMSPL(feature_normalisation=request.param, seen_penalty=0.05).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.mark.parametrize("space", ["semantic", "visual", "concept"])
def test_linear_layer_in_plain_numpy(model, space):
    layer = model.recogniser(space=space)
    X = ZOO.X_new / np.linalg.norm(ZOO.X_new, axis=1, keepdims=True) if layer.unit_rows else ZOO.X_new
    scores = X @ layer.weights.T + layer.bias
    twin = copy.copy(model).set_params(space=space)
    assert_allclose(scores, twin.decision_function(ZOO.X_new), atol=1e-12)
    assert_array_equal(layer.labels[scores.argmax(axis=1)], twin.predict(ZOO.X_new))
    assert_array_equal(layer.predict(ZOO.X_new), twin.predict(ZOO.X_new))


def test_onnx(model, tmp_path):
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    layer = model.recogniser()
    layer.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    X = np.vstack([ZOO.X_new, np.zeros((1, 20))]).astype(np.float32)
    if layer.unit_rows:  # of any length
        X = np.vstack([X, 1e-25 * ZOO.X_new[:5], 1e25 * ZOO.X_new[:5]]).astype(np.float32)
    scores, index = session.run(None, {"features": X})
    assert_allclose(scores, layer.scores(X), atol=1e-5)
    assert_array_equal(index, scores.argmax(axis=1))
    labels = json.loads(session.get_modelmeta().custom_metadata_map["labels"])
    assert labels == layer.labels.tolist()
    assert np.mean(np.array(labels)[index] == layer.predict(X)) > 0.95
    with pytest.raises(FileExistsError):
        layer.to_onnx(tmp_path / "model.onnx")
    layer.to_onnx(tmp_path / "model.onnx", overwrite=True)


def test_onnx_without_its_package(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'jcmspl\[onnx\]'"):
        model.recogniser().to_onnx(tmp_path / "model.onnx")


def test_weights_too_large_for_float32(tmp_path):
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    layer = LinearRecogniser(np.full((2, 3), 1e300), np.zeros(2), np.array(["a", "b"]), False)
    with pytest.raises(ValueError, match="too large for float32"):
        layer.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
