"""Ctrl-C during a solve."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array


class Interrupted(KeyboardInterrupt):
    """
    Ctrl-C during a solve: a KeyboardInterrupt that has the present iterate.

    Attributes
    ----------
    x : array
        The iterate with the smallest residual that the method had at hand, of b's shape.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> def impatient(x):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     lf.solvers.cg(lf.matrices.poisson((9, 9)), np.ones(81), callback=impatient)
    ... except lf.solvers.Interrupted as stopped:
    ...     print(stopped.x.shape)
    (81,)
    """

    def __init__(self, x: Array) -> None:
        super().__init__("interrupted")
        self.x = x
