"""Draw ``_static/clip.svg``, the first picture of the README, from the table of shots in clip.md.

``python docs/clip_picture.py`` writes it again where the table has changed; a test compares the two. It is written by
hand, like that of picture.py, so that it is the same everywhere, to the last byte.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent
PICTURE = DOCS / "_static" / "clip.svg"
HEAD = "| shots | base | new | H |"
#: The curves, by the column of the table: name, colour, where the name stands beside the last point.
CURVES = {
    "base": ("base classes", "#c2410c", 0),
    "H": ("harmonic mean", "#1d4ed8", 5),
    "new": ("new classes, no pictures", "#0f766e", 11),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 372, 56, 556, 70, 312
LOWEST, HIGHEST = 55, 77  # of the axis, in per cent


def table() -> dict[str, list[tuple[str, float]]]:
    """Return shots and accuracy along each curve."""
    text = (DOCS / "clip.md").read_text(encoding="utf-8")
    start = text.find(HEAD)
    if start < 0:
        raise ValueError(f"docs/clip.md has no table that starts with {HEAD!r}")
    header, _, *rows = text[start:].split("\n\n")[0].splitlines()
    names = [cell.strip() for cell in header.strip("| ").split("|")]
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in CURVES}
    for row in rows:
        cells = dict(zip(names, (cell.strip() for cell in row.strip("| ").split("|")), strict=True))
        for name, points in found.items():
            points.append((cells["shots"], float(re.split(" ", cells[name])[0])))
    return found


def drawn() -> str:
    """Return the picture."""
    found = table()
    shots = [one for one, _ in found["H"]]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        "<title>CLIP vectors of cars: share recognised by the number of labelled pictures of base classes</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        '<text x="20" y="26" font-size="15" font-weight="600" fill="#18181b">'
        "CLIP vectors, a few labelled pictures of half of the classes: share recognised, %</text>",
        '<text x="20" y="46" font-size="12" fill="#52525b">'
        "Stanford Cars, ViT-B/32, 98 base and 98 new classes; JCMSPL() untuned; 0 pictures: the plain cosine</text>",
    ]
    for tick in range(LOWEST, HIGHEST, 5):
        y = _height(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#e4e4e7"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="#52525b">{tick}</text>'
        )
    places = [LEFT + 24 + i * (RIGHT - LEFT - 48) / (len(shots) - 1) for i in range(len(shots))]
    for x, one in zip(places, shots, strict=True):
        parts.append(
            f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle" font-size="11" fill="#52525b">{one}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 40}" text-anchor="middle" font-size="12" fill="#52525b">'
        "labelled pictures of each base class</text>"
    )
    for name, (label, colour, lower) in CURVES.items():
        points = [(x, _height(value)) for x, (_, value) in zip(places, found[name], strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
        (_, first), (_, last) = found[name][0], found[name][-1]
        parts.append(
            f'<text x="{RIGHT - 8}" y="{points[-1][1] + lower:.1f}" fill="{colour}">'
            f'<tspan font-weight="600">{first:.1f} → {last:.1f}</tspan> {label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _height(value: float) -> float:
    """Return where a share stands on the axis."""
    return BOTTOM - (value - LOWEST) * (BOTTOM - TOP) / (HIGHEST - LOWEST)


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8", newline="\n")
