"""Coverage of the identity ordering."""

from __future__ import annotations

from linforest_precond.backends.annotations import MatrixLike
from linforest_precond.matrix.checked import CSR, checked


def identity_coverage(A: MatrixLike | CSR) -> float:
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
