"""Charts as SVG text, for pages that need nothing but themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jcmspl.report.text import shortened

# Told apart also in grey and by most who see colours differently.
COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#0f766e", "#be185d")
_GRID, _TEXT = "#d4d4d8", "#3f3f46"


@dataclass(frozen=True)
class Series:
    """A line of a chart: points (x, y) and a name."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A point of a chart that has a name of its own."""

    name: str
    x: float
    y: float


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    x_log: bool = False,
    percent: bool = False,
) -> str:
    """Return a line chart."""
    width, height, left, right, top, bottom = 580, 340, 84, 16, 16, 52
    points = [point for line in series for point in line.points] + [(mark.x, mark.y) for mark in marks]
    x_ticks = _log_ticks([x for x, _ in points]) if x_log else _ticks([x for x, _ in points])
    y_ticks = _ticks([y for _, y in points])
    to_x, to_y = (math.log10 if x_log else float), float
    x0, x1 = to_x(x_ticks[0]), to_x(x_ticks[-1])
    y0, y1 = y_ticks[0], y_ticks[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + (to_x(x) - x0) / ((x1 - x0) or 1) * (width - left - right),
            height - bottom - (to_y(y) - y0) / ((y1 - y0) or 1) * (height - top - bottom),
        )

    def number(value: float) -> str:
        return f"{100 * value:.3g} %" if percent else f"{value:.4g}"

    out = [_open(width, height, title)]
    for tick in y_ticks:
        _, y = place(x_ticks[0], tick)
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>')
        out.append(_text(left - 6, y + 4, number(tick), anchor="end"))
    for tick in x_ticks:
        x, _ = place(tick, y_ticks[0])
        label = (
            f"{tick:.0e}".replace("e-0", "e-").replace("e+0", "e")
            if x_log
            else number(tick)
            if percent
            else f"{tick:g}"
        )
        out.append(_text(x, height - bottom + 18, label, anchor="middle"))
    out.append(_text((left + width - right) / 2, height - 10, x_label, anchor="middle"))
    out.append(
        f'<text transform="translate(14 {(top + height - bottom) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle" fill="{_TEXT}">{escape(y_label)}</text>'
    )
    for index, line in enumerate(series):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    for index, mark in enumerate(marks):
        x, y = place(mark.x, mark.y)
        near_right = x > width - 130
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="#18181b"/>')
        # a white rim keeps the name readable where it lies on a line
        name = _text(
            x + (-8 if near_right else 8),
            y + (-7 if index % 2 == 0 else 17),
            mark.name,
            anchor="end" if near_right else "start",
        )
        out.append(name.replace("<text ", '<text paint-order="stroke" stroke="#fff" stroke-width="4" '))
    return _closed(out) + (_legend([line.name for line in series]) if len(series) > 1 else "")


def bar_chart(
    labels: Sequence[str], values: Sequence[Sequence[float | None]], names: Sequence[str], *, title: str
) -> str:
    """Return horizontal bars of shares 0..1: for each label one bar per name."""
    per_row, left, width, right = 11 * len(names) + 7, 220, 720, 52
    height = per_row * len(labels) + 8
    out = [_open(width, height, title)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * (width - left - right)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}" stroke="{_GRID}"/>')
    for row, (label, bars) in enumerate(zip(labels, values, strict=True)):
        y = 4 + row * per_row
        out.append(_text(left - 8, y + per_row / 2 + 1, shortened(label, 32), anchor="end", title=label))
        for index, value in enumerate(bars):
            if value is None:
                continue
            length = value * (width - left - right)
            top = y + 11 * index + 1
            out.append(
                f'<rect x="{left}" y="{top}" width="{length:.1f}" height="9" fill="{COLOURS[index]}">'
                f"<title>{escape(label)}, {escape(names[index])}: {100 * value:.1f} %</title></rect>"
            )
            out.append(_text(left + length + 4, top + 8.5, f"{100 * value:.0f}", anchor="start", size=10))
    return _closed(out) + (_legend(names) if len(names) > 1 else "")


def heat_map(counts: Sequence[Sequence[int]], labels: Sequence[str], *, title: str) -> str:
    """Return a confusion matrix: rows are true classes, columns predicted ones, darker is a larger share of the row."""
    n = len(labels)
    cell = max(5.0, min(34.0, 600 / n))
    named = cell >= 9
    left = top = 150 if named else 30
    width = left + n * cell + 10
    height = top + n * cell + 10
    out = [_open(width, height, title)]
    size = min(12.0, cell - 1) if named else 11
    for i, label in enumerate(labels):
        middle = top + (i + 0.5) * cell
        if named:
            short = shortened(label, 24)
            out.append(_text(left - 5, middle + size / 3, short, anchor="end", size=size, title=label))
            out.append(
                f'<text transform="translate({left + (i + 0.5) * cell + size / 3:.1f} {top - 5}) rotate(-90)" '
                f'font-size="{size:.1f}" fill="{_TEXT}">{escape(short)}</text>'
            )
        total = sum(counts[i]) or 1
        for j, count in enumerate(counts[i]):
            if not count:
                continue
            share = count / total
            x, y = left + j * cell, top + i * cell
            fill = COLOURS[0] if i == j else COLOURS[1]
            out.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" fill="{fill}" '
                f'fill-opacity="{0.12 + 0.88 * share:.2f}"><title>{escape(label)} taken for {escape(labels[j])}: '
                f"{count} ({100 * share:.0f} %)</title></rect>"
            )
            if cell >= 26:
                colour = "#ffffff" if share > 0.5 else "#18181b"
                out.append(_text(x + cell / 2, y + cell / 2 + 4, str(count), anchor="middle", size=11, colour=colour))
    out.append(
        f'<rect x="{left}" y="{top}" width="{n * cell:.1f}" height="{n * cell:.1f}" fill="none" stroke="{_GRID}"/>'
    )
    return _closed(out)


def _closed(parts: Sequence[str]) -> str:
    return f'<div class="scroll">{"".join(parts)}</svg></div>'


def _open(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'style="max-width:{width:.0f}px" font-size="12" font-family="inherit">'
        f"<title>{escape(title)}</title>"
    )


def _text(
    x: float, y: float, content: str, *, anchor: str, size: float = 12, colour: str = _TEXT, title: str = ""
) -> str:
    hint = f"<title>{escape(title)}</title>" if title and title != content else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:.1f}" fill="{colour}">'
        f"{escape(content)}{hint}</text>"
    )


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<span><i style="background:{COLOURS[i % len(COLOURS)]}"></i>{escape(name)}</span>'
        for i, name in enumerate(names)
    )
    return f'<p class="legend">{items}</p>'


def _ticks(values: Sequence[float], about: int = 5) -> list[float]:
    """Return round numbers that enclose the values."""
    low, high = min(values), max(values)
    if low == high:
        low, high = (low - 0.5, high + 0.5) if low == 0 else (low - abs(low) / 2, high + abs(high) / 2)
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _log_ticks(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    stride = max(1, math.ceil((high - low) / 8))
    powers = list(range(low, high + 1, stride))
    if powers[-1] < high:
        powers.append(powers[-1] + stride)
    return [10.0**power for power in (powers if len(powers) > 1 else [low - 1, low + 1])]
