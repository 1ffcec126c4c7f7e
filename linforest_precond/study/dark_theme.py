"""Figures in the dark theme: a media query in each SVG replaces its dark colours.

An SVG in an image element sees the reader's colour scheme, so that every figure is drawn once.
"""

from __future__ import annotations

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
STYLE = f"<style>{QUERY} {{\nsvg {{ fill: {DARK['#000000']}; }}\n{_rules('', ('fill', 'stroke'))}}}</style>\n"


def in_both_themes(svg: str) -> str:
    """An SVG of Matplotlib that follows the reader's colour scheme."""
    end = svg.index(">") + 1
    return svg[:end] + STYLE + svg[end:]


def swatch_style() -> str:
    """The rules for the swatches in the legends of a page."""
    return f"{QUERY} {{\n{_rules('.swatch', ('border-top-color',))}}}\n"
