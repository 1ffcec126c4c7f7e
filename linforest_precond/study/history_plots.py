"""Convergence histories of several solves in one figure; it needs Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.solvers.history import History
from linforest_precond.solvers.residual_bands import draw_curve
from linforest_precond.study.drawing import GREY, PALETTE, Axes, decades, new_figure, styled


@styled
def convergence(
    histories: Mapping[str, History] | History, ax: Axes | None = None, *, rtol: float | None = None
) -> Axes:
    """
    Draw the residuals of several solves over their iterations, and dashed their errors where they are known.

    Curves that oscillate are drawn as a band between their extremes, with its middle as a line.

    Parameters
    ----------
    histories : History or dict of History
        One, or several by their names in the legend.
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
    """
    ax = ax or new_figure(6.0, 3.6).add_subplot()
    named = {None: histories} if isinstance(histories, History) else histories
    for place, (name, history) in enumerate(named.items()):
        colour = PALETTE[place % len(PALETTE)]
        for number, residuals in enumerate(_columns(history.residuals)):
            label = name if number == 0 else None
            draw_curve(ax, history.iterations, residuals, color=colour, linewidth=1.3, label=label)
        for errors in [] if history.errors is None else _columns(history.errors):
            draw_curve(ax, history.iterations, errors, color=colour, linewidth=1.0, dashes=(4, 2))
    if rtol:
        ax.axhline(rtol, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    decades(ax, "y")
    ax.set(xlabel="iterations", ylabel="relative norm")
    ax.grid(True)
    if any(named):
        ax.legend()
    return ax


def _columns(values: Array) -> list[Array]:
    """A curve for each system; NaN where nothing can be drawn on a logarithmic axis."""
    columns = values.reshape(values.shape[0], -1).T
    return [np.where(column > 0, column, np.nan) for column in columns]
