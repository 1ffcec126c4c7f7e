"""Which vertices hang together."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.records import Array


def connected_components(
    A: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> int | tuple[int, Array]:
    """Find the connected components of a matrix, as `scipy.sparse.csgraph.connected_components` does.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values do not matter.
    directed : bool
        Whether edges have a direction; if not, `connection` does not matter.
    connection : {"weak"}
        Vertices are connected if a path joins them whatever the directions. Only weak components are offered.
    return_labels : bool
        Whether the labels are returned too.

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each vertex, on A's device. Components are numbered by their lowest vertex.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> count, labels = lf.graph.connected_components(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]]))
    >>> count, labels.tolist()
    (2, [0, 1, 0])
    """
    if connection not in ("weak", "strong"):
        raise ValueError(f'connection must be "weak", got {connection!r}')
    if directed and connection == "strong":
        raise ValueError(
            'connection must be "weak": strong components are not offered; '
            "scipy.sparse.csgraph.connected_components finds them on the CPU"
        )
    pattern = as_pattern(A, directed=True)
    backend = backend_of(pattern.indptr)
    count, labels = 0, backend.xp.empty(0, np.int32)
    if pattern.n:
        count, labels = backend.components.weak_components(pattern)
    return (count, labels) if return_labels else count
