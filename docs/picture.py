"""Draw ``_static/accuracy.svg`` from the table of accuracies in tuning.md.

``python docs/picture.py`` writes it again where the table has changed; a test compares the two. It is written by hand
and not by matplotlib, so that it is the same everywhere, to the last byte.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
PICTURE = DOCS / "_static" / "accuracy.svg"
#: Rows of the table that are drawn, and what they are called: peers as they are usually run, then with all that
#: JCMSPLCV has, then jcmspl.
ROWS = {
    "RidgeVS, plain": ("RidgeVS, tuned", "peer"),
    "RPL, plain": ("RPL, tuned", "peer"),
    "SAE, plain": ("SAE, tuned", "peer"),
    "ESZSL, plain": ("ESZSL, tuned", "peer"),
    "ESZSL, equal": ("ESZSL, with our normalisation and kernels", "helped"),
    "RPL, equal, aligned": ("RPL, with these and the plain cosine", "helped"),
    "JCMSPL()": ("JCMSPL(), untuned", "own"),
    "JCMSPLCV()": ("JCMSPLCV()", "own"),
    "JCMSPLCV(), adapted": ("JCMSPLCV(), adapted without labels", "adapted"),
}
COLOURS = {"peer": "#94a3b8", "helped": "#64748b", "own": "#1d4ed8", "adapted": "#0f766e"}
WIDTH, LEFT, ROW, TOP = 820, 310, 27, 62
PER_POINT = (WIDTH - LEFT - 120) / 80  # pixels for a per cent; the axis ends at 80


class Accuracy(NamedTuple):
    """A row of the table: the mean over the six runs, and the difference to JCMSPLCV() with its standard error."""

    mean: float
    difference: str


def table() -> dict[str, Accuracy]:
    """Return the rows of the table of tuning.md that have a mean."""
    text = (DOCS / "tuning.md").read_text(encoding="utf-8")
    rest = text.partition("| % | cub own |")[2]
    if not rest:
        raise ValueError("docs/tuning.md has no table that starts with '| % | cub own |'")
    rows = {}
    for line in rest.split("\n\n")[0].splitlines()[2:]:
        name, *_, mean, difference = (cell.strip() for cell in line.strip("| ").split(" | "))
        if re.fullmatch(r"[\d.]+", mean):
            rows[name] = Accuracy(float(mean), difference)
        elif re.fullmatch(r"[\d.]+", difference):  # that of JCMSPLCV() itself is empty
            rows[name] = Accuracy(float(difference), "")
    return rows


def drawn() -> str:
    """Return the picture."""
    found = table()
    height = TOP + ROW * len(ROWS) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        "<title>Mean per-class accuracy on unseen classes</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        '<text x="20" y="26" font-size="15" font-weight="600" fill="#18181b">'
        "Classes never seen in training: share recognised, %</text>",
        '<text x="20" y="46" font-size="12" fill="#52525b">'
        "mean over birds, intents and sounds, two splits each; right: difference to JCMSPLCV() ± standard error</text>",
    ]
    bottom = TOP + ROW * len(ROWS)
    for tick in range(0, 81, 20):
        x = LEFT + tick * PER_POINT
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e4e7"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" font-size="11" fill="#52525b">{tick}</text>'
        )
    for number, (name, (label, kind)) in enumerate(ROWS.items()):
        mean, difference = found[name]
        top, middle = TOP + ROW * number + 4, TOP + ROW * number + ROW / 2 + 4.5
        end = LEFT + mean * PER_POINT
        parts += [
            f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end" fill="#18181b">{label}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{end - LEFT:.1f}" height="{ROW - 8}" rx="2" fill="{COLOURS[kind]}"/>',
            f'<text x="{end - 6:.1f}" y="{middle}" text-anchor="end" font-weight="600" fill="#fff">{mean:.1f}</text>',
            f'<text x="{WIDTH - 20}" y="{middle}" text-anchor="end" fill="#52525b">{difference}</text>',
        ]
    parts.append(
        f'<text x="20" y="{bottom + 34}" font-size="11" fill="#52525b">'
        "docs/tuning.md; the last row sees all test samples at once and is not to be compared with the others</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8", newline="\n")
