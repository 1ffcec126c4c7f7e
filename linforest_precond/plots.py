"""Pictures of forests, matrices and convergence, and tables for notebooks, in the style of the reports.

They need Matplotlib: ``pip install "linforest-precond[study]"``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from linforest_precond.study.drawing import PALETTE as PALETTE
from linforest_precond.study.drawing import STYLE, matplotlib_or_error
from linforest_precond.study.forest_plots import draw_forest as draw_forest
from linforest_precond.study.forest_plots import path_colours as path_colours
from linforest_precond.study.forest_plots import spy as spy
from linforest_precond.study.history_plots import convergence as convergence
from linforest_precond.study.notebook_tables import table as table

__all__ = ["PALETTE", "convergence", "draw_forest", "path_colours", "spy", "style", "table"]


def __dir__() -> list[str]:
    return __all__


def style() -> AbstractContextManager[None]:
    """
    Draw in the style of the reports, inside a ``with`` block: fonts, lines, grids, and `PALETTE` as colours.

    Returns
    -------
    context manager
        Matplotlib's settings are restored at its end.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from matplotlib.figure import Figure
    >>> with lf.plots.style():
    ...     (line,) = Figure().add_subplot().plot([1, 2, 3])
    >>> line.get_color() == lf.plots.PALETTE[0]
    True
    """
    matplotlib = matplotlib_or_error()
    cycle = matplotlib.rcsetup.cycler(color=PALETTE)
    return matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycle})
