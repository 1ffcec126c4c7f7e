"""`scaling` finds row and column scalings by a matching, by equilibration or by the diagonal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike, ScalingMethod
from linforest_precond.backends.arguments import as_choice, as_number, shown
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.precond.scaling.matched_rows import match_rows, partners_of
from linforest_precond.precond.scaling.matrix_scaling import METHODS, MatrixScaling
from linforest_precond.records.forest import magnitudes_of

# With a matching, scaled entries exceed 1 by a factor of at most 2**TOLERANCE.
TOLERANCE = 2.0**-9
# Ruiz iterations; each one halves the distance of the logarithms of the norms from 0.
RUIZ_ITERATIONS = 12
# A diagonal entry is tiny if it is smaller than this power of two times the geometric mean of the largest
# entries of its row and of its column.
TINY_EXPONENT = -10


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
    if not 0 < (tolerance := as_number("tolerance", tolerance)) <= 1:
        raise ValueError(f"tolerance must lie in (0, 1], got {tolerance}")
    csr = checked(A)
    if symmetric and not csr.symmetric:
        raise ValueError("symmetric must be None or False where |A| is not symmetric, got True")
    found = found_by(csr, method, csr.symmetric if symmetric is None else symmetric, tolerance)
    return replace(found, smallest_diagonal=(smallest_diagonal(csr), smallest_diagonal(found.applied(csr))))


def check_scaling(scaling: Any) -> None:
    """Refuse what `scaling=` of a preconditioner does not take."""
    if scaling is None or isinstance(scaling, MatrixScaling):
        return
    if not isinstance(scaling, str) or scaling not in (*METHODS, "auto"):
        names = ", ".join(f'"{name}"' for name in ("auto", *METHODS))
        raise ValueError(f"scaling must be None, {names} or a MatrixScaling, got {shown(scaling)}")


def scaling_of(csr: CheckedMatrix, scaling: str | MatrixScaling, symmetric: bool) -> MatrixScaling | None:
    """The scaling of a checked matrix that `scaling=` asks for; None where "auto" finds none necessary."""
    if isinstance(scaling, MatrixScaling):
        return scaling.fitted_to(csr)
    if scaling == "auto":
        if not count_tiny_diagonal(csr):
            return None
        try:
            return matching(csr, symmetric and csr.symmetric)
        except ValueError:  # structurally singular
            return None
    return found_by(csr, scaling, symmetric and csr.symmetric, TOLERANCE)


def found_by(csr: CheckedMatrix, method: str, symmetric: bool, tolerance: float) -> MatrixScaling:
    if method == "matching":
        return matching(csr, symmetric, tolerance)
    return equilibrate(csr) if method == "equilibrate" else by_diagonal(csr)


def matching(csr: CheckedMatrix, symmetric: bool, tolerance: float = TOLERANCE) -> MatrixScaling:
    """The largest product of the diagonal; a symmetric one has D = sqrt(D_r D_c) and pairs, no permutation.

    The mean of two dual solutions, that of A and its transpose, is one itself: matched entries keep magnitude
    1, to the tolerance.
    """
    found = match_rows(csr, tolerance)
    if not symmetric:
        return MatrixScaling("matching", found.row, found.column, found.rows)
    xp = csr.backend.xp
    both = xp.sqrt(found.row) * xp.sqrt(found.column)
    return MatrixScaling("matching", both, both.copy(), None, partners_of(found))


def equilibrate(csr: CheckedMatrix) -> MatrixScaling:
    """The largest entry of each row and column near 1, by powers of two: products with them are exact.

    Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices" (2001), in the infinity
    norm. A symmetric matrix stays symmetric.
    """
    logs = csr.backend.matrix.log_scaling
    weights = logs.fixed_logarithms(magnitudes_of(csr.data))
    shifts = logs.equilibrated(csr.indptr, csr.indices, weights, RUIZ_ITERATIONS)
    half = logs.UNIT // 2
    row, column = (logs.powers((shift + half) // logs.UNIT * logs.UNIT) for shift in shifts)
    return MatrixScaling("equilibrate", row, column)


def by_diagonal(csr: CheckedMatrix) -> MatrixScaling:
    """1 / sqrt|a_ii| on both sides, 1 where the diagonal is 0."""
    xp = csr.backend.xp
    magnitudes = magnitudes_of(csr.diagonal).astype(np.float64)
    factors = 1.0 / xp.sqrt(xp.where(magnitudes > 0, magnitudes, 1.0))
    return MatrixScaling("jacobi", factors, factors.copy())


def count_tiny_diagonal(csr: CheckedMatrix) -> int:
    """The number of diagonal entries that are 0 or tiny, in rows with entries."""
    return count_tiny(csr.backend, *csr.log_maxima)


def count_tiny(backend: Backend, rows: Array, columns: Array, diagonal: Array) -> int:
    """The same, of `CheckedMatrix.log_maxima`."""
    logs = backend.matrix.log_scaling
    tiny = 2 * diagonal < rows + columns + 2 * TINY_EXPONENT * logs.UNIT
    return int((tiny & (rows > logs.NO_WEIGHT)).sum())  # stall: decides whether rows are matched


def has_weak_diagonal(csr: CheckedMatrix, ratio: float, share: float) -> bool:
    """Whether more than a share of the diagonal entries are below a ratio of their column's largest entry."""
    _, columns, diagonal = csr.log_maxima
    logs = csr.backend.matrix.log_scaling
    weak = diagonal < columns + int(np.log2(ratio) * logs.UNIT)
    return int(weak.sum()) > share * csr.n  # stall: decides whether rows are matched


def smallest_diagonal(csr: CheckedMatrix) -> float:
    """The smallest diagonal magnitude relative to the largest one of its row; 1 where no row has entries."""
    rows, _, diagonal = csr.log_maxima
    logs = csr.backend.matrix.log_scaling
    relative = (diagonal - rows)[rows > logs.NO_WEIGHT]
    least = int(relative.min()) if relative.size else 0  # stall: reported
    return 0.0 if least < -3000 * logs.UNIT else float(2.0 ** max(least / logs.UNIT, -1000.0))
