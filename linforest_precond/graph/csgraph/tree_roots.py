"""The roots of a forest given by parents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import named_arguments


@named_arguments
def tree_roots(parent: npt.ArrayLike) -> Array:
    """Find the root of every vertex of a forest given by parents, by pointer jumping.

    Parameters
    ----------
    parent : array of integers
        The parent of each vertex, of NumPy or CuPy. A root is its own parent, or has a negative one, as in
        the predecessors that `scipy.sparse.csgraph` gives.

    Returns
    -------
    array
        The root of each vertex, on the device of `parent`: 32-bit integers where `parent` holds these, else
        64-bit ones.

    Raises
    ------
    TypeError
        For values that are no integers.
    ValueError
        For a parent that is out of range, and for a cycle; the message names the vertex.

    Notes
    -----
    The GPU replaces parents by grandparents in at most log2(n) rounds (pointer jumping); the CPU traverses
    each path twice (path compression).

    References
    ----------
    M. Mandulak, "Large-Scale Graph Analysis and Matching on Parallel Architectures", Rensselaer Polytechnic
    Institute (2025), chapter 6.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.graph.tree_roots([1, 3, -1, 3, 2]).tolist()
    [3, 3, 2, 3, 2]
    """
    backend = backend_of(parent)
    parents = _checked_parents(parent, backend.xp)
    n = parents.size
    roots, out_of_range, in_cycle = (
        backend.csgraph.components.tree_roots(parents) if n else (parents.copy(), -1, -1)
    )
    if out_of_range >= 0:
        raise ValueError(
            f"parent must hold vertices, below {n}, or negative numbers at roots; "
            f"got {int(parents[out_of_range])} at vertex {out_of_range}"
        )
    if in_cycle >= 0:
        raise ValueError(
            f"parent must lead to a root from every vertex; from vertex {in_cycle} it leads into a cycle. "
            "Give a root itself, or a negative number, as its parent"
        )
    return roots


def _checked_parents(parent: npt.ArrayLike, xp: Any) -> Array:
    parents = parent if isinstance(parent, xp.ndarray) else np.asarray(parent)
    if parents.size == 0 and not isinstance(parent, xp.ndarray):
        parents = parents.astype(np.int64)  # NumPy makes an empty list float64
    if not np.can_cast(parents.dtype, np.int64) or parents.dtype.kind == "b":
        raise TypeError(f"parent must hold integers that fit into 64 bits with a sign, got {parents.dtype}")
    if parents.ndim != 1:
        raise ValueError(f"parent must be 1-D, got shape {tuple(parents.shape)}")
    # A copy: kernels follow them, and the user's may change.
    return xp.array(parents, dtype=np.int32 if parents.dtype == np.int32 else np.int64, order="C")
