"""Communities: vertices that agree on a label."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.graph.forest.factor import as_integer


def label_propagation(A: Any, max_iter: int = 20, seed: int = 0) -> Array:
    """Find communities: vertices take the label that most of their neighbours have, again and again.

    Label propagation of Raghavan, Albert & Kumara, "Near linear time algorithm to detect community structures
    in large-scale networks" (Phys. Rev. E 2007), doi:10.1103/PhysRevE.76.036106, in rounds. Every vertex
    begins with a label of its own. In each round, about half of the vertices, chosen by a hash, look at the
    labels their neighbours had before it. A vertex keeps its label if none is more frequent there, else it
    takes the most frequent one, the lowest where there are several. (If all took their turn at once, the
    labels of bipartite graphs would change sides for ever.) The same input and seed give the same labels on
    every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter, and a
        diagonal entry is no edge.
    max_iter : int
        Rounds at most. They end before that when every vertex has a label none is more frequent than.
    seed : int
        Of the hash.

    Returns
    -------
    array of int32
        The community of each vertex, on A's device. Communities are numbered by their lowest vertex.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> triangles = np.kron(np.eye(2), np.ones((3, 3)))
    >>> triangles[2, 3] = 1
    >>> lf.graph.label_propagation(triangles).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    max_iter, seed = as_integer("max_iter", max_iter), as_integer("seed", seed) % 2**64
    if not 0 <= max_iter < 2**31:
        raise ValueError(f"max_iter must lie in [0, 2**31), got {max_iter}")
    pattern = as_pattern(A)
    backend = backend_of(pattern.indptr)
    if not pattern.n:
        return backend.xp.empty(0, np.int32)
    return backend.csgraph.label_propagation.propagate_labels(pattern, max_iter, seed)
