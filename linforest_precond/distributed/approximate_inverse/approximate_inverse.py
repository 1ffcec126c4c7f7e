"""Sparse approximate inverses of matrices over ranks."""

from __future__ import annotations

import numpy.typing as npt

from linforest_precond.backends.annotations import DType, InverseMethod, ScalingName
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.distributed.approximate_inverse.inverse_part import RankInversePart
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.partition.matrix import Matrix, scaled_into_range
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner
from linforest_precond.distributed.partition.scaling import set_up_scaled
from linforest_precond.precond.approximate_inverse.approximate_inverse import ENTRIES, InverseOptions
from linforest_precond.precond.approximate_inverse.inverse_part import method_for


@without_numpy_warnings
def approximate_inverse(
    A: Matrix,
    entries: int = ENTRIES,
    *,
    method: InverseMethod = "auto",
    tolerance: float | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | None = None,
) -> RankPreconditioner:
    """Approximate the inverse of a matrix over ranks by a sparse matrix or a product of two: FSAI or SPAI.

    Collective. The operator is that of `linforest_precond.approximate_inverse` on one rank, bit for bit: a
    row depends on the rows of A that its pattern reaches, and on no recurrence. Ranks fetch those of others
    in rounds, until no pattern reaches any that is not known. A product is one halo exchange for SPAI, two
    for FSAI.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    entries, method, tolerance, dtype
        As for `linforest_precond.approximate_inverse`, the same on all ranks.
    scaling : None, "auto", "matching", "equilibrate" or "jacobi"
        As for `linforest_precond.distributed.tridiagonal`.

    Returns
    -------
    RankPreconditioner
        A LinearOperator on each rank's part of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A, r = lf.matrices.poisson((30, 30)), np.arange(900.0)
    >>> def product(comm):
    ...     own = distributed.scatter(A, comm)
    ...     return distributed.approximate_inverse(own) @ r[own.first : own.first + own.n_local]
    >>> whole = np.concatenate(distributed.simulate(3, product))
    >>> bool((whole == lf.approximate_inverse(A) @ r).all())
    True
    """

    def make(A: Matrix, options: InverseOptions, stored: DType) -> tuple[RankInversePart, int]:
        scaled, exponent = scaled_into_range(A, stored)
        finest = RankLevelMatrix(scaled)
        with A.comm.checking():
            chosen = method_for(finest, options.method)
        least = options.least_gain(chosen)
        return RankInversePart.of(scaled, stored, chosen, options.entries, least), exponent

    return set_up_scaled(A, lambda: InverseOptions.checked(entries, method, tolerance), make, dtype, scaling)
