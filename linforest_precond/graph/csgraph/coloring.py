"""Vertex colouring."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.doors import as_pattern

METHODS = "JP", "LDF"


@named_arguments
def vertex_coloring(A: MatrixLike, method: str = "JP", seed: int = 0) -> Array:
    """Colour the vertices with few colours, so that no two neighbours have the same.

    Greedy colouring in a fixed order: each vertex takes the lowest colour that no neighbour before it has
    (first fit). The parallel algorithm is that of Jones & Plassmann, "A parallel graph coloring heuristic"
    (SIAM J. Sci. Comput. 1993), doi:10.1137/0914041: a vertex is coloured once all neighbours before it are.
    The same input and seed give the same colours on every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter, and a
        diagonal entry is no edge.
    method : {"JP", "LDF"}
        The order: by (hash, index), or large degrees first: by falling floor(log2 degree), then (hash,
        index), as in Hasenplaug et al., "Ordering heuristics for parallel graph coloring" (SPAA 2014),
        doi:10.1145/2612669.2612697. The second needs fewer colours where degrees differ much.
    seed : int
        The seed of the hash.

    Returns
    -------
    array of int32
        The colour of each vertex, counted from 0 as in PyAMG; on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> colors = lf.graph.vertex_coloring(A)
    >>> int(colors.max()) + 1, lf.graph.is_coloring(A, colors)
    (5, True)
    """
    as_choice("method", method, METHODS)
    seed = as_integer("seed", seed) % 2**64
    pattern = as_pattern(A)
    backend = pattern.backend
    if not pattern.n:
        return backend.xp.empty(0, np.int32)
    return backend.csgraph.coloring.color_vertices(pattern, method == "LDF", seed)
