"""Connected components."""

from __future__ import annotations

from typing import Literal, TypeAlias, overload

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.csgraph.strong_components import labelled_strong_components
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern

# The backends' function of each method.
METHODS = {
    "auto": "weak_components",
    "union": "weak_components",
    "fastsv": "fastsv_components",
    "fastsv_vertices": "fastsv_components_by_vertices",
}
Connection: TypeAlias = Literal["weak", "strong"]
ComponentsMethod: TypeAlias = Literal["auto", "union", "fastsv", "fastsv_vertices"]


@overload
def connected_components(
    A: MatrixLike | CheckedMatrix,
    directed: bool = True,
    connection: Connection = "weak",
    return_labels: Literal[True] = True,
    *,
    method: ComponentsMethod = "auto",
) -> tuple[int, Array]: ...


@overload
def connected_components(
    A: MatrixLike | CheckedMatrix,
    directed: bool = True,
    connection: Connection = "weak",
    *,
    return_labels: Literal[False],
    method: ComponentsMethod = "auto",
) -> int: ...


@overload
def connected_components(
    A: MatrixLike | CheckedMatrix,
    directed: bool = True,
    connection: Connection = "weak",
    return_labels: bool = True,
    *,
    method: ComponentsMethod = "auto",
) -> int | tuple[int, Array]: ...


@named_arguments
def connected_components(
    A: MatrixLike | CheckedMatrix,
    directed: bool = True,
    connection: Connection = "weak",
    return_labels: bool = True,
    *,
    method: ComponentsMethod = "auto",
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
    method : {"auto", "union", "fastsv", "fastsv_vertices"}
        The algorithm for weak components; the result is the same. "union" is union-find with subgraph
        sampling (Afforest) [1]_, "fastsv" is FastSV [2]_: rounds of hooking and shortcutting. "auto" is
        "union", the faster one. "fastsv" hooks in parallel over the edges, "fastsv_vertices" over the
        vertices: a thread hooks along all edges of a vertex, which is slow where rows are long. Strong
        components have methods of their own (`strongly_connected_components`).

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each vertex, on A's device. Components are numbered by their lowest vertex.

    Notes
    -----
    In a round of "fastsv" every edge hooks the parent of one end, and that end, to the grandparent of the
    other end if that is lower. A thesis [3]_ implements it with plain writes: the last of several wins, a
    parent may increase again, and the number of rounds depends on the threads. Here hooks are atomic minima,
    so parents only decrease and every round has one result. An edge that is stored in one direction hooks
    both ways, so a directed graph is not symmetrized first. "fastsv_vertices" has the loops of the thesis'
    first implementation, CC_base, and "fastsv" those of its second one, CC_opt2.

    References
    ----------
    .. [1] M. Sutton, T. Ben-Nun, A. Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
       Sampling", IPDPS 2018, doi:10.1109/IPDPS.2018.00012.
    .. [2] Y. Zhang, A. Azad, Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with Fast
       Convergence", SIAM PP 2020, doi:10.1137/1.9781611976137.5.
    .. [3] R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024),
       chapter 2.

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
    count, labels = labelled_components(A, directed, connection, method)
    return (count, labels) if return_labels else count


def labelled_components(
    A: MatrixLike | CheckedMatrix, directed: bool = True, connection: str = "weak", method: str = "auto"
) -> tuple[int, Array]:
    """The number of components, and each vertex's."""
    as_choice("connection", connection, ("weak", "strong"))
    as_choice("method", method, METHODS)
    if directed and connection == "strong":
        return labelled_strong_components(A)
    pattern = as_pattern(A, directed=True)
    if not pattern.n:
        return 0, pattern.backend.xp.empty(0, np.int32)
    return weak_components(pattern, method)


def weak_components(pattern: Pattern, method: str) -> tuple[int, Array]:
    """The same for the weak components of a pattern with vertices."""
    found: tuple[int, Array] = getattr(pattern.backend.csgraph.components, METHODS[method])(pattern)
    return found
