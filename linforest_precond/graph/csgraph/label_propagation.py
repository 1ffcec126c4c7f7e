"""Communities by label propagation."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.matrix.doors import as_pattern


@renamed_arguments(max_iter="max_rounds")
def label_propagation(A: MatrixLike, max_rounds: int = 20, seed: int = 0) -> Array:
    """Find communities: vertices repeatedly take the most frequent label of their neighbours.

    Label propagation of Raghavan, Albert & Kumara, "Near linear time algorithm to detect community structures
    in large-scale networks" (Phys. Rev. E 2007), doi:10.1103/PhysRevE.76.036106, in synchronous rounds. Every
    vertex starts with a label of its own. In each round about half of the vertices, selected by a hash, are
    updated from their neighbours' labels before the round: a vertex keeps its label if none is more frequent
    there, else it takes the most frequent one, the lowest in a tie. (If all vertices were updated at once,
    the labels of bipartite graphs would oscillate.) The same input and seed give the same labels on every
    device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter, and a
        diagonal entry is no edge.
    max_rounds : int
        The largest number of rounds. They end earlier when every vertex has a most frequent label.
    seed : int
        The seed of the hash.

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
    max_rounds, seed = as_integer("max_rounds", max_rounds, 0, 2**31 - 1), as_integer("seed", seed) % 2**64
    pattern = as_pattern(A)
    backend = pattern.backend
    if not pattern.n:
        return backend.xp.empty(0, np.int32)
    return backend.csgraph.label_propagation.propagate_labels(pattern, max_rounds, seed)
