"""Which vertices lie on cycles together."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern


def strongly_connected_components(A: Any, return_labels: bool = True) -> int | tuple[int, Array]:
    """Find the strongly connected components of a matrix: vertices between which paths lead both ways.

    The answer is that of ``scipy.sparse.csgraph.connected_components(A, connection="strong")``, with the
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
    The components of a symmetric pattern are the weak ones. Otherwise the CPU calls SciPy. On the GPU every
    vertex learns the first vertex, in a random order, of those that lead to it, and of those that it leads
    to; where both are the same one, it forms a component with it, and edges between vertices that learnt
    different things are cut. Then all that is left begins again in another order: every round finds many
    components, and few rounds are needed.

    References
    ----------
    G. Alabandi, W. Sands, G. Biros, M. Burtscher, "A GPU Algorithm for Detecting Strongly Connected
    Components", doi:10.1145/3581784.3607071.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    >>> count, labels = lf.graph.strongly_connected_components(A)
    >>> count, labels.tolist()
    (2, [0, 1, 1])
    """
    pattern = as_pattern(A, directed=True)
    backend = backend_of(pattern.indptr)
    count, labels = 0, backend.xp.empty(0, np.int32)
    if pattern.n and pattern.symmetric:
        count, labels = backend.csgraph.components.weak_components(pattern)
    elif pattern.n:
        count, labels = backend.csgraph.strong_components.strong_components(pattern)
    return (count, labels) if return_labels else count
