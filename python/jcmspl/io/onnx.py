"""Linear classifiers as ONNX models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jcmspl.io.files import write_atomically
from jcmspl.support.arguments import Float64Array
from jcmspl.support.lazy import needed
from jcmspl.support.scaling import Scaling
from jcmspl.support.version import __version__

# The versions of operators and of the format; runtimes of recent years read them.
_OPSET, _IR_VERSION = 13, 8


class LinearLayer(NamedTuple):
    """Scores ``x @ weights.T + bias + lead`` of labelled candidates; `scaling` is applied to samples first.

    The lead is a number that all scores have in common. The best candidate is chosen before it is added: a large lead
    rounds differences of scores away in float32.
    """

    weights: Float64Array
    bias: Float64Array
    labels: list[Any]
    scaling: Scaling
    lead: float = 0.0


def write_onnx(layer: LinearLayer, path: Path, *, overwrite: bool) -> None:
    """Write a linear layer as an ONNX model.

    Its outputs are ``scores`` and the ``index`` of the best candidate; ``labels`` in its metadata names the candidates.
    """
    needed("onnx", "ONNX export needs the package onnx", "onnx")
    from onnx import TensorProto, checker, helper, numpy_helper

    n_candidates, n_features = layer.weights.shape
    with np.errstate(over="ignore"):
        constants: dict[str, Any] = {
            "weights": layer.weights.T.astype(np.float32),
            "bias": layer.bias.astype(np.float32),
        }
        if layer.lead:
            constants["lead"] = np.array(layer.lead, dtype=np.float32)
    if not all(np.isfinite(value).all() for value in constants.values()):
        raise ValueError("the weights are too large for float32, in which ONNX models are written")
    nodes = []
    features = "features"  # the tensor that the next node reads
    if layer.scaling.power:
        nodes += [
            helper.make_node("Abs", ["features"], ["magnitudes"]),
            helper.make_node("Sqrt", ["magnitudes"], ["roots"]),
            helper.make_node("Sign", ["features"], ["signs"]),
            helper.make_node("Mul", ["roots", "signs"], ["signed_roots"]),
        ]
        features = "signed_roots"
    if layer.scaling.unit_rows:
        constants["tiny"] = np.array(np.finfo(np.float32).tiny, dtype=np.float32)
        nodes += [
            # divide by the largest value first: squares of huge or tiny values overflow or vanish
            helper.make_node("Abs", [features], ["sizes"]),
            helper.make_node("ReduceMax", ["sizes"], ["largest"], axes=[1], keepdims=1),
            helper.make_node("Max", ["largest", "tiny"], ["scale"]),
            helper.make_node("Div", [features, "scale"], ["scaled"]),
            helper.make_node("ReduceL2", ["scaled"], ["length"], axes=[1], keepdims=1),
            helper.make_node("Max", ["length", "tiny"], ["divisor"]),
            helper.make_node("Div", ["scaled", "divisor"], ["unit_features"]),
        ]
        features = "unit_features"
    compared = "scores_less_lead" if layer.lead else "scores"
    nodes += [
        helper.make_node("Gemm", [features, "weights", "bias"], [compared]),
        helper.make_node("ArgMax", [compared], ["index"], axis=1, keepdims=0),
    ]
    if layer.lead:
        nodes.append(helper.make_node("Add", [compared, "lead"], ["scores"]))
    graph = helper.make_graph(
        nodes,
        "jcmspl",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", n_features])],
        [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", n_candidates]),
            helper.make_tensor_value_info("index", TensorProto.INT64, ["n"]),
        ],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="jcmspl",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    helper.set_model_props(model, {"labels": json.dumps(layer.labels, default=str)})
    checker.check_model(model)
    write_atomically(path, model.SerializeToString(), overwrite=overwrite)
