"""Oscillating residual curves, as those of BiCGStab, are drawn as a band between their extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# A curve oscillates if more than LEAST_SHARE of its stretches change direction LEAST_TURNS times and spread
# over a factor of LEAST_SPREAD. Measured shares of BiCGStab: 0.02 to 0.18 for smooth curves, else 0.33 to 1.
STRETCHES = 60
LEAST_SHARE = 0.25
LEAST_TURNS = 2
LEAST_SPREAD = 2.0


def extremes(values: npt.ArrayLike, stretches: int) -> Array:
    """
    The places of the least and the greatest value of each of equal stretches, of the first and the last one.

    Examples
    --------
    >>> from linforest_precond.solvers.residual_bands import extremes
    >>> extremes([5, 1, 9, 2, 7, 7, 8, 3], 2).tolist()
    [0, 1, 2, 6, 7]
    """
    given = np.asarray(values, dtype=float)
    low, high = (np.where(np.isnan(given), unknown, given) for unknown in (np.inf, -np.inf))
    parts = [part for part in np.array_split(np.arange(given.size), max(stretches, 1)) if part.size]
    found = [part[place] for part in parts for place in (low[part].argmin(), high[part].argmax())]
    ends = [0, given.size - 1] if given.size else []
    return np.unique(np.array([*found, *ends], dtype=int))


def oscillates(values: npt.ArrayLike, stretches: int = STRETCHES) -> bool:
    """Whether a curve goes up and down by large factors in many of its stretches.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.solvers.residual_bands import oscillates
    >>> k = np.arange(600)
    >>> oscillates(0.98**k), oscillates(0.98**k * (1 + 9 * (k % 3 == 0)))
    (False, True)
    """
    given = np.asarray(values, dtype=float)
    logarithms = np.log(given[np.isfinite(given) & (given > 0)])
    if logarithms.size < 4 * stretches:
        return False
    wild = [_is_wild(part) for part in np.array_split(logarithms, stretches)]
    return sum(wild) > LEAST_SHARE * stretches


def _is_wild(part: Array) -> bool:
    steps = np.sign(np.diff(part))
    turns = np.count_nonzero(np.diff(steps[steps != 0]))
    detours = part - np.linspace(part[0], part[-1], part.size)
    return bool(turns >= LEAST_TURNS and np.ptp(detours) > np.log(LEAST_SPREAD))


def envelope(x: npt.ArrayLike, values: npt.ArrayLike, stretches: int = STRETCHES) -> tuple[Array, ...]:
    """The middle of each stretch, its least and its greatest value, and their geometric mean.

    Examples
    --------
    >>> from linforest_precond.solvers.residual_bands import envelope
    >>> [each.tolist() for each in envelope([0, 1, 2, 3], [4.0, 1.0, 9.0, 1.0], 2)]
    [[0.5, 2.5], [1.0, 1.0], [4.0, 9.0], [2.0, 3.0]]
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    known = np.isfinite(values) & (values > 0)
    parts = [p for p in np.array_split(np.flatnonzero(known), stretches) if p.size]
    low, high = (np.array([pick(values[part]) for part in parts]) for pick in (np.min, np.max))
    return np.array([x[part].mean() for part in parts]), low, high, np.sqrt(low) * np.sqrt(high)


def draw_curve(ax: Axes, x: npt.ArrayLike, values: npt.ArrayLike, **look: Any) -> Line2D:
    """Draw a curve; one that oscillates as a band, and its middle to the curve's own ends as a line."""
    if not oscillates(values):
        return ax.plot(x, values, **look)[0]
    places, low, high, middle = envelope(x, values)
    ends, curve = np.asarray(x)[[0, -1]], np.asarray(values)[[0, -1]]
    (line,) = ax.plot([ends[0], *places, ends[1]], [curve[0], *middle, curve[1]], **look)
    ax.fill_between(
        places, low, high, color=line.get_color(), alpha=0.25 * (line.get_alpha() or 1.0), linewidth=0
    )
    return line
