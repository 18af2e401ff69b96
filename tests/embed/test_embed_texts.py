"""Class vectors of descriptions, against the vectors of their words."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from fuzz.mutators import generator, mutated_json
from jcmspl.datasets import DatasetError
from jcmspl.datasets.class_files import load_classes
from jcmspl.embed import ImageEncoder, TextEncoder, images, save_classes, texts
from support.encoders import (
    words,
    write_pair,
    write_pictures,
    write_reshaped,
    write_text,
    write_tokenizer,
    write_vision,
)

TEXTS = ["a red bird", "cat", "a blue bird with a red tail", "bird"]


@pytest.fixture
def tokenizer(tmp_path):
    return write_tokenizer(tmp_path / "tokenizer.json")


def tokens(tokenizer, text):
    """Return the vectors of the tokens of a text."""
    return words()[tokenizer.encode(text).ids].astype(np.float64)


def unit(vector):
    return vector / np.linalg.norm(vector)


class TestPooling:
    """One vector of many, by hand, for texts of different lengths in one batch."""

    @pytest.mark.parametrize(
        ("model", "options", "pooled"),
        [
            ({}, {}, lambda rows: rows.mean(axis=0)),
            ({}, {"pooling": "mean"}, lambda rows: rows.mean(axis=0)),
            ({}, {"pooling": "cls"}, lambda rows: rows[0]),
            ({"mask": False}, {}, lambda rows: rows.mean(axis=0)),
            ({"mask": False}, {"pooling": "cls"}, lambda rows: rows[0]),
            ({"pooled": True}, {}, lambda rows: rows.mean(axis=0)),
            ({"pooled": True}, {"pooling": "pooled"}, lambda rows: rows.mean(axis=0)),
            ({"pooled": True}, {"pooling": "cls"}, lambda rows: rows[0]),
            ({"pooled": True}, {"output": "last_hidden_state"}, lambda rows: rows.mean(axis=0)),
            ({"length": 9}, {}, lambda rows: rows.mean(axis=0)),
            ({"batch": 3}, {}, lambda rows: rows.mean(axis=0)),
            ({"batch": 3, "mask": False}, {}, lambda rows: rows.mean(axis=0)),
            ({}, {"pad_to": 12}, lambda rows: rows.mean(axis=0)),
        ],
    )
    def test_of_different_lengths(self, tmp_path, tokenizer, model, options, pooled):
        encoder = TextEncoder(write_text(tmp_path / "t.onnx", **model), tmp_path / "tokenizer.json", **options)
        expected = [pooled(tokens(tokenizer, text)) for text in TEXTS]
        np.testing.assert_allclose(encoder(TEXTS), expected, rtol=1e-5, atol=1e-6)

    def test_what_fills_up_does_not_count(self, tmp_path, tokenizer):
        """Not even where the model has no mask of its own to tell it."""
        encoder = TextEncoder(write_text(tmp_path / "t.onnx", mask=False, length=8))
        np.testing.assert_allclose(encoder(["cat"])[0], tokens(tokenizer, "cat").mean(axis=0), rtol=1e-5)
        assert encoder.max_length == 8

    def test_another_token_fills_up(self, tmp_path):
        write_tokenizer(tmp_path / "tokenizer.json")
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": {"content": "bird"}}))
        encoder = TextEncoder(write_text(tmp_path / "t.onnx"), pad_to=6)
        assert encoder._tokenizer.id_to_token(encoder._padding) == "bird"

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
    def test_settings_that_are_a_pipe_are_not_waited_for(self, tmp_path, tokenizer, monkeypatch):
        os.mkfifo(tmp_path / "tokenizer_config.json")
        monkeypatch.delattr(Path, "read_text")  # a wait for a pipe would have no end
        assert TextEncoder(write_text(tmp_path / "t.onnx")).max_length is None

    @pytest.mark.parametrize(("shape", "pooling"), [([-1, 2], "pooled"), ([1, -1], "pooled"), ([-1, 1, 2], "mean")])
    def test_another_number_of_rows_than_texts(self, tmp_path, tokenizer, shape, pooling):
        inputs = [("input_ids", TensorProto.INT64, ["batch", 4])]
        model = write_reshaped(tmp_path / "t.onnx", shape, inputs, "text_embeds")
        encoder = TextEncoder(model, tmp_path / "tokenizer.json", pooling=pooling)
        with pytest.raises(
            ValueError, match=r"'text_embeds' has the shape \(.*\) for 3 samples, but its first axis must count"
        ):
            encoder(["cat", "bird", "red bird"])

    @pytest.mark.parametrize(
        ("model", "options", "sentence"),
        [
            ({}, {"pooling": "pooled"}, "no output for the pooling 'pooled'"),
            ({}, {"output": "logits"}, "has no output 'logits'"),
            ({}, {"max_length": 0}, "max_length must be from 1"),
        ],
    )
    def test_mistakes(self, tmp_path, tokenizer, model, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            TextEncoder(write_text(tmp_path / "t.onnx", **model), **options)


class TestVectors:
    def test_unit_length_before_and_after_the_mean(self, tmp_path, tokenizer):
        found = texts(
            {"robin": TEXTS[:2], "jay": TEXTS[2]}, write_text(tmp_path / "t.onnx"), tmp_path / "tokenizer.json"
        )
        assert list(found) == ["robin", "jay"]
        first, second, third = (unit(tokens(tokenizer, text).mean(axis=0)) for text in TEXTS[:3])
        np.testing.assert_allclose(found["robin"], unit(first + second), rtol=1e-5)
        np.testing.assert_allclose(found["jay"], third, rtol=1e-5)
        assert np.linalg.norm(found.vectors, axis=1) == pytest.approx([1, 1])

    def test_templates(self, tmp_path, tokenizer):
        templates = ["a photo of a {}", "a {} and a {}"]
        found = texts({"cat": "black cat"}, write_text(tmp_path / "t.onnx"), templates=templates)
        filled = ["a photo of a black cat", "a black cat and a black cat"]
        expected = unit(sum(unit(tokens(tokenizer, text).mean(axis=0)) for text in filled))
        np.testing.assert_allclose(found["cat"], expected, rtol=1e-5)

    def test_batches_make_no_difference(self, tmp_path, tokenizer):
        model = write_text(tmp_path / "t.onnx")
        one, many = (texts(TEXTS, model, batch_size=size) for size in (1, 32))
        np.testing.assert_allclose(one.vectors, many.vectors, rtol=1e-6)

    def test_a_function(self):
        def lengths(batch):
            assert all(isinstance(text, str) for text in batch)
            return [[len(text), 1] for text in batch]

        found = texts({"a": "four", 7: ["one"]}, lengths)
        np.testing.assert_allclose(found["a"], unit(np.array([4, 1])))
        np.testing.assert_allclose(found[7], unit(np.array([3, 1])))
        with pytest.raises(ValueError, match="goes with an ONNX file"):
            texts({"a": "four"}, lengths, "tokenizer.json")

    def test_no_direction(self):
        with pytest.raises(ValueError, match="texts of 'a' add up to zero"):
            texts({"a": ["up", "down"]}, lambda batch: [[1.0 if text == "up" else -1.0] for text in batch])

    @pytest.mark.parametrize(
        ("descriptions", "options", "sentence"),
        [
            ({}, {}, "there are no descriptions"),
            ([], {}, "there are no descriptions"),
            ({"a": ""}, {}, "the class 'a' must have one text"),
            ({"a": []}, {}, "the class 'a' must have one text"),
            ({"a": [3]}, {}, "the class 'a' must have one text"),
            ({"a": "b"}, {"templates": ["a photo"]}, r"the template 'a photo' has no \{\}"),
            ({"a": "b"}, {"templates": []}, "at least one template"),
            ({"a": "b"}, {"batch_size": 0}, "size must be from 1"),
        ],
    )
    def test_mistakes(self, descriptions, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            texts(descriptions, lambda batch: np.ones((len(batch), 2)), **options)


class TestFiles:
    @pytest.mark.parametrize(
        "text",
        [
            'robin,"a red, bird"\njay,a blue bird\nrobin,cat\n',
            'class,description\nrobin,"a red, bird"\njay,a blue bird\nrobin,cat\n',
            '\ufeffName,Text\nrobin,"a red, bird"\njay,a blue bird\nrobin,cat\n\n',
        ],
    )
    def test_names_and_texts(self, tmp_path, text):
        (tmp_path / "d.csv").write_text(text, "utf-8")
        seen = []
        found = texts(tmp_path / "d.csv", lambda batch: seen.extend(batch) or np.eye(3)[: len(batch)])
        assert seen == ["a red, bird", "cat", "a blue bird"]
        assert list(found) == ["robin", "jay"]

    @pytest.mark.parametrize(("name", "text"), [("n.txt", "red bird\na, b\n"), ("n.csv", 'name\nred bird\n"a, b"\n')])
    def test_names_alone(self, tmp_path, name, text):
        (tmp_path / name).write_text(text)
        seen = []
        texts(str(tmp_path / name), lambda batch: seen.extend(batch) or np.eye(3)[: len(batch)])
        assert seen == ["red bird", "a, b"]

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "describes no classes"),
            ("class,text\n", "describes no classes"),
            ("robin,a red, bird\n", "entry 1 has 3 cells.*in quotes"),
            ("robin,red\njay,\n", "entry 2 has no text"),
            (",red\n", "entry 1 has no name"),
            ("robin,red\n\njay,blue\n", "entry 2 has no name"),
        ],
    )
    def test_mistakes(self, tmp_path, text, sentence):
        (tmp_path / "d.csv").write_text(text)
        with pytest.raises(DatasetError, match=sentence):
            texts(tmp_path / "d.csv", lambda batch: np.ones((len(batch), 2)))

    def test_saved(self, tmp_path):
        table = texts(["=cat", "<b>", "été"], lambda batch: np.eye(3)[: len(batch)])
        save_classes(table, tmp_path / "classes.npz")
        assert load_classes(tmp_path / "classes.npz") == table
        with pytest.raises(FileExistsError):
            save_classes(table, tmp_path / "classes.npz")
        mixed = texts({"a": "x", 1: "y"}, lambda batch: np.eye(2))
        with pytest.raises(ValueError, match="mixed"):
            save_classes(mixed, tmp_path / "mixed.npz")


class TestTokens:
    def test_long_texts_are_told_of(self, tmp_path, tokenizer):
        encoder = TextEncoder(write_text(tmp_path / "t.onnx"), max_length=4)
        with pytest.warns(UserWarning, match="1 texts have more than 4 tokens"):
            found = encoder(["cat", "a red bird"])
        ids = [tokenizer.token_to_id(name) for name in ("[CLS]", "a", "red", "[SEP]")]  # its end is kept
        np.testing.assert_allclose(found[1], words()[ids].mean(axis=0), rtol=1e-5)

    @pytest.mark.parametrize(("limit", "expected"), [(5, 5), (1e30, None), ("x", None)])
    def test_the_limit_beside_the_tokenizer(self, tmp_path, tokenizer, limit, expected):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
        assert TextEncoder(write_text(tmp_path / "t.onnx")).max_length == expected

    def test_the_limit_of_the_tokenizer(self, tmp_path, tokenizer):
        tokenizer.enable_truncation(6)
        tokenizer.enable_padding(length=6)
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        encoder = TextEncoder(write_text(tmp_path / "t.onnx"))
        assert encoder.max_length == 6
        tokenizer.no_padding()
        np.testing.assert_allclose(encoder(["cat"])[0], tokens(tokenizer, "cat").mean(axis=0), rtol=1e-5)

    def test_nothing_is_left_of_a_text(self, tmp_path):
        write_tokenizer(tmp_path / "tokenizer.json", special=False)
        with pytest.raises(ValueError, match="finds no tokens in the text ' '"):
            TextEncoder(write_text(tmp_path / "t.onnx"))([" "])

    def test_no_tokenizer(self, tmp_path):
        model = write_text(tmp_path / "t.onnx")
        with pytest.raises(ValueError, match=r"has no tokenizer.json beside it: .*--tokenizer FILE"):
            TextEncoder(model)
        (tmp_path / "tokenizer.json").write_text("{}")
        with pytest.raises(ValueError, match=r"tokenizer.json is not a tokenizer.json of Hugging Face"):
            TextEncoder(model)

    def test_a_model_of_pictures(self, tmp_path, tokenizer):
        with pytest.raises(ValueError, match=r"takes no texts.*pixel_values \['batch', 3, 4, 4\]"):
            TextEncoder(write_vision(tmp_path / "v.onnx"))
        with pytest.raises(ValueError, match=r"takes no pictures.*input_ids \['batch', 'length'\]"):
            ImageEncoder(write_text(tmp_path / "t.onnx"))

    def test_a_token_that_the_model_does_not_know(self, tmp_path, tokenizer):
        encoder = TextEncoder(write_text(tmp_path / "t.onnx", words(5)))
        with pytest.raises(ValueError, match=r"t.onnx cannot be run with input_ids \(1, 5\)"):
            encoder(["a red bird"])


@pytest.mark.parametrize("batches", [("image_batch_size", "text_batch_size"), ("batch", "batch")])
def test_pictures_and_texts_in_one_model(tmp_path, tokenizer, batches):
    """As CLIP is exported: the other half gets an input whose output is not used."""
    model = write_pair(tmp_path / "model.onnx", batches=batches)
    write_pictures(tmp_path / "in", size=(4, 4))
    write_vision(tmp_path / "v.onnx")
    np.testing.assert_allclose(
        images(tmp_path / "in", model).features, images(tmp_path / "in", tmp_path / "v.onnx").features, rtol=1e-6
    )
    expected = [tokens(tokenizer, text).mean(axis=0) for text in TEXTS]
    np.testing.assert_allclose(TextEncoder(model)(TEXTS), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("part", range(4))
def test_damaged_tokenizers(tmp_path, part):
    """Each is taken or refused in a sentence that names its file, whatever the package tokenizers makes of it."""
    write_tokenizer(tmp_path / "tokenizer.json")
    write_text(tmp_path / "t.onnx")
    content, n_taken, messages = (tmp_path / "tokenizer.json").read_bytes(), 0, []
    for index in range(100):
        (tmp_path / "tokenizer.json").write_bytes(mutated_json(content, generator("tokenizer", part, index)))
        try:
            assert TextEncoder(tmp_path / "t.onnx", threads=1)(TEXTS[:2]).shape == (2, 6)
            n_taken += 1
        except ValueError as error:
            messages.append(str(error))
    assert min(n_taken, len(messages)) >= 3
    told = re.compile(r".*(tokenizer\.json is not a |the tokenizer finds no tokens|t\.onnx cannot be run with).*")
    assert [message for message in messages if not told.fullmatch(message)] == []


def test_a_tokenizer_that_panics(tmp_path):
    """Which is no Exception in Python, so that no handler of errors would see it."""
    write_tokenizer(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["post_processor"]["special_tokens"] = {}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"tokenizer.json is not a tokenizer.json of Hugging Face, or it is damaged"):
        TextEncoder(write_text(tmp_path / "t.onnx"))(["a bird"])
