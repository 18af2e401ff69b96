"""How a hand draws digits: lines of points, from 0 to 1, and what moves a pointer along them."""

import itertools
import math


def arc(x, y, width, height, first, last):
    """Return points of an ellipse, from one angle to another, in degrees clockwise from the right."""
    angles = (math.radians(first + (last - first) * i / 24) for i in range(25))
    return [[x + width * math.cos(a), y + height * math.sin(a)] for a in angles]


def line(*corners):
    """Return points along a line through some corners."""
    pairs = itertools.pairwise(corners)
    return [[a + (c - a) * i / 8, b + (d - b) * i / 8] for (a, b), (c, d) in pairs for i in range(9)]


DIGITS = {
    "zero": [arc(0.5, 0.5, 0.25, 0.4, -90, 270)],
    "one": [line((0.35, 0.3), (0.52, 0.1), (0.52, 0.9))],
    "two": [arc(0.5, 0.3, 0.22, 0.2, -170, 20) + line((0.7, 0.37), (0.28, 0.9), (0.75, 0.9))],
    "three": [arc(0.47, 0.3, 0.22, 0.2, -150, 90) + arc(0.47, 0.7, 0.25, 0.2, -90, 150)],
    "four": [line((0.45, 0.1), (0.25, 0.6), (0.75, 0.6)), line((0.6, 0.35), (0.58, 0.9))],
    "five": [line((0.7, 0.1), (0.33, 0.1), (0.3, 0.45)) + arc(0.47, 0.66, 0.24, 0.24, -130, 150)],
    "six": [line((0.6, 0.1), (0.35, 0.5)) + arc(0.5, 0.68, 0.2, 0.22, -170, 190)],
    "seven": [line((0.27, 0.12), (0.73, 0.1), (0.45, 0.9)), line((0.35, 0.5), (0.7, 0.48))],
    "nine": [arc(0.48, 0.32, 0.2, 0.22, 0, -360) + arc(0.42, 0.5, 0.27, 0.4, -25, 100)],
}

#: A function draw(strokes) of a script for :func:`support.browser.browse`.
DRAW = """
const pad = document.getElementById("pad"), box = pad.getBoundingClientRect();
const point = (kind, [x, y]) => pad.dispatchEvent(new window.PointerEvent(kind, {
  clientX: box.left + x * box.width, clientY: box.top + y * box.height, pointerId: 1, bubbles: true,
}));
const draw = (strokes) => {
  document.getElementById("clear").click();
  for (const stroke of strokes) {
    point("pointerdown", stroke[0]);
    for (const place of stroke.slice(1)) point("pointermove", place);
    point("pointerup", stroke[stroke.length - 1]);
  }
};
"""
