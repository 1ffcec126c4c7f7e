"""Strongly connected components."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern

# The backends' function of each method.
METHODS = {"auto": "strong_components", "coloring": "forward_backward_components"}


@named_arguments
def strongly_connected_components(
    A: MatrixLike | CheckedMatrix, return_labels: bool = True, *, method: str = "auto"
) -> int | tuple[int, Array]:
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
    method : {"auto", "coloring"}
        The algorithm; the result is the same. "auto" is a sequential depth-first search [4]_ on the CPU, and
        signature propagation (ECL-SCC) [1]_ on the GPU. "coloring" is the forward-backward algorithm [2]_,
        [3]_.

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each vertex, on A's device.

    Notes
    -----
    "auto": the components of a symmetric pattern are the weak ones. Otherwise the CPU runs Pearce's
    variant of Tarjan's algorithm [4]_, as SciPy does. The GPU propagates signatures as ECL-SCC [1]_ does: in
    a random order, every vertex finds its first ancestor and its first descendant. Where both are the same
    vertex, it belongs to that vertex's component; edges between vertices of different signatures are removed.
    The rest is repeated in another order. Every round finds many components, and few rounds are needed.

    "coloring": the vertices that a pivot reaches and that reach the pivot, by breadth-first searches of A and
    its transpose, are the component of the pivot and get its colour. The thesis [3]_ colours one component a
    round and searches the whole graph each time, so a graph without cycles takes as many rounds as it has
    vertices. Here, as in [2]_, the searches split the rest: a component lies within the vertices reached
    forwards, those reached backwards, or those not reached. Edges between these three are removed. The weak
    components of what is left are searched in the next round, all at the same time, and vertices that no edge
    enters or none leaves are components at once (trimming). The pivot is the first vertex in a hashed order,
    where the thesis takes the highest index: in a banded matrix that index is at the end of long paths, and
    would split off one vertex a round. Still each of these weak components has one pivot a round, so a graph
    of many small cycles that are linked to one another takes many rounds: "auto" is the better choice there.

    References
    ----------
    .. [1] G. Alabandi, W. Sands, G. Biros, M. Burtscher, "A GPU Algorithm for Detecting Strongly Connected
       Components", SC 2023, doi:10.1145/3581784.3607071.
    .. [2] D. Coppersmith, L. Fleischer, B. Hendrickson, A. Pinar, "A divide-and-conquer algorithm for
       identifying strongly connected components", 2006.
    .. [3] R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024),
       chapter 3.
    .. [4] D. Pearce, "A space-efficient algorithm for finding strongly connected components", Inf. Process.
       Lett. 116 (2016), doi:10.1016/j.ipl.2015.08.010.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    >>> count, labels = lf.graph.strongly_connected_components(A)
    >>> count, labels.tolist()
    (2, [0, 1, 1])
    """
    count, labels = labelled_strong_components(A, method)
    return (count, labels) if return_labels else count


def labelled_strong_components(A: MatrixLike | CheckedMatrix, method: str = "auto") -> tuple[int, Array]:
    """The number of strongly connected components, and each vertex's."""
    as_choice("method", method, METHODS)
    pattern = as_pattern(A, directed=True)
    backend = pattern.backend
    if not pattern.n:
        return 0, backend.xp.empty(0, np.int32)
    if pattern.symmetric and method == "auto":
        return backend.csgraph.components.weak_components(pattern)
    return getattr(backend.csgraph.strong_components, METHODS[method])(pattern)
