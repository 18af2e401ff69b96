"""Make ``_static/demo.gif``, the moving picture of the README: digits drawn on the page of ``jcmspl demo``.

``python docs/demo_picture.py`` writes it again; it needs Chromium and Pillow. The page stands in one frame for each
moment, so that one start of the browser takes all pictures.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from jcmspl.cli import main

DOCS = Path(__file__).parent
PICTURE = DOCS / "_static" / "demo.gif"
WIDTH, HEIGHT, SMALL = 1000, 640, 640  # pixels of a frame, and the width of the picture
DRAWN, STEPS, HOLD = ("two", "four", "six"), 5, 4  # moments of a digit, and the time of the last one in moments
MOMENT = 300  # milliseconds
PAGE = """<!doctype html><meta charset="utf-8"><body style="margin: 0">{frames}
<script>
const given = {given};
const script = {script};
window.onload = () => Array.from(window.frames, (frame, i) => new Function("window", "document", "given", script)(
  frame, frame.document, given[i]));
</script>"""


def moments(strokes: list[list[Any]]) -> list[list[list[Any]]]:
    """Return the strokes of a digit as far as they are drawn at each moment."""
    points = [(number, point) for number, stroke in enumerate(strokes) for point in stroke]
    shares = [round(len(points) * (step + 1) / STEPS) for step in range(STEPS)]
    drawn = [[[point for own, point in points[:n] if own == number] for number in range(len(strokes))] for n in shares]
    return [[stroke for stroke in one if stroke] for one in drawn]


def write(chromium: str) -> None:
    """Draw the digits in the page and write the picture."""
    from PIL import Image

    sys.path.insert(0, str(DOCS.parent / "tests"))
    from support.pen import DIGITS, DRAW

    given = [moment for name in DRAWN for moment in moments(DIGITS[name])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        main(["demo", "-o", str(folder / "digits.html"), "--json", "--quiet"])
        page = html.escape((folder / "digits.html").read_text(encoding="utf-8"))
        frame = (
            f'<iframe style="display: block; border: 0; width: {WIDTH}px; height: {HEIGHT}px" srcdoc="{page}"></iframe>'
        )
        text = PAGE.format(frames=frame * len(given), given=json.dumps(given), script=json.dumps(DRAW + "draw(given);"))
        (folder / "frames.html").write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]
        options += [f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{HEIGHT * len(given)}"]
        shot = folder / "shot.png"
        subprocess.run([chromium, *options, f"--screenshot={shot}", (folder / "frames.html").as_uri()], check=True)
        whole = Image.open(shot).convert("RGB")
        size = SMALL, round(SMALL * HEIGHT / WIDTH)
        frames = [
            whole.crop((0, i * HEIGHT, WIDTH, (i + 1) * HEIGHT)).resize(size, Image.Resampling.LANCZOS)
            for i in range(len(given))
        ]
    palette = frames[-1].quantize(48)
    small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [MOMENT * (HOLD if (i + 1) % STEPS == 0 else 1) for i in range(len(small))]
    small[0].save(PICTURE, save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    found = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    if found is None:
        sys.exit("the picture needs Chromium: install it first")
    write(found)
