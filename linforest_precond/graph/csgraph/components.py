"""Which vertices hang together."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.graph.csgraph.strong_components import strongly_connected_components

# The method, and the file of a backend that has it.
METHODS = {"auto": "components", "union": "components", "fastsv": "fastsv"}


def connected_components(
    A: Any,
    directed: bool = True,
    connection: str = "weak",
    return_labels: bool = True,
    *,
    method: str = "auto",
) -> int | tuple[int, Array]:
    """Find the connected components of a matrix, as `scipy.sparse.csgraph.connected_components` does.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values do not matter.
    directed : bool
        Whether edges have a direction; if not, `connection` does not matter.
    connection : {"weak", "strong"}
        Vertices are weakly connected if a path joins them whatever the directions, and strongly if there is a
        path each way (`strongly_connected_components`).
    return_labels : bool
        Whether the labels are returned too.
    method : {"auto", "union", "fastsv"}
        How weak components are found; the answer is the same. "union" joins trees of vertices, first along
        a few edges of each vertex, then along those that lead out of the largest tree; "fastsv" hangs
        vertices on lower ones in rounds. "auto" is "union", the faster one.

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each vertex, on A's device. Components are numbered by their lowest vertex.

    References
    ----------
    M. Sutton, T. Ben-Nun, A. Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
    Sampling", doi:10.1109/IPDPS.2018.00012.
    Y. Zhang, A. Azad, Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with Fast
    Convergence", doi:10.1137/1.9781611976137.5.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    >>> count, labels = lf.graph.connected_components(A)
    >>> count, labels.tolist()
    (2, [0, 1, 0])
    >>> lf.graph.connected_components(A, connection="strong", return_labels=False)
    3
    """
    if connection not in ("weak", "strong"):
        raise ValueError(f'connection must be "weak" or "strong", got {connection!r}')
    if method not in METHODS:
        raise ValueError(f'method must be "auto", "union" or "fastsv", got {method!r}')
    if directed and connection == "strong":
        return strongly_connected_components(A, return_labels)
    pattern = as_pattern(A, directed=True)
    backend = backend_of(pattern.indptr)
    count, labels = 0, backend.xp.empty(0, np.int32)
    if pattern.n:
        count, labels = getattr(backend.csgraph, METHODS[method]).weak_components(pattern)
    return (count, labels) if return_labels else count
