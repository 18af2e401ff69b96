"""Pictures in a folder: their paths, their classes and their content."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from jcmspl.datasets.csv_table import read_text_rows
from jcmspl.datasets.errors import DatasetError
from jcmspl.io.files import missing, other_kind
from jcmspl.support.names import PICTURES
from jcmspl.support.shown import listed, quoted

# Names of columns in a file of labels.
_PATH_COLUMNS = ("path", "paths", "file", "filename", "image", "picture")
_LABEL_COLUMNS = ("label", "labels", "class", "y")
# Formats that Pillow may decode; others can be dangerous: EPS would run another program.
_FORMATS = ("JPEG", "MPO", "PNG", "GIF", "BMP", "TIFF", "WEBP", "AVIF", "PPM", "JPEG2000", "TGA")


class Pictures(NamedTuple):
    """Paths of pictures relative to a folder, with "/", and their classes if they have any."""

    folder: Path
    paths: list[str]
    labels: list[str] | None
    left_out: list[str]  # other files, links to folders visited by another path, pictures not in the file of labels


def find_pictures(folder: str | Path, labels: str | Path | None = None) -> Pictures:
    """Return the pictures below a folder, sorted by path; the class of a picture is the name of its folder.

    If all pictures lie in the folder itself, they have no class. With a CSV file of paths and classes, only these
    pictures are returned.
    """
    root = Path(folder)
    if not root.exists():
        raise missing(root)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is a file: give the folder that holds the pictures")
    files, again = _files_below(root)
    found = [path for path in files if PurePosixPath(path).suffix.lower() in PICTURES]
    others = [path for path in files if PurePosixPath(path).suffix.lower() not in PICTURES]
    for path in found:
        if path.encode(errors="replace").decode() != path:  # it has surrogates
            raise DatasetError(f"{root}: the name {path!r} is not text in the encoding of this system: rename the file")
    if not found:
        raise DatasetError(
            f"{root} holds no pictures: there are {len(others)} other files below it, and pictures are known by their "
            f"names, {', '.join(PICTURES)}"
        )
    if labels is not None:
        named = _read_labels(Path(labels), root)
        return Pictures(root, list(named), list(named.values()), [path for path in found if path not in named])
    others += again
    classes = [PurePosixPath(path).parent.name for path in found]
    if not any(classes):
        return Pictures(root, found, None, others)
    if not all(classes):
        loose = [path for path, name in zip(found, classes, strict=True) if not name]
        raise DatasetError(
            f"{root} has {len(loose)} pictures outside folders of classes, while others are in such folders "
            f"({listed(loose, 3)}): move them, or name the class of each picture with labels (--labels FILE)"
        )
    return Pictures(root, found, classes, others)


def read_picture(path: Path) -> Any:
    """Read a picture as an upright RGB image of Pillow; transparent pixels become white."""
    from PIL import Image, ImageOps

    kind = other_kind(path)
    if kind is not None:  # opening it might wait forever, in a thread that no signal reaches
        raise OSError(f"is {kind}, but a regular file is expected")
    with Image.open(path, formats=formats()) as opened:
        opened.load()
        upright: Any = opened
        with contextlib.suppress(Exception):  # damaged EXIF data is ignored
            upright = ImageOps.exif_transpose(opened)
        return as_rgb(upright)


def reason(error: Exception) -> str:
    """Return a short reason why a picture cannot be read."""
    if type(error).__name__ == "UnidentifiedImageError":
        return "is empty, or not a picture of a known kind"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]


def _files_below(root: Path) -> tuple[list[str], list[str]]:
    """Return all files except hidden ones, and links to folders that are visited by other paths.

    Each folder is visited once, since links between folders can make endless paths. A folder below the root is visited
    by its own path, because the class of a picture is the name of its folder.
    """
    found, again = [], []
    folders, links = deque([root]), deque[Path]()
    visited = set()
    while folders or links:
        place = (folders or links).popleft()
        about = place.stat()
        if (about.st_dev, about.st_ino) in visited:
            again.append(place.relative_to(root).as_posix())
            continue
        visited.add((about.st_dev, about.st_ino))
        with os.scandir(place) as entries:  # raises for unreadable folders: their pictures must not be missing silently
            shown = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
        for entry in shown:
            is_folder = False
            with contextlib.suppress(OSError):  # a link to itself
                is_folder = entry.is_dir()
            if not is_folder:
                found.append((place / entry.name).relative_to(root).as_posix())
            else:
                (links if entry.is_symlink() else folders).append(place / entry.name)
    return sorted(found), sorted(again)


def _read_labels(path: Path, root: Path) -> dict[str, str]:
    """Read the class of each picture from a CSV file."""
    rows = read_text_rows(path)
    header = [cell.lower() for cell in rows[0]] if rows else []
    there = [[header.index(name) for name in names if name in header] for names in (_PATH_COLUMNS, _LABEL_COLUMNS)]
    columns = [positions[0] for positions in there] if all(there) else [0, 1]
    if all(there):
        rows = rows[1:]
    if not rows:
        raise DatasetError(f"{path} names no pictures")
    found: dict[str, str] = {}
    for number, cells in enumerate(rows, start=1):
        if len(cells) <= max(columns) or (header and len(cells) != len(header)):
            raise DatasetError(
                f"{path}: entry {number} has {len(cells)} cells, but the path of a picture and its class are expected; "
                "put a name with commas in quotes"
            )
        name, label = (cells[column] for column in columns)
        picture = _below(name, root)
        if not label:
            raise DatasetError(f"{path}: entry {number} has no class for {quoted(name)}")
        if picture in found:
            raise DatasetError(f"{path} names {quoted(name)} twice")
        if not (root / picture).is_file():
            raise DatasetError(f"{path} names {quoted(name)}, but {root} has no such file")
        found[picture] = label
    return found


def _below(name: str, root: Path) -> str:
    """Return the path of a picture relative to the folder, from any spelling."""
    path = Path(os.path.normpath(name))
    for place in (root, root.resolve()):
        if path.is_absolute() and path.is_relative_to(place.absolute()):
            return path.relative_to(place.absolute()).as_posix()
    return path.as_posix()


@cache
def formats() -> list[str]:
    """Return the allowed formats that this build of Pillow supports."""
    from PIL import Image

    Image.init()
    return [name for name in _FORMATS if name in Image.OPEN]


def as_rgb(image: Any) -> Any:
    """Convert a picture of any mode to RGB; transparent pixels become white."""
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_eight_bits(np.asarray(image))).convert("RGB")
    if image.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info:
        if image.mode == "La":
            image = image.convert("LA")
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def _eight_bits(values: Any) -> Any:
    """Convert grey values of 16 bits, or from 0 to 1, to 8 bits; Pillow would turn them all white."""
    lowest, highest = values.min(), values.max()
    most = 1 if values.dtype.kind == "f" else 65535
    if not (lowest >= 0 and highest <= most):
        raise ValueError(f"has values from {lowest:g} to {highest:g}: convert it to 8 bits first")
    return np.round(values * (255 / most)).astype(np.uint8)
