"""`extract_bands` copies the tridiagonal bands along a linear forest; coverage of A's own order."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.forest.given_records import checked_forest
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.records.forest import Bands, Forest


@named_arguments
def extract_bands(A: MatrixLike | CheckedMatrix, forest: Forest) -> Bands:
    """Copy the entries of A along the forest's paths into three bands, in the forest's order.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy: the matrix of the forest, or another one of the same size.
    forest : Forest
        From `linforest_precond.linear_forest`, on A's device.

    Returns
    -------
    Bands
        Copies of A's entries, ``A[v, w]`` and ``A[w, v]`` of each edge; 0 where A stores nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[4.0, 0, -3], [0, 5, -1], [-2, -1, 6]])
    >>> bands = lf.extract_bands(A, lf.linear_forest(A))
    >>> bands.lower.tolist(), bands.diagonal.tolist(), bands.upper.tolist()
    ([0.0, -2.0, -1.0], [4.0, 6.0, 5.0], [-3.0, -1.0, 0.0])
    """
    csr = checked(A, shared=True)
    if not isinstance(forest, Forest):
        raise TypeError(f"forest must be a Forest from linear_forest(A), got {type(forest).__name__}")
    return copy_bands(csr, checked_forest(forest, csr.n, csr.backend))


def copy_bands(
    csr: CheckedMatrix, forest: Forest, values: Array | None = None, slots: Array | None = None
) -> Bands:
    """The bands of a checked matrix along a forest.

    If the forest was made from this matrix, its `values` or `slots` save the binary search for the entries. A
    forest of another matrix may have the other index type.
    """
    index = csr.indices.dtype
    neighbors, order = (array.astype(index, copy=False) for array in (forest.neighbors, forest.order))
    return Bands(*csr.backend.forest.bands.extract(csr, neighbors, order, values, slots))


@named_arguments
def identity_coverage(A: MatrixLike | CheckedMatrix) -> float:
    """Share of the off-diagonal weight on the sub- and superdiagonal, in A's own order.

    This is c_id, Eq. 5 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted
    Graph on GPUs" (2022), doi:10.1145/3545008.3545035: what a plain tridiagonal preconditioner keeps.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.

    Returns
    -------
    float
        Between 0 and 1; 1 for a matrix without off-diagonal entries.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> round(lf.graph.identity_coverage(lf.matrices.poisson((50, 50))), 2)
    0.5
    """
    csr = checked(A)
    if csr.total_weight == 0.0:
        return 1.0
    return min(1.0, csr.adjacent_weight / csr.total_weight)
