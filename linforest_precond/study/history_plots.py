"""Convergence histories of several solves in one figure; it needs Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.solvers.history import History
from linforest_precond.solvers.residual_bands import draw_curve
from linforest_precond.study.drawing import GREY, PALETTE, Axes, decades, new_figure, styled

# The norms of a list begin with the initial residual.
Curve: TypeAlias = History | Sequence[float]


@named_arguments
@styled
def convergence(
    histories: Mapping[str, Curve] | Curve, ax: Axes | None = None, *, rtol: float | None = None
) -> Axes:
    """
    Draw the residuals of several solves over their iterations, and dashed their errors where they are known.

    Curves that oscillate are drawn as a band between their extremes, with its middle as a line.

    Parameters
    ----------
    histories : History, list of float, or dict of them
        One, or several by their names in the legend. A list has the norms of residuals, as `Hierarchy.solve`
        gives them; they are drawn relative to the first.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.
    rtol : float, optional
        The tolerance, drawn as a dotted line.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((20, 20))
    >>> histories = {"none": lf.solvers.History(), "Jacobi": lf.solvers.History()}
    >>> for M, history in zip((None, lf.jacobi(A)), histories.values()):
    ...     x, info = lf.solvers.cg(A, np.ones(400), M=M, history=history)
    >>> lf.plots.convergence(histories, rtol=1e-5).get_xlabel()
    'iterations'
    >>> len(lf.plots.convergence(history).lines)
    1
    >>> residuals = []
    >>> x = lf.multilevel(A).solve(np.ones(400), residuals=residuals)
    >>> len(lf.plots.convergence(residuals).lines)
    1
    """
    if ax is not None and not hasattr(ax, "plot"):
        raise TypeError(f"ax must be None or Matplotlib's axes, got {ax!r}; save by ax.figure.savefig(...)")
    ax = ax or new_figure(6.0, 3.6).add_subplot()
    named = histories if isinstance(histories, Mapping) else {None: histories}
    for place, (name, history) in enumerate(named.items()):
        colour = PALETTE[place % len(PALETTE)]
        iterations, norms, errors = _curves(history)
        for number, column in enumerate(_columns(norms)):
            label = name if number == 0 else None
            draw_curve(ax, iterations, column, color=colour, linewidth=1.3, label=label)
        for column in [] if errors is None else _columns(errors):
            draw_curve(ax, iterations, column, color=colour, linewidth=1.0, dashes=(4, 2))
    if rtol:
        ax.axhline(rtol, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    decades(ax, "y")
    ax.set(xlabel="iterations", ylabel="relative norm")
    ax.grid(True)
    if any(named):
        ax.legend()
    return ax


def _curves(history: Curve) -> tuple[Array, Array, Array | None]:
    """Iterations, relative residuals, and errors where they are known."""
    if isinstance(history, History):
        return history.iterations, history.residuals, history.errors
    try:
        norms = np.asarray(history, np.float64)
    except (TypeError, ValueError):
        norms = np.array(np.nan)
    if not norms.ndim:
        raise TypeError(
            "histories must be a History, norms of residuals, or a dict of them by name, got a "
            f"{type(history).__name__}"
        )
    return np.arange(norms.size), norms / (norms[:1].item() or 1.0), None


def _columns(values: Array) -> list[Array]:
    """A curve for each system; NaN where nothing can be drawn on a logarithmic axis."""
    columns = values.reshape(values.shape[0], -1).T
    return [np.where(column > 0, column, np.nan) for column in columns]
