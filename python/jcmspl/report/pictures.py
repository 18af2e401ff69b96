"""Pictures for pages: small, in the page itself, and of files that are what they seem."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
_SIDE, _SMALL = 192, 64  # pixels; those below the second are enlarged, or nothing could be seen
_MOST_BYTES = 50_000_000


def picture_named(name: str, folders: Iterable[Path]) -> str | None:
    """Return the path of the picture that a text names, relative to the first of these folders that has it."""
    if not name.lower().endswith(_ENDINGS):
        return None
    for folder in folders:
        path = folder / name
        try:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                return str(path.resolve())
        except (OSError, ValueError):  # too long, or with characters that no name has
            continue
    return None


def thumbnail(path: str) -> str | None:
    """Return a small copy of a picture as a data URI; None if it cannot be read, or Pillow is not installed."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it may unpack to more than memory
            with Image.open(path, formats=_FORMATS) as opened:
                opened.draft("RGB", (2 * _SIDE, 2 * _SIDE))
                image = _opaque(ImageOps.exif_transpose(opened))
        factor = -(-_SMALL // max(image.size))
        if factor > 1:
            image = image.resize((factor * image.width, factor * image.height), Image.Resampling.NEAREST)
        image.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
        form = "png" if factor > 1 else "jpeg"
        content = io.BytesIO()
        image.save(content, form, quality=82)
    except Exception:  # whatever is in the file, the page is written without it
        return None
    return f"data:image/{form};base64,{base64.b64encode(content.getvalue()).decode()}"


def _opaque(image: Any) -> Any:
    """Return a picture in grey or colours, on white where it is transparent."""
    from PIL import Image

    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image if image.mode == "L" else image.convert("RGB")
