"""The preconditioners of the study, from ``preconditioners.csv``.

A line has the colour and marker of the curves, the function of the library, the meaning of the name, and the
description of a preconditioner that is not the paper's. Colours are distinct in greyscale and with every kind
of colour blindness.
"""

from __future__ import annotations

from linforest_precond.study.published import csv_lines

PRECONDITIONERS = {line["name"]: line for line in csv_lines("forests", "preconditioners.csv")}
OTHER = {"colour": "#5F9E6E", "marker": "h", "function": ""}


def look_of(preconditioner: str) -> dict[str, str]:
    """The line of a preconditioner; other names have a colour and a marker only."""
    return PRECONDITIONERS.get(preconditioner, OTHER)


def colour_of(preconditioner: str) -> str:
    """The colour of a preconditioner's curves."""
    return look_of(preconditioner)["colour"]
