"""The style of all figures, light and dark, and helpers to draw them; they need Matplotlib."""

from __future__ import annotations

import functools
import io
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from linforest_precond.package_imports import study_module
from linforest_precond.study.number_formats import missing
from linforest_precond.study.results import JsonObject, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # Matplotlib is imported where something is drawn
    Axes = Figure = Any

P = ParamSpec("P")
T = TypeVar("T")

# Colours that are distinct in greyscale and with every kind of colour blindness.
SHADES = ("#C6DBEF", "#6BAED6", "#2171B5", "#08306B")
STAGES = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#E69F00", "#D55E00", "#CC79A7", "#999999")
# For curves, the most distinct colours first; the yellow of STAGES is too pale for lines.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195", "#999999")
GREY = "#666666"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.labelcolor": "#333333",
    "axes.edgecolor": "#999999",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "linforest",  # reproducible SVG
    "svg.fonttype": "path",
    "text.parse_math": False,  # a dollar sign in a name is no formula
    "text.usetex": False,
}
WIDTH = 4.2  # inches: three fit side by side, and one is readable on a phone
ROW_HEIGHT = 0.44


def matplotlib_or_error() -> Any:
    study_module("matplotlib.figure")
    return study_module("matplotlib")


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot: no window, no global state."""
    return matplotlib_or_error().figure.Figure(figsize=(width, height), layout="constrained")


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Run a drawing function with this module's style; Matplotlib's settings are restored."""

    @functools.wraps(draw)
    def drawing(*arguments: P.args, **options: P.kwargs) -> T:
        with matplotlib_or_error().rc_context(STYLE):
            return draw(*arguments, **options)

    return drawing


def positive(value: float | None) -> float:
    return float("nan") if value is None or missing(value) or value <= 0 else value


def number(value: float | None) -> float:
    return float("nan") if value is None or missing(value) else value


def power_of_ten(value: float, _: float) -> str:
    """As plain text: Matplotlib's formulas are slow, and a study has hundreds of them."""
    exponent = str(round(math.log10(value))) if value > 0 else ""
    return f"10{exponent.translate(SUPERSCRIPTS)}"


def panels(count: int, width: float = WIDTH, height: float = 2.9) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, each with a grid."""
    figure = new_figure(width * count, height)
    axes: list[Axes] = list(figure.subplots(1, count, squeeze=False).flat)
    for ax in axes:
        ax.grid(True)
    return figure, axes


def colour_of_case(place: int) -> str:
    """The colour of a case's curve by its place in the study."""
    return STAGES[place % len(STAGES)]


def decades(ax: Axes, which: str = "xy") -> None:
    """Logarithmic axes with powers of ten in plain text, where something positive is drawn."""
    for name, axis, scale, least in (
        ("x", ax.xaxis, ax.set_xscale, ax.dataLim.minposx),
        ("y", ax.yaxis, ax.set_yscale, ax.dataLim.minposy),
    ):
        if name in which and math.isfinite(least):
            scale("log")
            axis.set_major_formatter(power_of_ten)
            axis.set_minor_formatter("")


def case_rows(cases: list[JsonObject]) -> tuple[Figure, Axes]:
    """Axes with a row for each case, the first on top."""
    figure = new_figure(WIDTH, 1.1 + ROW_HEIGHT * max(len(cases), 1))
    ax = figure.add_subplot()
    name_rows(ax, [wrapped(label(case)) for case in cases], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x")
    return figure, ax


def wrapped(text: str, width: int = 18) -> str:
    """At most two lines, truncated if longer."""
    return "\n".join(textwrap.wrap(text, width, max_lines=2, placeholder=" …", break_on_hyphens=False))


def finish(figure: Figure, ax: Axes, x: str, y: str = "", logarithmic: str = "", columns: int = 3) -> None:
    """Labels of the axes, those of `logarithmic` with powers of ten, and the legend above the figure."""
    decades(ax, logarithmic)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    legend_above(figure, ax, columns)


def legend_above(figure: Figure, ax: Axes, columns: int) -> None:
    """The legend of some axes above the figure; none where nothing has a name."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, labels, loc="outside upper left", ncols=columns, handlelength=1.2, columnspacing=1
        )


def legend(ax: Axes, **look: Any) -> None:
    """A legend of some axes; none where nothing has a name."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**look)


def curve(
    ax: Axes,
    points: Iterable[tuple[Any, Any]],
    colour: str,
    name: str | None = None,
    style: str = "o-",
    **look: Any,
) -> None:
    """A curve through the points whose values are known and not 0, in the order of x."""
    known = sorted((x, y) for x, y in points if y)
    xs, ys = zip(*known) if known else ((), ())
    ax.plot(xs, ys, style, color=colour, label=name, **({"markersize": 3, "linewidth": 1.1} | look))


def bars(
    ax: Axes, groups: Mapping[str, Sequence[float]], colours: Sequence[str] = STAGES, fill: float = 0.9
) -> list[list[float]]:
    """Bars of each row side by side, a group's all in one colour; returns the places of each group."""
    height = 0.8 / max(len(groups), 1)
    found = []
    for number, (name, values) in enumerate(groups.items()):
        places = [row - 0.4 + (number + 0.5) * height for row in range(len(values))]
        ax.barh(places, values, height=fill * height, color=colours[number % len(colours)], label=name)
        found.append(places)
    return found


def name_rows(ax: Axes, names: Sequence[str], **look: Any) -> None:
    """The names of the rows of a bar chart, the first on top."""
    ax.set_yticks(range(len(names)), names, **look)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)


def note(ax: Axes, x: float, y: float, text: str) -> None:
    if text and not missing(x):
        ax.annotate(
            text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=7.5, color="#333333"
        )


@styled
def as_svg(figure: Figure) -> str:
    """A figure as SVG: reproducible bytes, coordinates with two digits."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # names in other scripts
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return re.sub(r' d="[^"]*"', _short_path, text[text.index("<svg") :])


def _short_path(match: re.Match[str]) -> str:
    """Two digits after the point, a hundredth of a pixel, where Matplotlib writes six."""
    short = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", match[0])
    return re.sub(r"\s*\n\s*", " ", short)


# Colours of the light theme with those of the dark one, on a background of #1d232a. Curves and bars have a
# contrast of at least 3; colours that have it in both themes are not listed.
DARK = {
    "#000000": "#e6e9ec",
    "#333333": "#d5dade",
    "#666666": "#a3adb7",
    "#e4e4e4": "#39434e",
    "#ffffff": "#1d232a",
    "#0072b2": "#3f9fdd",
    "#08306b": "#3f78c4",
    "#2171b5": "#5ba3e0",
    "#6baed6": "#93c9ec",
    "#7a5195": "#b48ccb",
    "#8b1a4a": "#d9659a",
}
QUERY = "@media screen and (prefers-color-scheme: dark)"


def _rules(selector: str, properties: tuple[str, ...]) -> str:
    """A rule for each colour and property, which is stronger than the style of the element itself."""
    return "".join(
        f"{selector}[style*='{name}: {light}' i] {{ {name}: {dark} !important; }}\n"
        for light, dark in DARK.items()
        for name in properties
    )


# Text without a style attribute is black.
DARK_STYLE = (
    f"<style>{QUERY} {{\nsvg {{ fill: {DARK['#000000']}; }}\n{_rules('', ('fill', 'stroke'))}}}</style>\n"
)


def in_both_themes(svg: str) -> str:
    """An SVG of Matplotlib that follows the reader's colour scheme: one picture in an image element."""
    end = svg.index(">") + 1
    return svg[:end] + DARK_STYLE + svg[end:]


def swatch_style() -> str:
    """The rules for the swatches in the legends of a page."""
    return f"{QUERY} {{\n{_rules('.swatch', ('border-top-color',))}}}\n"
