"""Trees that join all of a graph's vertices by its lightest or heaviest edges."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csgraph
from linforest_precond.sparse_output import csr_sparse_like


def minimum_spanning_tree(A: Any, overwrite: bool = False) -> Any:
    """Find a minimum spanning tree, as `scipy.sparse.csgraph.minimum_spanning_tree` does: one a component.

    Edges are ordered by (weight, lower end, higher end). In that order the forest is unique, and the same on
    both backends. On the GPU each tree chooses the first edge that leads out of it, and trees grow together,
    round after round [1]_. Both trees at an edge see one and the same edge, whatever its direction, so no
    cycles arise among equal weights.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy, with real values. Stored entries are edges, whatever their direction;
        weights keep their sign. Where both directions of an edge are stored, the smaller weight counts, of
        equal ones the entry above the diagonal.
    overwrite : bool
        Accepted for the sake of SciPy's signature: A is never modified.

    Returns
    -------
    CSR matrix or array
        Those entries of A that are edges of the forest, each where it is stored, on A's device. Edges of
        weight 0 stay as explicit zeros (SciPy drops them); single precision stays single.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním" (1926); A. Fallin, A. Gonzalez, J. Seo, M. Burtscher,
       "A High-Performance MST Implementation for GPUs" (2023), https://doi.org/10.1145/3581784.3607093

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> lf.graph.minimum_spanning_tree(A).toarray().astype(int).tolist()
    [[0, 0, 0, 3], [0, 0, 2, 5], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    return _forest(A, largest=False)


def maximum_spanning_forest(A: Any) -> Any:
    """Find the maximum spanning tree of every component: ``-minimum_spanning_tree(-A)``.

    Takes and returns what `minimum_spanning_tree` does. Edges are ordered by (-weight, lower end, higher
    end); where both directions of an edge are stored, the larger weight counts.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> lf.graph.maximum_spanning_forest(A).toarray().astype(int).tolist()
    [[0, 8, 0, 0], [0, 0, 0, 5], [0, 0, 0, 6], [0, 0, 0, 0]]
    """
    return _forest(A, largest=True)


def _forest(A: Any, largest: bool) -> Any:
    csr = as_csgraph(A)
    indptr, indices, data = backend_of(csr.data).csgraph.spanning_forest.spanning_forest(csr, largest)
    return csr_sparse_like(A, data, indices, indptr, (csr.n, csr.n))
