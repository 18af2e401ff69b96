"""Small ONNX models of pictures and texts, as exporters make them, and pictures and tokenizers for them."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}
SENTENCES = ["a red bird", "a green bird", "a blue bird with a red tail", "a photo of a black cat", "white and yellow"]


def write_model(path, nodes, inputs, outputs, constants=(), metadata=None):
    """Write a model; inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in dict(constants).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {key: json.dumps(value) for key, value in (metadata or {}).items()})
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def write_pixels(path, shape=("batch", 3, 4, 4), dtype="float32", **options):
    """Write a model whose features are the very pictures that it is given."""
    nodes = [helper.make_node("Flatten", ["pixel_values"], ["flat"], axis=1)]
    nodes.append(helper.make_node("Cast", ["flat"], ["image_embeds"], to=TensorProto.FLOAT))
    outputs = [("image_embeds", TensorProto.FLOAT, [shape[0], None])]
    return write_model(path, nodes, [("pixel_values", TYPES[dtype], list(shape))], outputs, **options)


def write_reshaped(
    path, shape, inputs=(("pixel_values", TensorProto.FLOAT, ["batch", 3, 4, 4]),), output="image_embeds"
):
    """Write a model that gives the values of its first input in another shape."""
    nodes = [helper.make_node("Reshape", [inputs[0][0], "shape"], ["reshaped"])]
    nodes.append(helper.make_node("Cast", ["reshaped"], [output], to=TensorProto.FLOAT))
    outputs = [(output, TensorProto.FLOAT, [None] * len(shape))]
    return write_model(path, nodes, list(inputs), outputs, {"shape": np.array(shape)})


def kernels(n_features=6, seed=0):
    """Return the weights of a convolution over 2 x 2 pixels."""
    return np.random.default_rng(seed).normal(size=(n_features, 3, 2, 2)).astype(np.float32)


def write_vision(path, side=4, batch="batch", seed=0, **options):
    """Write a model with a convolution and a pooling: maps, tokens, and their mean."""
    nodes = [
        helper.make_node("Conv", ["pixel_values", "kernels"], ["maps"], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["maps"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["image_embeds"], axis=1),
        helper.make_node("Reshape", ["maps", "tokens_shape"], ["by_token"]),
        helper.make_node("Transpose", ["by_token"], ["tokens"], perm=[0, 2, 1]),
    ]
    weights = kernels(seed=seed)
    d = len(weights)
    outputs = [
        ("maps", TensorProto.FLOAT, [batch, d, None, None]),
        ("tokens", TensorProto.FLOAT, [batch, None, d]),
        ("image_embeds", TensorProto.FLOAT, [batch, d]),
    ]
    inputs = [("pixel_values", TensorProto.FLOAT, [batch, 3, side, side])]
    constants = {"kernels": weights, "tokens_shape": np.array([0, d, -1])}
    return write_model(path, nodes, inputs, outputs, constants, **options)


def words(n_words=64, n_features=6, seed=1):
    """Return the vectors of tokens."""
    return np.random.default_rng(seed).normal(size=(n_words, n_features)).astype(np.float32)


def write_text(path, vectors=None, mask=True, length="length", batch="batch", pooled=False):
    """Write a model that looks up the vectors of tokens, and perhaps takes their mean as the mask has it."""
    vectors = words() if vectors is None else vectors
    d = vectors.shape[1]
    nodes = [helper.make_node("Gather", ["vectors", "input_ids"], ["last_hidden_state"])]
    inputs = [("input_ids", TensorProto.INT64, [batch, length])]
    outputs = [("last_hidden_state", TensorProto.FLOAT, [batch, length, d])]
    if mask:
        inputs.append(("attention_mask", TensorProto.INT64, [batch, length]))
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["weights", "last"], ["column"]),
            helper.make_node("Mul", ["last_hidden_state", "column"], ["counted"]),
            helper.make_node("ReduceSum", ["counted", "middle"], ["sum"], keepdims=0),
            helper.make_node("ReduceSum", ["column", "middle"], ["count"], keepdims=0),
            helper.make_node("Div", ["sum", "count"], ["sentence_embedding"]),
        ]
        if pooled:
            outputs.append(("sentence_embedding", TensorProto.FLOAT, [batch, d]))
    constants = {"vectors": vectors, "last": np.array([2]), "middle": np.array([1])}
    return write_model(path, nodes, inputs, outputs, constants)


def write_pair(path, side=4, batches=("image_batch_size", "text_batch_size")):
    """Write pictures' and texts' encoders in one model, as CLIP is exported."""
    of_pictures, of_texts = batches
    nodes = [
        helper.make_node("Conv", ["pixel_values", "kernels"], ["maps"], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["maps"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["image_embeds"], axis=1),
        helper.make_node("Gather", ["vectors", "input_ids"], ["token_vectors"]),
        helper.make_node("ReduceMean", ["token_vectors"], ["text_embeds"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["image_embeds", "text_embeds"], ["logits_per_image"], transB=1),
    ]
    inputs = [
        ("input_ids", TensorProto.INT64, [of_texts, "sequence_length"]),
        ("pixel_values", TensorProto.FLOAT, [of_pictures, "num_channels", "height", "width"]),
    ]
    outputs = [
        ("logits_per_image", TensorProto.FLOAT, [of_pictures, of_texts]),
        ("text_embeds", TensorProto.FLOAT, [of_texts, 6]),
        ("image_embeds", TensorProto.FLOAT, [of_pictures, 6]),
    ]
    write_config(path.parent, size={"shortest_edge": side}, do_center_crop=True, crop_size=side)
    return write_model(path, nodes, inputs, outputs, {"kernels": kernels(), "vectors": words()})


def write_config(folder, **changes):
    """Write a preprocessor_config.json as that of CLIP, but for four pixels."""
    config = {
        "do_resize": True,
        "size": {"shortest_edge": 4},
        "do_center_crop": True,
        "crop_size": {"height": 4, "width": 4},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [0.4, 0.5, 0.6],
        "image_std": [0.2, 0.3, 0.25],
        "resample": 3,
        "image_processor_type": "CLIPImageProcessor",
    }
    config = {key: value for key, value in (config | changes).items() if value is not None}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    return config


def write_tokenizer(path, sentences=SENTENCES, special=True):
    """Train a tokenizer of whole words on a few sentences; texts get [CLS] and [SEP] around them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    if special:
        ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    tokenizer.save(str(path))
    return tokenizer


def noise(height=5, width=7, channels=3, seed=0, dtype=np.uint8):
    """Return a picture of noise."""
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max + 1, (height, width, channels), dtype=dtype)


def write_pictures(folder, classes=("cat", "dog"), each=3, size=(5, 7)):
    """Write pictures of noise in a folder for each class, and return their paths below it."""
    paths = []
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            path = folder / name / f"{i}.png"
            Image.fromarray(noise(*size, seed=100 * number + i)).save(path)
            paths.append(f"{name}/{i}.png")
    return paths
