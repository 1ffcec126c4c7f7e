"""Minimum and maximum spanning forests."""

from __future__ import annotations

from linforest_precond.backends.annotations import MatrixLike, SparseMatrix
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.conversion import csr_sparse_like
from linforest_precond.matrix.doors import as_csgraph


@named_arguments
def minimum_spanning_tree(A: MatrixLike, overwrite: bool = False, *, method: str = "auto") -> SparseMatrix:
    """Find a minimum spanning tree of every component, as `scipy.sparse.csgraph.minimum_spanning_tree`.

    Edges are ordered by (weight, lower end, higher end). In that order the forest is unique: it is the same
    for every method and on both backends.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy, with real values. Stored entries are edges, whatever their direction;
        weights keep their sign. Where both directions of an edge are stored, the smaller weight counts, of
        equal ones the entry above the diagonal.
    overwrite : bool
        Accepted for the sake of SciPy's signature: A is never modified.
    method : {"auto", "kruskal", "boruvka", "awerbuch_shiloach"}
        Kruskal's algorithm with one step of Filter-Kruskal [1]_ (CPU only); Borůvka's [2]_; or that of
        Awerbuch and Shiloach [3]_. "auto" is "kruskal" on the CPU and "boruvka" on the GPU.

    Returns
    -------
    CSR matrix or array
        Those entries of A that are edges of the forest, each where it is stored, on A's device. Edges of
        weight 0 stay as explicit zeros (SciPy drops them); single precision stays single.

    Notes
    -----
    In a round of Borůvka's algorithm each tree selects the first edge that leaves it, and trees that are
    joined become one. The order of the edges does not depend on the direction in which an edge is stored, so
    no cycles arise among equal weights.

    Awerbuch and Shiloach represent trees by the parents of their vertices. In a round every star (a tree
    whose vertices are all children of the root) hooks its root along the first edge that leaves it, and all
    vertices are moved to their grandparents once. The implementations in the thesis [4]_ may never end. Two
    causes are removed here. They take every child of a root for a part of a star, also where the tree is
    deeper elsewhere; the edge that is found is then not the first of the whole tree, and hooks can form
    cycles of more than two trees. Here a tree of which any vertex has another grandparent than its parent is
    no star. And they suppose unique weights; here the order of the edges is total. Parents are read from one
    array and written to another, so the rounds do not depend on the order of threads.

    References
    ----------
    .. [1] V. Osipov, P. Sanders, J. Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm"
       (ALENEX 2009)
    .. [2] O. Borůvka, "O jistém problému minimálním" (1926); A. Fallin, A. Gonzalez, J. Seo, M. Burtscher,
       "A High-Performance MST Implementation for GPUs" (2023), https://doi.org/10.1145/3581784.3607093
    .. [3] B. Awerbuch, Y. Shiloach, "New Connectivity and MSF Algorithms for Shuffle-Exchange Network and
       PRAM", IEEE Trans. Comput. C-36 (1987), https://doi.org/10.1109/TC.1987.1676869
    .. [4] R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024),
       chapter 5

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> lf.graph.minimum_spanning_tree(A).toarray().astype(int).tolist()
    [[0, 0, 0, 3], [0, 0, 2, 5], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    return _forest(A, False, method)


@named_arguments
def maximum_spanning_forest(A: MatrixLike, *, method: str = "auto") -> SparseMatrix:
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
    return _forest(A, True, method)


def _forest(A: MatrixLike, largest: bool, method: str) -> SparseMatrix:
    csr = as_csgraph(A)
    backend = csr.backend
    methods = backend.csgraph.spanning_forest.METHODS
    as_choice(f"method on {backend.name}", method, ("auto", *methods))
    method = methods[0] if method == "auto" else method
    indptr, indices, data = backend.csgraph.spanning_forest.spanning_forest(csr, largest, method)
    return csr_sparse_like(A, data, indices, indptr, (csr.n, csr.n))
