"""What all charts share: colours, axes of their own, and what becomes of them: part of a page, a file, a notebook."""

from __future__ import annotations

import copy
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from jcmspl.support.shown import shortened

if TYPE_CHECKING:
    from typing_extensions import Self

# Told apart also in grey and by most who see colours differently.
COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#0f766e", "#be185d")
INK, FAINT = "#18181b", "#d4d4d8"
_MOST_IN_HINT = 600
_FONTS = ["DejaVu Sans", "sans-serif"]


def require_matplotlib() -> None:
    """Say what to install if matplotlib is missing: to be called before the work whose results are to be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("charts need the package matplotlib: pip install 'jcmspl[plots]'") from None


def drawable(name: object, most: int = 32) -> str:
    """Return a name as it can be drawn: on one line, of printable characters, not empty and not too long."""
    text = "".join(character if character.isprintable() else " " for character in str(name))
    return shortened(text.strip() or "(empty)", most)


class Display:
    """A chart: it holds its data, and draws it on any axes of matplotlib.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after ``plot``.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : Axes of matplotlib, optional
        name : str, optional
            What the curve is called in the legend, where there is one curve.

        Returns
        -------
        self
        """
        require_matplotlib()
        if ax is None:
            from matplotlib import pyplot

            ax = _dressed(pyplot.figure(figsize=self._size(), layout="constrained"))
        self.ax_, self.figure_ = ax, ax.figure
        self._hints: dict[str, str] = {}
        self._draw(ax, **options)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def to_svg(self, title: str) -> str:
        """Return the chart as an SVG element of an HTML page; the title is what a screen reader tells of it."""
        with _same_everywhere(title), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser has fonts of its own
            display = self._drawn_alone()
            metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            text = _saved(display.figure_, format="svg", metadata=metadata).decode()
        return _inlined(text, title, display._hints)

    def to_file(self, form: str, title: str | None = None) -> bytes:
        """Return the chart as the content of a file, "png" or "svg", with a title above it."""
        with _same_everywhere(""):
            display = self._drawn_alone()
            if title is not None:
                display.ax_.set_title(drawable(title, 80), fontsize=10, parse_math=False)
            # no date: the same results give the same file
            return _saved(display.figure_, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)

    def _size(self) -> tuple[float, float]:
        """Return width and height in inches of the figure that is made where no axes are given."""
        return 6.4, 4.0

    def _hint(self, artist: Any, text: str) -> None:
        """Let a page tell this text when the pointer is on that part of the chart."""
        name = f"hint-{len(self._hints)}"
        artist.set_gid(name)
        self._hints[name] = drawable(text, _MOST_IN_HINT)

    def _drawn_alone(self) -> Any:
        # Not pyplot: its figures stay in memory until they are closed, and it may want a screen. A copy: what the user
        # has drawn stays in ax_ and figure_.
        from matplotlib.figure import Figure

        return copy.copy(self).plot(_dressed(Figure(figsize=self._size(), layout="constrained")))


def legend(ax: Any, **options: Any) -> None:
    """Add a legend; a dollar sign in a name is a dollar sign."""
    for text in ax.legend(frameon=False, **options).get_texts():
        text.set_parse_math(False)


def legend_above(ax: Any, columns: int) -> None:
    """Add a legend above the axes, where it is off the bars."""
    legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2)


def _dressed(figure: Any) -> Any:
    """Return new axes with the look of this package; those that are given keep their own."""
    ax = figure.subplots()
    ax.set_prop_cycle(color=COLOURS)
    ax.set_axisbelow(True)
    ax.grid(color=FAINT, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT)
    return ax


@contextmanager
def _same_everywhere(salt: str) -> Iterator[None]:
    """Draw alike whatever matplotlib is set to, and give equal charts equal ids, which must differ within a page."""
    require_matplotlib()
    import matplotlib
    from matplotlib import style

    svg = {"svg.fonttype": "none", "svg.hashsalt": f"jcmspl {salt}"}
    fonts = {"font.family": _FONTS, "font.sans-serif": _FONTS[:1]}
    with style.context("default"), matplotlib.rc_context(svg | fonts):
        yield


def _saved(figure: Any, **options: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, **options)
    return content.getvalue()


def _inlined(svg: str, title: str, hints: dict[str, str]) -> str:
    """Return matplotlib's file as an element that fits into a page: no prologue, no style, no size, no idle ids."""
    found = re.search(r'<svg [^>]*width="([\d.]+)pt"[^>]*viewBox="([^"]*)"[^>]*>', svg)
    if found is None:
        raise RuntimeError("matplotlib has written an SVG file of a form that is not known here")
    # points to the pixels of CSS; on a narrow screen it is scrolled before its text becomes too small to be read
    width = round(float(found[1]) * 4 / 3)

    def group(match: re.Match[str]) -> str:
        hint = hints.get(match[1])
        return "<g>" if hint is None else f"<g><title>{escape(hint)}</title>"

    body = re.sub(r"<style.*?</style>", "", svg[found.end() :], flags=re.DOTALL)
    body = re.sub(r'<g id="([^"]*)">', group, body)
    size = f"max-width:{width}px;min-width:{0.54 * width:.0f}px"
    return (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{found[2]}" role="img" style="{size}" '
        f'stroke-linejoin="round"><title>{escape(title)}</title>{body.strip()}'
    )
