"""Features of folders of pictures: the whole of them, in pieces, and after an interruption."""

import os
import shutil
import signal
import socket
import subprocess

import numpy as np
import pytest
from PIL import Image

from jcmspl.datasets import load_arrays, load_dataset
from jcmspl.embed import ImageEmbeddings, ImageEncoder, embed_images, images
from jcmspl.embed.resumable import KeptInFile
from support.encoders import (
    kernels,
    noise,
    write_config,
    write_pictures,
    write_pixels,
    write_reshaped,
    write_vision,
)
from support.processes import interruptible


@pytest.fixture
def birds(tmp_path):
    """A folder with pictures of two classes, and a model beside it."""
    write_config(tmp_path)
    write_pictures(tmp_path / "birds", size=(4, 4))
    write_vision(tmp_path / "m.onnx")
    return tmp_path / "birds"


def convolved(path):
    """Return the maps of features of a picture, by hand."""
    pixels = np.asarray(Image.open(path).convert("RGB"), dtype=np.float64)
    values = ((pixels / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.25]).transpose(2, 0, 1)
    corners = [(0, 0), (0, 2), (2, 0), (2, 2)]
    return np.array([[np.sum(values[:, y : y + 2, x : x + 2] * kernel) for y, x in corners] for kernel in kernels()])


class TestFeatures:
    def test_of_a_convolution(self, birds):
        found = images(birds, birds.parent / "m.onnx")
        assert found.paths.tolist() == [f"{name}/{i}.png" for name in ("cat", "dog") for i in range(3)]
        assert found.labels.tolist() == ["cat"] * 3 + ["dog"] * 3
        assert found.features.dtype == np.float32
        expected = [convolved(birds / path).mean(axis=1) for path in found.paths]
        np.testing.assert_allclose(found.features, expected, rtol=1e-4, atol=1e-5)
        assert repr(found) == "ImageEmbeddings: 6 pictures x 6 features of 2 classes"

    @pytest.mark.parametrize(
        ("options", "pooled"),
        [
            ({"pooling": "pooled"}, lambda maps: maps.mean(axis=1)),
            ({"pooling": "cls"}, lambda maps: maps[:, 0]),
            ({"pooling": "mean"}, lambda maps: maps.mean(axis=1)),
            ({"output": "tokens"}, lambda maps: maps[:, 0]),
            ({"output": "tokens", "pooling": "mean"}, lambda maps: maps.mean(axis=1)),
            ({"output": "maps"}, lambda maps: maps.mean(axis=1)),
        ],
    )
    def test_pooling(self, birds, options, pooled):
        found = images(birds, ImageEncoder(birds.parent / "m.onnx", **options))
        expected = [pooled(convolved(birds / path)) for path in found.paths]
        np.testing.assert_allclose(found.features, expected, rtol=1e-4, atol=1e-5)

    def test_maps_with_channels_last(self, tmp_path):
        """The mean over height and width, whichever axes these are."""
        from onnx import TensorProto, helper

        from support.encoders import write_model

        inputs = [("x", TensorProto.FLOAT, ["n", 4, 4, 3])]
        outputs = [("y", TensorProto.FLOAT, ["n", 4, 4, 3])]
        write_model(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], inputs, outputs)
        write_pictures(tmp_path / "in", size=(4, 4))
        found = images(tmp_path / "in", ImageEncoder(tmp_path / "m.onnx", normalise="none"))
        expected = [np.asarray(Image.open(tmp_path / "in" / path)).mean(axis=(0, 1)) / 255 for path in found.paths]
        np.testing.assert_allclose(found.features, expected, atol=1e-6)

    @pytest.mark.parametrize("batch", ["n", 1, 4])
    @pytest.mark.parametrize("batch_size", [1, 2, 32])
    def test_batches_make_no_difference(self, birds, batch, batch_size):
        expected = images(birds, birds.parent / "m.onnx").features
        write_vision(birds.parent / "other.onnx", batch=batch)
        found = images(birds, birds.parent / "other.onnx", batch_size=batch_size, threads=3)
        np.testing.assert_allclose(found.features, expected, rtol=1e-5, atol=1e-6)

    def test_a_function(self, birds):
        def mean_colour(pictures):
            assert all(picture.mode == "RGB" for picture in pictures)
            return np.array([np.asarray(picture).mean(axis=(0, 1)) for picture in pictures])

        found = images(birds, mean_colour, batch_size=4)
        expected = [np.asarray(Image.open(birds / path)).mean(axis=(0, 1)) for path in found.paths]
        np.testing.assert_allclose(found.features, expected, rtol=1e-6)

    @pytest.mark.parametrize(
        ("function", "sentence"),
        [
            (lambda pictures: np.ones((len(pictures) + 1, 3)), "a vector for each of the 6 items"),
            (lambda pictures: np.ones(len(pictures)), "a vector for each"),
            (
                lambda pictures: np.full((len(pictures), 3), np.nan),
                "the embedding of cat/0.png has values that are NaN or infinite",
            ),
            (lambda pictures: [["a"]] * len(pictures), "must return numbers"),
        ],
    )
    def test_a_function_that_does_something_else(self, birds, function, sentence):
        with pytest.raises((ValueError, TypeError), match=sentence):
            images(birds, function)

    def test_a_function_has_no_file(self, birds, tmp_path):
        with pytest.raises(ValueError, match="does not work with functions"):
            images(birds, lambda pictures: pictures, keep=tmp_path / "kept")

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"output": "logits"}, "has no output 'logits': it has maps, tokens, image_embeds"),
            ({"pooling": "max"}, "pooling must be one of"),
            ({"output": "maps", "pooling": "cls"}, None),
            ({"threads": 0}, "threads must be from 1"),
        ],
    )
    def test_wrong_outputs(self, birds, options, sentence):
        if sentence is None:  # cls of maps is their mean: there is no first token
            assert images(birds, ImageEncoder(birds.parent / "m.onnx", **options)).features.shape == (6, 6)
            return
        with pytest.raises(ValueError, match=sentence):
            ImageEncoder(birds.parent / "m.onnx", **options)

    def test_no_output_of_the_kind(self, tmp_path):
        write_config(tmp_path)
        with pytest.raises(
            ValueError, match=r"no output for the pooling 'cls': its outputs are image_embeds \['batch'"
        ):
            ImageEncoder(write_pixels(tmp_path / "m.onnx"), pooling="cls")

    @pytest.mark.parametrize(
        ("shape", "pooling", "given"),
        [
            ([-1, 12], "pooled", r"\(24, 12\) for 6"),  # a row for each patch
            ([2, -1], "pooled", r"\(2, 144\) for 6"),
            ([-1, 2, 12], "mean", r"\(12, 2, 12\) for 6"),
            ([4, 3, -1], "cls", r"\(4, 3, 24\) for 6"),
        ],
    )
    def test_another_number_of_rows_than_pictures(self, birds, shape, pooling, given):
        """No picture gets the features of another one."""
        model = write_reshaped(birds.parent / "patches.onnx", shape)
        encoder = ImageEncoder(model, normalise="none", pooling=pooling)
        with pytest.raises(
            ValueError, match=rf"'image_embeds' has the shape {given} samples, but its first axis must count"
        ):
            images(birds, encoder)

    def test_a_row_for_each_picture_in_any_shape(self, birds):
        model = write_reshaped(birds.parent / "pixels.onnx", [-1, 48])
        found = images(birds, ImageEncoder(model, normalise="none"), batch_size=4)
        expected = [np.asarray(Image.open(birds / path)).transpose(2, 0, 1).ravel() / 255 for path in found.paths]
        np.testing.assert_allclose(found.features, expected, atol=1e-6)

    def test_an_encoder_is_not_pickled(self, birds):
        import pickle

        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(ImageEncoder(birds.parent / "m.onnx"))


class TestFile:
    def test_what_others_read(self, birds, tmp_path):
        found = images(birds, birds.parent / "m.onnx")
        found.save(tmp_path / "features.npz")
        with np.load(tmp_path / "features.npz") as arrays:
            assert {*arrays} == {"features", "labels", "paths", "source"}
            np.testing.assert_array_equal(arrays["features"], found.features)
            assert arrays["paths"].tolist() == found.paths.tolist()
        vectors = {"cat": [1, 0], "dog": [0, 1], "yeti": [1, 1]}
        dataset = load_arrays(tmp_path / "features.npz", class_vectors=vectors, unseen=["dog"], val=0)
        assert dataset.y.tolist() == found.labels.tolist()
        np.testing.assert_array_equal(dataset.X, found.features)
        with pytest.raises(FileExistsError):
            found.save(tmp_path / "features.npz")

    def test_without_labels(self, birds, tmp_path):
        found = images(birds / "cat", birds.parent / "m.onnx")
        assert found.labels is None
        found.save(tmp_path / "features.npz")
        with np.load(tmp_path / "features.npz") as arrays:
            assert {*arrays} == {"features", "paths", "source"}

    def test_alone_it_is_no_data_set(self, tmp_path):
        ImageEmbeddings(np.ones((2, 3), np.float32), np.array(["a", "b"])).save(tmp_path / "features.npz")
        with pytest.raises(ValueError, match=r"features.npz holds features alone: .*--classes FILE"):
            load_dataset(tmp_path / "features.npz")


class TestDamaged:
    @pytest.fixture
    def damaged(self, birds):
        whole = (birds / "cat" / "0.png").read_bytes()
        (birds / "cat" / "cut.png").write_bytes(whole[: len(whole) // 2])
        (birds / "dog" / "empty.jpg").write_bytes(b"")
        (birds / "dog" / "no\nsense.gif").write_bytes(b"nonsense")
        return birds

    def test_told_in_the_end(self, damaged):
        with pytest.raises(ValueError, match="3 of 9 pictures") as caught:
            images(damaged, damaged.parent / "m.onnx", batch_size=2)
        message = str(caught.value)
        assert all(name in message for name in ("cat/cut.png", "dog/empty.jpg", "dog/no\\nsense.gif", "--skip-damaged"))
        assert "\n" not in message

    def test_left_out(self, damaged):
        found = images(damaged, damaged.parent / "m.onnx", skip_damaged=True, batch_size=2)
        assert list(found.damaged) == ["cat/cut.png", "dog/empty.jpg", "dog/no\nsense.gif"]
        assert found.damaged["dog/empty.jpg"] == "is empty, or not a picture of a known kind"
        for path in found.damaged:
            (damaged / path).unlink()
        rest = images(damaged, damaged.parent / "m.onnx", batch_size=2)
        assert found.paths.tolist() == rest.paths.tolist()
        assert found.labels.tolist() == rest.labels.tolist()
        np.testing.assert_allclose(found.features, rest.features, rtol=1e-6)

    def test_nothing_left(self, tmp_path):
        write_config(tmp_path)
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.png").write_text("x")
        with pytest.raises(ValueError, match="none is left"):
            images(tmp_path / "in", write_vision(tmp_path / "m.onnx"), skip_damaged=True)

    @pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
    def test_a_link_to_nothing(self, birds):
        (birds / "cat" / "x.png").symlink_to(birds / "none.png")
        with pytest.raises(ValueError, match=r"cat/x.png: No such file"):
            images(birds, birds.parent / "m.onnx")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices of POSIX")
    def test_what_is_no_regular_file(self, birds, monkeypatch):
        """Nothing is opened that would have to be waited for."""
        folder, server, open_picture = birds / "cat", socket.socket(socket.AF_UNIX), Image.open

        def regular_only(path, **options):
            assert path.is_file()  # a wait for a pipe would have no end
            return open_picture(path, **options)

        monkeypatch.setattr(Image, "open", regular_only)
        os.mkfifo(folder / "pipe.png")
        (folder / "link.png").symlink_to("pipe.png")
        (folder / "device.png").symlink_to("/dev/zero")
        with server:
            monkeypatch.chdir(folder)  # the name of a socket must be short
            server.bind("socket.png")
            with pytest.raises(ValueError, match=r"4 of 10 pictures .* cat/pipe.png: is a named pipe, but a regular"):
                images(birds, birds.parent / "m.onnx")
            found = images(birds, birds.parent / "m.onnx", skip_damaged=True)
        kinds = {"pipe": "a named pipe", "link": "a named pipe", "device": "a device", "socket": "a socket"}
        expected = {f"cat/{name}.png": f"is {kind}, but a regular file is expected" for name, kind in kinds.items()}
        assert found.damaged == expected
        assert found.paths.tolist() == [f"{name}/{i}.png" for name in ("cat", "dog") for i in range(3)]


class Counted:
    """Counts the pictures that are read."""

    def __init__(self, monkeypatch):
        self.paths, self._read = [], embed_images.read_picture
        monkeypatch.setattr(embed_images, "read_picture", self)

    def __call__(self, path):
        self.paths.append(path.name)
        return self._read(path)


def interrupted_after(monkeypatch, count):
    """Let Ctrl-C come when so many batches are done."""
    add = KeptInFile.add

    def then_stop(self, keys, rows):
        nonlocal count
        add(self, keys, rows)
        count -= 1
        if not count:
            raise KeyboardInterrupt

    monkeypatch.setattr(KeptInFile, "add", then_stop)


class TestGoingOn:
    """Finished work is kept beside the output."""

    @pytest.fixture
    def begun(self, birds, monkeypatch):
        """Return a function that embeds, after a first one was interrupted with four pictures of six done."""
        keep = birds.parent / "features.npz.partial"

        def embed(model=birds.parent / "m.onnx", **options):
            return images(birds, model, batch_size=2, keep=keep, **options)

        with monkeypatch.context() as patch:
            interrupted_after(patch, 2)
            with pytest.raises(KeyboardInterrupt, match="4 of 6 pictures are done and kept"):
                embed()
        return embed

    def test_the_rest(self, birds, begun, monkeypatch):
        read = Counted(monkeypatch)
        found = begun()
        assert sorted(read.paths) == ["1.png", "2.png"]
        assert found.reused == 4
        fresh = images(birds, birds.parent / "m.onnx")
        np.testing.assert_allclose(found.features, fresh.features, rtol=1e-6)
        assert found.labels.tolist() == fresh.labels.tolist()

    def test_all_of_it(self, begun, monkeypatch):
        begun()
        read = Counted(monkeypatch)
        begun()
        assert read.paths == []

    def test_a_changed_folder(self, birds, begun, monkeypatch):
        Image.fromarray(noise(4, 4, seed=7)).save(birds / "cat" / "0.png")
        (birds / "cat" / "1.png").unlink()
        shutil.copy(birds / "dog" / "2.png", birds / "cat" / "new.png")
        read = Counted(monkeypatch)
        found = begun()
        assert sorted(read.paths) == ["0.png", "1.png", "2.png", "new.png"]
        fresh = images(birds, birds.parent / "m.onnx")
        assert found.paths.tolist() == fresh.paths.tolist()
        np.testing.assert_allclose(found.features, fresh.features, rtol=1e-6)

    @pytest.mark.skipif(os.name != "posix", reason="elsewhere files do not know when they were changed")
    def test_a_picture_that_changed_but_for_its_size_and_time(self, birds, begun, monkeypatch):
        path = birds / "cat" / "0.png"
        content, about = bytearray(path.read_bytes()), path.stat()
        content[-1] ^= 1  # of a checksum that is not looked at
        path.write_bytes(content)
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        read = Counted(monkeypatch)
        begun()
        assert sorted(read.paths) == ["0.png", "1.png", "2.png"]

    def test_another_model(self, birds, begun):
        write_vision(birds.parent / "m.onnx", seed=5)
        with pytest.raises(ValueError, match=r"partial holds unfinished embeddings of another model: .*--force"):
            begun()
        found = begun(restart=True)
        np.testing.assert_allclose(found.features, images(birds, birds.parent / "m.onnx").features, rtol=1e-6)
        begun()  # which is now that of the new model

    def test_another_preparation(self, birds, begun):
        with pytest.raises(ValueError, match="of another preparation"):
            begun(ImageEncoder(birds.parent / "m.onnx", normalise="none"))
        with pytest.raises(ValueError, match="of another pooling"):
            begun(ImageEncoder(birds.parent / "m.onnx", pooling="cls"))
        begun()

    def test_weights_beside_the_model(self, birds, begun):
        (birds.parent / "m.onnx_data").write_bytes(b"weights")
        with pytest.raises(ValueError, match="of another model"):
            begun()

    @pytest.mark.parametrize("damage", ["cut", "changed"])
    def test_a_damaged_end(self, birds, begun, monkeypatch, damage):
        keep = birds.parent / "features.npz.partial"
        content = bytearray(keep.read_bytes())
        if damage == "cut":
            del content[-3:]
        else:
            content[-9] ^= 1
        keep.write_bytes(content)
        read = Counted(monkeypatch)
        found = begun()
        assert len(read.paths) == 3
        np.testing.assert_allclose(found.features, images(birds, birds.parent / "m.onnx").features, rtol=1e-6)

    @pytest.mark.parametrize(
        "content", [b"precious\n", b"{}\n", b'{"made_of": {}, "width": -1, "format": ""}\n', b"\xff" * 9]
    )
    def test_another_file_in_its_place(self, birds, content):
        keep = birds.parent / "features.npz.partial"
        keep.write_bytes(content)
        with pytest.raises(ValueError, match=r"partial (is in the way|holds embeddings that were begun)"):
            images(birds, birds.parent / "m.onnx", keep=keep)
        assert keep.read_bytes() == content

    def test_an_empty_file_is_no_matter(self, birds):
        keep = birds.parent / "features.npz.partial"
        keep.touch()
        assert len(images(birds, birds.parent / "m.onnx", keep=keep).features) == 6

    def test_two_at_once(self, birds, begun):
        pytest.importorskip("fcntl")
        keep = KeptInFile(birds.parent / "features.npz.partial", ImageEncoder(birds.parent / "m.onnx").identity())
        with pytest.raises(ValueError, match="another process is writing"):
            begun()
        keep.close()
        begun()

    def test_nothing_done_leaves_nothing(self, birds, monkeypatch):
        def stop(path):
            raise MemoryError("too large")

        monkeypatch.setattr(embed_images, "read_picture", stop)
        with pytest.raises(MemoryError):
            images(birds, birds.parent / "m.onnx", keep=birds.parent / "kept")
        assert not (birds.parent / "kept").exists()

    def test_after_damaged_pictures(self, birds, monkeypatch):
        """Mended, nothing but the mended ones is read again."""
        keep, whole = birds.parent / "kept", (birds / "cat" / "1.png").read_bytes()
        (birds / "cat" / "1.png").write_bytes(whole[:20])
        with pytest.raises(ValueError, match=f"kept in {keep}"):
            images(birds, birds.parent / "m.onnx", keep=keep)
        (birds / "cat" / "1.png").write_bytes(whole)
        read = Counted(monkeypatch)
        assert len(images(birds, birds.parent / "m.onnx", keep=keep).features) == 6
        assert read.paths == ["1.png"]

    def test_an_encoder_lives_on(self, birds, monkeypatch):
        encoder = ImageEncoder(birds.parent / "m.onnx")
        with monkeypatch.context() as patch:
            interrupted_after(patch, 1)
            with pytest.raises(KeyboardInterrupt):
                images(birds, encoder, batch_size=2, keep=birds.parent / "kept")
        assert len(images(birds, encoder).features) == 6


SLOW = """
import sys, time
from jcmspl import embed
from jcmspl.embed import image_encoder
run = image_encoder.OnnxModel.run
def slowly(self, *arguments):
    print("running", flush=True)
    time.sleep(0.5)  # stopped before it has begun
    options = self._options
    while not options.terminate:  # as a model that takes hours
        time.sleep(0.01)
    return run(self, *arguments)
image_encoder.OnnxModel.run = slowly
try:
    embed.images(sys.argv[1], sys.argv[2])
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_the_model_runs(birds):
    with interruptible("-c", SLOW, birds, birds.parent / "m.onnx", stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert output.splitlines()[-1] == "interrupted"
