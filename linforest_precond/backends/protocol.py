"""What a backend offers: the same rooms with the same functions on the CPU and on the GPU."""

from __future__ import annotations

from typing import Any, Protocol


class Backend(Protocol):
    """A backend module, `linforest_precond.backends.cpu` or `linforest_precond.backends.cuda`.

    Attributes
    ----------
    name
        "cpu" or "cuda".
    max_rows
        Rows that a matrix may have.
    xp
        The array library: NumPy or CuPy.
    """

    name: str
    max_rows: int
    xp: Any

    runtime: Any
    matrix: Any
    forest: Any
    matching: Any
    csgraph: Any
    reordering: Any
    tridiagonal: Any
    multigrid: Any
    krylov: Any
