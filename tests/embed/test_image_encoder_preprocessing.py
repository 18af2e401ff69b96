"""How pictures are prepared, against a plain script with NumPy and Pillow."""

import json

import numpy as np
import pytest
from PIL import Image

from jcmspl.embed import ImageEncoder, images
from support.encoders import noise, write_config, write_pixels, write_vision


def by_hand(pixels, shortest=None, exact=None, crop=None, resample=3, scale=1 / 255, mean=(0, 0, 0), std=(1, 1, 1)):
    """Resize the shorter side or both, cut out the middle, scale; (height, width, channels)."""
    image = Image.fromarray(pixels)
    height, width = pixels.shape[:2]
    if shortest:
        if width < height:
            image = image.resize((shortest, int(shortest * height / width)), resample)
        else:
            image = image.resize((int(shortest * width / height), shortest), resample)
    if exact:
        image = image.resize((exact[1], exact[0]), resample)
    values = np.array(image, dtype=np.float64)
    if crop:
        top, left = (values.shape[0] - crop[0]) // 2, (values.shape[1] - crop[1]) // 2
        values = values[top : top + crop[0], left : left + crop[1]]
    return (values * scale - np.array(mean)) / np.array(std)


def flat(values):
    return values.transpose(2, 0, 1).ravel()


def folder_of(tmp_path, *pictures):
    folder = tmp_path / "pictures"
    folder.mkdir(exist_ok=True)
    for number, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{number}.png")
    return folder


MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]
DYNAMIC = ("batch", "num_channels", "height", "width")


class TestOracle:
    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            ({}, {"shortest": 4, "crop": (4, 4)}),
            ({"size": 6, "crop_size": 4}, {"shortest": 6, "crop": (4, 4)}),  # older files
            ({"size": {"shortest_edge": 7}, "crop_size": {"height": 3, "width": 5}}, {"shortest": 7, "crop": (3, 5)}),
            ({"size": {"height": 6, "width": 3}, "do_center_crop": False}, {"exact": (6, 3)}),
            ({"size": 5, "do_center_crop": False, "crop_size": None}, {"exact": (5, 5)}),
            ({"size": {"height": 8, "width": 9}}, {"exact": (8, 9), "crop": (4, 4)}),
            ({"do_resize": False}, {"crop": (4, 4)}),
            ({"crop_pct": 0.5, "size": {"shortest_edge": 6}, "do_center_crop": None}, {"shortest": 12, "crop": (6, 6)}),
            ({"crop_pct": 0.5, "size": {"shortest_edge": 384}, "do_center_crop": None}, {"exact": (384, 384)}),
            *(({"resample": number}, {"shortest": 4, "crop": (4, 4), "resample": number}) for number in range(6)),
        ],
    )
    def test_sizes(self, tmp_path, config, expected):
        write_config(tmp_path, **config)
        pictures = [noise(9, 17), noise(16, 5), noise(8, 8), noise(13, 12)]
        found = images(folder_of(tmp_path, *pictures), write_pixels(tmp_path / "m.onnx", DYNAMIC))
        for row, picture in zip(found.features, pictures, strict=True):
            np.testing.assert_allclose(row, flat(by_hand(picture, **expected, mean=MEAN, std=STD)), atol=2e-6)

    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            ({}, {"mean": MEAN, "std": STD}),
            ({"do_normalize": False}, {}),
            ({"do_rescale": False, "do_normalize": False}, {"scale": 1}),
            (
                {"rescale_factor": 1 / 127.5, "image_mean": [1, 1, 1], "image_std": [1, 1, 1]},
                {"scale": 2 / 255, "mean": 1},
            ),
            ({"image_mean": [0.5], "image_std": 0.5}, {"mean": 0.5, "std": 0.5}),
        ],
    )
    def test_values(self, tmp_path, config, expected):
        write_config(tmp_path, **config)
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx"))
        expected = by_hand(noise(), shortest=4, crop=(4, 4), **expected)
        np.testing.assert_allclose(found.features[0], flat(expected), rtol=1e-5, atol=2e-6)

    def test_blue_first(self, tmp_path):
        write_config(tmp_path, do_flip_channel_order=True)
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx"))
        expected = (by_hand(noise(), shortest=4, crop=(4, 4))[:, :, ::-1] - MEAN) / STD
        np.testing.assert_allclose(found.features[0], flat(expected), atol=2e-6)

    def test_a_small_picture_gets_an_edge(self, tmp_path):
        write_config(tmp_path, do_resize=False, do_normalize=False, crop_size=8)
        found = images(folder_of(tmp_path, noise(3, 10)), write_pixels(tmp_path / "m.onnx", DYNAMIC))
        expected = np.zeros((8, 8, 3))
        expected[3:6] = noise(3, 10)[:, 1:9] / 255
        np.testing.assert_allclose(found.features[0], flat(expected), atol=1e-6)

    @pytest.mark.parametrize("shape", [("batch", 4, 4, 3), ("batch", "h", "w", "channels")])
    def test_channels_last(self, tmp_path, shape):
        write_config(tmp_path)
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx", shape))
        expected = by_hand(noise(), shortest=4, crop=(4, 4), mean=MEAN, std=STD)
        np.testing.assert_allclose(found.features[0], expected.ravel(), atol=2e-6)

    def test_one_channel(self, tmp_path):
        write_config(tmp_path, image_mean=[0.5], image_std=[0.5])
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx", ("n", 1, 4, 4)))
        grey = np.array(Image.fromarray(noise()).convert("L"))
        expected = (np.array(Image.fromarray(grey).resize((5, 4), 3))[:, :4] / 255 - 0.5) / 0.5
        np.testing.assert_allclose(found.features[0], expected.ravel(), atol=2e-6)

    def test_bytes_are_left_alone(self, tmp_path):
        write_config(tmp_path)
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx", dtype="uint8"))
        expected = by_hand(noise(), shortest=4, crop=(4, 4), scale=1)
        np.testing.assert_array_equal(found.features[0], flat(expected))

    def test_half_precision(self, tmp_path):
        write_config(tmp_path)
        found = images(folder_of(tmp_path, noise()), write_pixels(tmp_path / "m.onnx", dtype="float16"))
        expected = by_hand(noise(), shortest=4, crop=(4, 4), mean=MEAN, std=STD)
        np.testing.assert_allclose(found.features[0], flat(expected), atol=2e-3)

    def test_metadata(self, tmp_path):
        config = write_config(tmp_path)
        (tmp_path / "preprocessor_config.json").unlink()
        whole = write_pixels(tmp_path / "a.onnx", metadata={"preprocessor_config": config})
        apart = write_pixels(tmp_path / "b.onnx", metadata={"image_mean": MEAN, "image_std": STD, "resample": 3})
        expected = flat(by_hand(noise(), shortest=4, crop=(4, 4), mean=MEAN, std=STD))
        for model in (whole, apart):
            found = images(folder_of(tmp_path, noise()), model)
            np.testing.assert_allclose(found.features[0], expected, atol=2e-6)

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"normalise": "none"}, {"shortest": 4, "crop": (4, 4)}),
            ({"normalise": "raw"}, {"shortest": 4, "crop": (4, 4), "scale": 1}),
            ({"normalise": "half"}, {"shortest": 4, "crop": (4, 4), "mean": 0.5, "std": 0.5}),
            (
                {"normalise": "imagenet", "resize": 6, "resample": "bilinear"},
                {
                    "shortest": 6,
                    "crop": (4, 4),
                    "resample": 2,
                    "mean": (0.485, 0.456, 0.406),
                    "std": (0.229, 0.224, 0.225),
                },
            ),
            ({"mean": 0.25, "resize": "exact"}, {"exact": (4, 4), "mean": 0.25}),
            (
                {"std": [1, 2, 4], "scale": 1, "size": (4, 4)},
                {"shortest": 4, "crop": (4, 4), "scale": 1, "std": (1, 2, 4)},
            ),
        ],
    )
    def test_options(self, tmp_path, options, expected):
        encoder = ImageEncoder(write_pixels(tmp_path / "m.onnx"), **options)
        found = images(folder_of(tmp_path, noise()), encoder)
        np.testing.assert_allclose(found.features[0], flat(by_hand(noise(), **expected)), rtol=1e-5, atol=2e-6)

    def test_options_go_before_the_file(self, tmp_path):
        write_config(tmp_path)
        encoder = ImageEncoder(write_pixels(tmp_path / "m.onnx", DYNAMIC), size=6, normalise="none", resample="box")
        found = images(folder_of(tmp_path, noise()), encoder)
        np.testing.assert_allclose(
            found.features[0], flat(by_hand(noise(), shortest=6, crop=(6, 6), resample=4)), atol=2e-6
        )

    def test_the_file_may_be_elsewhere(self, tmp_path):
        (tmp_path / "onnx").mkdir()
        (tmp_path / "other").mkdir()
        model = write_pixels(tmp_path / "onnx" / "m.onnx", DYNAMIC)
        write_config(tmp_path / "other", crop_size=3)
        assert ImageEncoder(model, config=tmp_path / "other" / "preprocessor_config.json").preparation.size == (3, 3)
        write_config(tmp_path, crop_size=2)
        assert ImageEncoder(model).preparation.size == (2, 2)  # as many repositories have it


class TestMistakes:
    @pytest.mark.parametrize(
        ("config", "options", "sentence"),
        [
            (None, {}, "m.onnx: the scaling of its pictures is unknown"),
            (None, {"normalise": "clipp"}, "normalise must be one of 'clip'"),
            (None, {"normalise": "none", "size": 5}, "the height 4, but size makes it 5 pixels"),
            (None, {"normalise": "none", "size": "big"}, "size must be a number of pixels"),
            (None, {"mean": [1, 2]}, "one for each of the 3 channels"),
            (None, {"mean": float("nan")}, "mean"),
            (None, {"std": 0}, "std must be positive"),
            (None, {"normalise": "none", "resample": "cubic"}, "resample must be one of"),
            (None, {"normalise": "none", "layout": "chw"}, "layout must be one of"),
            ({"image_mean": None}, {}, "not image_mean and image_std"),
            ({"do_pad": True}, {}, "asks for do_pad, which is not supported"),
            ({"size": {"longest_edge": 9}}, {}, "size in its configuration must be"),
            ({"size": {"shortest_edge": 0}}, {}, "size in its configuration must be from 1"),
            ({"resample": 9}, {}, "resample must be one of"),
            ({"crop_size": 5}, {}, "the height 4, but"),
        ],
    )
    def test_sentences(self, tmp_path, config, options, sentence):
        if config is not None:
            write_config(tmp_path, **config)
        with pytest.raises((ValueError, TypeError), match=sentence):
            ImageEncoder(write_pixels(tmp_path / "m.onnx"), **options)

    def test_nothing_says_how_large(self, tmp_path):
        model = write_pixels(tmp_path / "m.onnx", DYNAMIC)
        with pytest.raises(ValueError, match=r"the size of its pictures is unknown.*--size"):
            ImageEncoder(model, normalise="none")
        write_config(tmp_path, do_center_crop=False)  # pictures would be of different sizes
        with pytest.raises(ValueError, match=r"size of its pictures is unknown"):
            ImageEncoder(model)

    @pytest.mark.parametrize(("text", "sentence"), [("{", "not a JSON file"), ("[]", "must hold a JSON object")])
    def test_damaged_files(self, tmp_path, text, sentence):
        (tmp_path / "preprocessor_config.json").write_text(text)
        with pytest.raises(ValueError, match=f"preprocessor_config.json.*{sentence}"):
            ImageEncoder(write_pixels(tmp_path / "m.onnx"))

    def test_damaged_metadata(self, tmp_path):
        model = write_pixels(tmp_path / "m.onnx", metadata={"preprocessor_config": [1]})
        with pytest.raises(ValueError, match="its metadata about pictures is not JSON"):
            ImageEncoder(model)

    def test_bytes_are_not_scaled(self, tmp_path):
        with pytest.raises(ValueError, match="as bytes"):
            ImageEncoder(write_pixels(tmp_path / "m.onnx", dtype="uint8"), normalise="clip")

    def test_a_strip_is_not_made_huge(self, tmp_path):
        write_config(tmp_path, size=224, crop_size=224)
        folder = folder_of(tmp_path, noise(1, 9000))
        with pytest.raises(ValueError, match=r"0.png: is too long and narrow to be resized \(9000 x 1 pixels\)"):
            images(folder, write_pixels(tmp_path / "m.onnx", DYNAMIC))

    def test_not_a_model(self, tmp_path):
        (tmp_path / "m.onnx").write_bytes(b"hello")
        with pytest.raises(ValueError, match=r"m\.onnx is not an ONNX model that can be run"):
            ImageEncoder(tmp_path / "m.onnx")
        with pytest.raises(FileNotFoundError, match="does not exist"):
            ImageEncoder(tmp_path / "none.onnx")
        content = write_pixels(tmp_path / "m.onnx").read_bytes()
        (tmp_path / "m.onnx").write_bytes(content.replace(b"pixel_values", b"pixel\xffvalues"))
        with pytest.raises(ValueError, match=r"m\.onnx is not an ONNX model that can be run"):
            ImageEncoder(tmp_path / "m.onnx")

    def test_the_string_of_it(self, tmp_path):
        write_config(tmp_path)
        text = repr(ImageEncoder(write_vision(tmp_path / "m.onnx")))
        assert text.endswith("4 x 4 pixels, shorter side 4, bicubic; image_embeds")
        assert json.dumps(ImageEncoder(tmp_path / "m.onnx").identity())
