"""The public function that finds a scaling."""

from __future__ import annotations

from dataclasses import replace

from linforest_precond.backends.annotations import MatrixLike, ScalingMethod
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.scaling.matrix_scaling import METHODS, MatrixScaling
from linforest_precond.precond.scaling.methods import TOLERANCE, found_by, smallest_diagonal


@without_numpy_warnings
def scaling(
    A: MatrixLike,
    method: ScalingMethod = "matching",
    *,
    symmetric: bool | None = None,
    tolerance: float = TOLERANCE,
) -> MatrixScaling:
    """Find factors of the rows and columns of A, and a permutation, for B = P D_r A D_c, a scaled A.

    - "matching" finds the row permutation of largest diagonal product, and scalings with which the diagonal
      has magnitude 1 and no entry is larger (Duff & Koster, "On algorithms for permuting large entries to the
      diagonal of a sparse matrix", 2001, doi:10.1137/S0895479899358443). For a symmetric A, B = D A D stays
      symmetric, and rows whose diagonal entry is small are paired instead (Duff & Pralet 2005,
      doi:10.1137/04061043X).
    - "equilibrate" brings the largest entry of each row and column near 1 (Ruiz 2001), by powers of two, with
      which products are exact. A symmetric A stays symmetric.
    - "jacobi" divides by sqrt|a_ii| on both sides, where that is not 0.

    The matching is found by an auction (Bertsekas 1988) on logarithms in fixed point, completed by shortest
    augmenting paths: it has the same bits on CPU and GPU.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    method : {"matching", "equilibrate", "jacobi"}
        See above.
    symmetric : bool, optional
        Whether a matching keeps B symmetric; by default where ``|A|`` is symmetric.
    tolerance : float
        Of a matching: entries of B may exceed 1 by a factor of ``2**tolerance``, and the diagonal's product
        is maximal up to that factor per row. Smaller ones take longer; below 2**-20 it counts as that.

    Returns
    -------
    MatrixScaling
        Factors, permutation, and ``apply(A)``, which gives B.

    Raises
    ------
    ValueError
        For a matching of a structurally singular matrix; the message counts the rows that cannot be matched.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[1e-9, 4.0, 0.0], [8.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    >>> scaling = lf.scaling(A)
    >>> scaling.permutation.tolist(), scaling.apply(A).diagonal().round(6).tolist()
    ([1, 0, 2], [1.0, 1.0, 1.0])
    """
    as_choice("method", method, METHODS)
    if not 0 < tolerance <= 1:
        raise ValueError(f"tolerance must lie in (0, 1], got {tolerance!r}")
    csr = checked(A)
    if symmetric and not csr.symmetric:
        raise ValueError("symmetric must be None or False where |A| is not symmetric, got True")
    found = found_by(csr, method, csr.symmetric if symmetric is None else symmetric, tolerance)
    return replace(found, smallest_diagonal=(smallest_diagonal(csr), smallest_diagonal(found.applied(csr))))
