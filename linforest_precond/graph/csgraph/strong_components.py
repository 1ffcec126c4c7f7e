"""Strongly connected components."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array, MatrixLike
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.records import CSR


def strongly_connected_components(A: MatrixLike | CSR, return_labels: bool = True) -> int | tuple[int, Array]:
    """Find the strongly connected components of a matrix: any two vertices have a path each way.

    The result is that of ``scipy.sparse.csgraph.connected_components(A, connection="strong")``, with the
    components numbered by their lowest vertex, on either backend.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. An entry in row i and column j is an edge from i to j; values do not
        matter.
    return_labels : bool
        Whether the labels are returned too.

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each vertex, on A's device.

    Notes
    -----
    The components of a symmetric pattern are the weak ones. Otherwise the CPU calls SciPy. The GPU propagates
    signatures as ECL-SCC [1]_ does: in a random order, every vertex finds its first ancestor and its first
    descendant. Where both are the same vertex, it belongs to that vertex's component; edges between
    vertices of different signatures are removed. The rest is repeated in another order. Every round finds
    many components, and few rounds are needed.

    References
    ----------
    .. [1] G. Alabandi, W. Sands, G. Biros, M. Burtscher, "A GPU Algorithm for Detecting Strongly Connected
       Components", SC 2023, doi:10.1145/3581784.3607071.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    >>> count, labels = lf.graph.strongly_connected_components(A)
    >>> count, labels.tolist()
    (2, [0, 1, 1])
    """
    count, labels = labelled_strong_components(A)
    return (count, labels) if return_labels else count


def labelled_strong_components(A: MatrixLike | CSR) -> tuple[int, Array]:
    """The number of strongly connected components, and each vertex's."""
    pattern = as_pattern(A, directed=True)
    backend = backend_of(pattern.indptr)
    count, labels = 0, backend.xp.empty(0, np.int32)
    if pattern.n and pattern.symmetric:
        count, labels = backend.csgraph.components.weak_components(pattern)
    elif pattern.n:
        count, labels = backend.csgraph.strong_components.strong_components(pattern)
    return count, labels
