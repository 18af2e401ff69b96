"""Base class of charts: colours, axes, legends, and drawing into a page, a file or a notebook."""

from __future__ import annotations

import copy
import inspect
import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jcmspl.support.arguments import Float64Array
from jcmspl.support.lazy import needed
from jcmspl.support.shown import shortened

if TYPE_CHECKING:
    from typing_extensions import Self

# They differ in grey, too, and for most colour-blind readers.
COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#0f766e", "#be185d")
INK, FAINT = "#18181b", "#d4d4d8"
_MOST_IN_HINT = 600
# Labels of lines and whiskers beside the data, last in legends; matplotlib would put some of them first.
_MARKS = ("chance", "tuned: ", "settles at", "95 % interval")
_FONTS = ["DejaVu Sans", "sans-serif"]


def require_matplotlib() -> None:
    """Raise ImportError if matplotlib is missing; called before long work whose result will be drawn."""
    needed("matplotlib", "charts need the package matplotlib", "plots")


def drawable(name: object, most: int = 32) -> str:
    """Return a name on one line, printable, not empty and not too long."""
    text = "".join(character if character.isprintable() else " " for character in str(name))
    return shortened(text.strip() or "(empty)", most)


class Display:
    """Base class of charts: holds the data and draws it on any axes of matplotlib.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of the last ``plot``.
    """

    #: The default title.
    TITLE: ClassVar[str] = ""

    ax_: Any
    figure_: Any
    _hints: dict[str, str]
    _has_own_axes: bool
    _rows_above: int  # of a legend, between the axes and the title

    def plot(self, ax: Any = None, *, title: str | None = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : Axes of matplotlib, optional
            They keep their look and their title.
        title : str, optional
            Replaces the default title; "" for none.
        **options
            Options of this chart, listed in its docstring.

        Returns
        -------
        self
        """
        require_matplotlib()
        self._check_options(options)
        if ax is not None:
            return self._plot_on(ax, title, options)
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=self._size(**options), layout="constrained")
        try:
            return self._plot_on(_dressed(figure), title, options, own=True)
        except BaseException:
            pyplot.close(figure)  # a notebook would show it, empty
            raise

    def _plot_on(self, ax: Any, title: str | None, options: dict[str, Any], *, own: bool = False) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        self._hints, self._has_own_axes, self._rows_above = {}, own, 0
        self._draw(ax, **options)
        text = self._title() if title is None else title
        is_taken = any(ax.get_title(loc=place) for place in ("left", "center", "right"))
        if text and (title is not None or not is_taken):
            pad = 6 + 17 * self._rows_above
            ax.set_title(drawable(text, 100), loc="left", fontsize=11, pad=pad, parse_math=False)
        return self

    def _check_options(self, options: dict[str, Any]) -> None:
        known = [name for name in inspect.signature(self._draw).parameters if name != "ax"]
        if strangers := [name for name in options if name not in known]:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise TypeError(f"{type(self).__name__} has no option {strangers[0]!r}: {has}, besides ax and title")

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _title(self) -> str:
        """Return the default title."""
        return self.TITLE

    def to_svg(self, title: str) -> str:
        """Return the chart as an SVG element of an HTML page, with a title for screen readers."""
        with _same_everywhere(title), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser has fonts of its own
            display = self._drawn_alone(title="")
            metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            text = _saved(display.figure_, format="svg", metadata=metadata).decode()
        return _inlined(text, title, display._hints)

    def to_file(self, form: str, title: str | None = None) -> bytes:
        """Return the chart as the content of a "png" or "svg" file, with this title or the default one."""
        with _same_everywhere(""):
            display = self._drawn_alone(title)
            # no date: the same results give the same file
            return _saved(display.figure_, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)

    def _size(self, **options: Any) -> tuple[float, float]:
        """Return width and height, in inches, of a new figure."""
        return 6.4, 4.0

    def _hint(self, artist: Any, text: str) -> None:
        """Add a text that a page shows when the pointer is on this part of the chart."""
        name = f"hint-{len(self._hints)}"
        artist.set_gid(name)
        self._hints[name] = drawable(text, _MOST_IN_HINT)

    def _drawn_alone(self, title: str | None) -> Any:
        # Without pyplot, whose figures stay in memory until closed and may need a screen; on a copy, so that ax_ and
        # figure_ stay those of the user's last plot.
        from matplotlib.figure import Figure

        return copy.copy(self)._plot_on(
            _dressed(Figure(figsize=self._size(), layout="constrained")), title, {}, own=True
        )

    def _legend(self, ax: Any, **place: Any) -> Any:
        """Add a legend with names of marks last; names are not parsed as formulas."""
        handles, names = ax.get_legend_handles_labels()
        order = sorted(range(len(names)), key=lambda i: names[i].startswith(_MARKS))
        made = ax.legend([handles[i] for i in order], [names[i] for i in order], frameon=False, **place)
        for text in made.get_texts():
            text.set_parse_math(False)
        return made

    def _legend_above(self, ax: Any, columns: int = 3) -> None:
        """Add a legend above the axes, where it hides no data."""
        made = self._legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, fontsize=9)
        self._rows_above = math.ceil(len(made.get_texts()) / columns)

    def _name_ticks(
        self,
        axis: Any,
        names: Sequence[Any],
        *,
        most: int = 32,
        fontsize: float = 8,
        room: float = math.inf,
        **style: Any,
    ) -> None:
        """Label the places 0, 1, ... of an axis, as many as fit into ``room`` inches.

        A page shows the full text of shortened names; ticks mark the labelled places if some are left out.
        """
        step = max(1, math.ceil(len(names) * 1.2 * fontsize / 72 / room))
        places = range(0, len(names), step)
        short = [drawable(names[place], most) for place in places]
        axis.set_ticks(places, short, parse_math=False, fontsize=fontsize, **style)
        axis.set_tick_params(length=0 if step == 1 else 2.5)
        for tick, place, text in zip(axis.get_ticklabels(), places, short, strict=True):
            if text != str(names[place]):
                self._hint(tick, str(names[place]))

    def _inches(self, ax: Any) -> tuple[float, float]:
        """Return width and height of given axes."""
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        return box.width, box.height


def numbers(values: Any) -> Float64Array:
    """Convert to float64, None to NaN."""
    return np.array(values, dtype=np.float64)


def model_of(estimator: Any) -> Any:
    """Return the best model of a search, or the model itself."""
    return getattr(estimator, "best_estimator_", estimator)


def in_legend(name: object) -> str:
    """Return a name for a legend; matplotlib leaves out names that start with an underscore."""
    text = drawable(name, 48)
    return f" {text}" if text.startswith("_") else text


def ink_of(ax: Any) -> Any:
    """Return the text colour of these axes, which may have a dark background."""
    return ax.xaxis.label.get_color()


def _dressed(figure: Any) -> Any:
    """Return new axes with the look of this package."""
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
    """Ignore matplotlib's settings, and give equal charts equal ids; the salt makes ids differ within a page."""
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
    """Return matplotlib's SVG file as an element of a page, without prologue, style, size and unused ids."""
    found = re.search(r'<svg [^>]*width="([\d.]+)pt"[^>]*viewBox="([^"]*)"[^>]*>', svg)
    if found is None:
        raise RuntimeError("matplotlib wrote an SVG file of an unknown form")
    # from points to CSS pixels; a narrow screen scrolls before the text becomes too small to read
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
