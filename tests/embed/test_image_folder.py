"""Pictures in folders, and pictures of every kind."""

import os
import warnings

import numpy as np
import pytest
from PIL import Image

from jcmspl.datasets import DatasetError
from jcmspl.embed.image_folder import find_pictures, read_picture
from support.encoders import noise, write_pictures


def pixels(path):
    image = read_picture(path)
    assert image.mode == "RGB"
    return np.asarray(image)


def saved(path, image, **options):
    image.save(path, **options)
    return pixels(path)


class TestKinds:
    """A description of a picture, as by hand."""

    def test_colours(self, tmp_path):
        np.testing.assert_array_equal(saved(tmp_path / "a.png", Image.fromarray(noise())), noise())

    def test_grey(self, tmp_path):
        grey = noise()[:, :, 0]
        np.testing.assert_array_equal(saved(tmp_path / "a.png", Image.fromarray(grey)), np.stack([grey] * 3, axis=2))

    def test_black_and_white(self, tmp_path):
        bits = noise()[:, :, 0] > 127
        found = saved(tmp_path / "a.png", Image.fromarray(bits))
        np.testing.assert_array_equal(found, np.stack([bits * 255] * 3, axis=2))

    def test_palette(self, tmp_path):
        image = Image.new("P", (2, 1))
        image.putpalette([10, 20, 30, 200, 100, 50])
        image.putdata([1, 0])
        assert saved(tmp_path / "a.png", image).tolist() == [[[200, 100, 50], [10, 20, 30]]]
        found = saved(tmp_path / "b.png", image, transparency=1)  # that colour is transparent
        assert found.tolist() == [[[255, 255, 255], [10, 20, 30]]]

    def test_alpha_is_shown_on_white(self, tmp_path):
        colours, alpha = noise().astype(float), noise(seed=1)[:, :, :1].astype(float)
        image = Image.fromarray(np.concatenate([colours, alpha], axis=2).astype(np.uint8))
        expected = colours * (alpha / 255) + 255 * (1 - alpha / 255)
        np.testing.assert_allclose(saved(tmp_path / "a.png", image), expected, atol=1)

    def test_grey_with_alpha(self, tmp_path):
        image = Image.fromarray(np.array([[[7, 255], [7, 0]]], dtype=np.uint8))
        assert image.mode == "LA"
        assert saved(tmp_path / "a.png", image)[0, :, 0].tolist() == [7, 255]

    def test_cmyk(self, tmp_path):
        ink = np.zeros((8, 8, 4), dtype=np.uint8)
        ink[..., 1:3] = 255  # magenta and yellow: red
        for name in ("a.tif", "a.jpg"):
            found = saved(tmp_path / name, Image.frombytes("CMYK", (8, 8), ink.tobytes()))
            np.testing.assert_allclose(found[0, 0], [255, 0, 0], atol=12)

    @pytest.mark.parametrize("name", ["a.png", "a.tif"])
    def test_sixteen_bits(self, tmp_path, name):
        grey = noise(dtype=np.uint16)[:, :, 0]
        found = saved(tmp_path / name, Image.fromarray(grey))
        np.testing.assert_array_equal(found[:, :, 1], np.round(grey / 257))

    def test_fractions(self, tmp_path):
        grey = np.linspace(0, 1, 35, dtype=np.float32).reshape(5, 7)
        found = saved(tmp_path / "a.tif", Image.fromarray(grey))
        np.testing.assert_array_equal(found[:, :, 0], np.round(grey * 255))

    def test_a_range_that_is_not_known(self, tmp_path):
        Image.fromarray(np.full((2, 2), 1e5, dtype=np.float32)).save(tmp_path / "a.tif")
        with pytest.raises(ValueError, match="100000: convert it to 8 bits"):
            read_picture(tmp_path / "a.tif")

    @pytest.mark.parametrize(
        ("orientation", "turned"),
        [
            (1, lambda a: a),
            (3, lambda a: np.rot90(a, 2)),
            (6, lambda a: np.rot90(a, -1)),
            (8, lambda a: np.rot90(a, 1)),
            (2, np.fliplr),
        ],
    )
    def test_the_right_way_up(self, tmp_path, orientation, turned):
        exif = Image.Exif()
        exif[0x0112] = orientation
        found = saved(tmp_path / "a.png", Image.fromarray(noise()), exif=exif)
        np.testing.assert_array_equal(found, turned(noise()))

    def test_damaged_exif_is_none(self, tmp_path):
        Image.fromarray(noise(8, 8)).save(tmp_path / "a.jpg", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert pixels(tmp_path / "a.jpg").shape == (8, 8, 3)

    def test_the_first_of_many_frames(self, tmp_path):
        frames = [Image.new("L", (3, 3), value) for value in (9, 200)]
        frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
        assert pixels(tmp_path / "a.gif")[0, 0].tolist() == [9, 9, 9]

    def test_no_program_is_run(self, tmp_path):
        """EPS is drawn by ghostscript: whatever its name, it is not opened."""
        (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\n")
        with pytest.raises(OSError, match="cannot identify"):
            read_picture(tmp_path / "a.png")


class TestFolders:
    def test_classes_are_folders(self, tmp_path):
        expected = write_pictures(tmp_path, ("zebra", "ant", "été <b>", "=1+1"), each=2)
        found = find_pictures(tmp_path)
        assert found.paths == sorted(expected)
        assert found.labels == [path.split("/")[0] for path in found.paths]

    def test_deep(self, tmp_path):
        write_pictures(tmp_path / "train", ("cat",), each=1)
        write_pictures(tmp_path / "val", ("cat",), each=1)
        assert find_pictures(tmp_path).labels == ["cat", "cat"]

    def test_pictures_to_be_named(self, tmp_path):
        write_pictures(tmp_path, ("cat",), each=2)
        assert find_pictures(tmp_path / "cat").labels is None

    def test_what_is_no_picture(self, tmp_path):
        write_pictures(tmp_path, ("cat",), each=1)
        for name in ("notes.txt", "cat/._0.png", ".hidden"):
            (tmp_path / name).write_text("x")
        Image.fromarray(noise()).save(tmp_path / "cat" / "UPPER.PNG")
        found = find_pictures(tmp_path)
        assert found.paths == ["cat/0.png", "cat/UPPER.PNG"]
        assert found.left_out == ["notes.txt"]

    @pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
    def test_links(self, tmp_path):
        write_pictures(tmp_path / "elsewhere", ("cat",), each=1)
        (tmp_path / "birds").mkdir()
        (tmp_path / "birds" / "owl").symlink_to(tmp_path / "elsewhere" / "cat")
        (tmp_path / "birds" / "eule").symlink_to(tmp_path / "elsewhere" / "cat")
        (tmp_path / "birds" / "back").symlink_to(tmp_path / "birds")
        (tmp_path / "birds" / "itself").symlink_to("itself")
        found = find_pictures(tmp_path / "birds")
        assert found.paths == ["eule/0.png"]
        assert found.left_out == ["itself", "back", "owl"]

    @pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
    def test_folders_that_link_to_each_other(self, tmp_path, monkeypatch):
        """There are more than 8! ways through them, but each is visited once, under its own name."""
        names = [f"class {i}" for i in range(8)]
        expected = write_pictures(tmp_path / "in", names, each=1)
        for one in names:
            for other in names:
                if one != other:
                    (tmp_path / "in" / one / f"a link to {other}").symlink_to(f"../{other}")
        scan, places = os.scandir, []

        def counted(place):
            places.append(place)
            assert len(places) <= 1 + len(names)
            return scan(place)

        monkeypatch.setattr(os, "scandir", counted)
        found = find_pictures(tmp_path / "in")
        assert found.paths == expected
        assert found.labels == names
        assert len(found.left_out) == 8 * 7

    @pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
    def test_the_path_of_a_folder_goes_before_links_to_it(self, tmp_path):
        write_pictures(tmp_path / "in", ("z/cat",), each=1)
        (tmp_path / "in" / "a").symlink_to(tmp_path / "in" / "z" / "cat")
        found = find_pictures(tmp_path / "in")
        assert (found.paths, found.labels, found.left_out) == (["z/cat/0.png"], ["cat"], ["a"])

    def test_a_folder_that_cannot_be_read(self, tmp_path, monkeypatch):
        write_pictures(tmp_path)
        scan = os.scandir

        def refused(path):
            if str(path).endswith("dog"):
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", refused)
        with pytest.raises(PermissionError, match="dog"):
            find_pictures(tmp_path)

    @pytest.mark.parametrize(
        ("make", "sentence"),
        [
            (lambda folder: None, "holds no pictures: there are 0 other files"),
            (lambda folder: (folder / "a.txt").write_text(""), "holds no pictures: there are 1 other files"),
            (lambda folder: (write_pictures(folder), Image.fromarray(noise()).save(folder / "loose.png")), "loose.png"),
        ],
    )
    def test_mistakes(self, tmp_path, make, sentence):
        make(tmp_path)
        with pytest.raises(DatasetError, match=sentence):
            find_pictures(tmp_path)

    def test_no_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            find_pictures(tmp_path / "no")
        (tmp_path / "a.png").write_text("")
        with pytest.raises(NotADirectoryError, match="give the folder"):
            find_pictures(tmp_path / "a.png")


class TestLabels:
    @pytest.mark.parametrize(
        "text",
        [
            "cat/1.png,lion\ndog/0.png,wolf\n",
            "path,label\n./cat/1.png,lion\ndog//0.png,wolf\n",
            "label,size,file\nlion,3,cat/1.png\nwolf,4,dog/0.png\n",
            "{folder}/cat/1.png,lion\ndog/0.png,wolf",
        ],
    )
    def test_only_those_that_are_named(self, tmp_path, text):
        write_pictures(tmp_path / "in")
        (tmp_path / "labels.csv").write_text(text.format(folder=tmp_path / "in"))
        found = find_pictures(tmp_path / "in", tmp_path / "labels.csv")
        assert dict(zip(found.paths, found.labels, strict=True)) == {"cat/1.png": "lion", "dog/0.png": "wolf"}
        assert len(found.left_out) == 4

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "names no pictures"),
            ("path,label\n", "names no pictures"),
            ("cat/0.png\n", "entry 1 has 1 cells"),
            ("cat/0.png,a,b\ncat/1.png,a\n", "entry 2 has 2 cells"),
            ("cat/0.png,a\ncat/9.png,a\n", "names 'cat/9.png', but"),
            ("cat/0.png,a\n./cat/0.png,b\n", "twice"),
            ("cat/0.png,\n", "entry 1 has no class"),
        ],
    )
    def test_mistakes(self, tmp_path, text, sentence):
        write_pictures(tmp_path / "in")
        (tmp_path / "labels.csv").write_text(text)
        with pytest.raises(DatasetError, match=sentence):
            find_pictures(tmp_path / "in", tmp_path / "labels.csv")
