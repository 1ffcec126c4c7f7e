"""Degrees of the vertices."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.doors import as_pattern


@named_arguments
def degrees(A: MatrixLike) -> Array:
    """Count the neighbours of each vertex: the off-diagonal entries of each row of the pattern of A + A^T.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges, explicit zeros too; values and directions
        do not matter, and a diagonal entry is no edge.

    Returns
    -------
    array of int32
        The degree of each vertex, on A's device. A neighbour counts once, and an edge that is stored in one
        direction counts at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> lf.graph.degrees(np.array([[2, 1, 1], [1, 2, 0], [0, 0, 2]])).tolist()
    [2, 1, 1]
    >>> np.bincount(lf.graph.degrees(lf.matrices.poisson((100, 100)))).tolist()
    [0, 0, 4, 392, 9604]
    """
    pattern = as_pattern(A)
    return pattern.backend.csgraph.degrees.degrees(pattern)
