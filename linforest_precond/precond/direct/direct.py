"""`direct` factors A = LU, and returns the solve with the factors as an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import DirectOrder, MatrixLike, Permutation, Pivoting, ScalingName
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import renamed_arguments, without_numpy_warnings
from linforest_precond.graph.reordering.minimum_degree import fill, minimum_degree
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.direct_part import SCHEMA, DirectPart, owned
from linforest_precond.precond.direct.libraries import library_of
from linforest_precond.precond.direct.orders import ORDERS, PIVOTINGS, has_pivots, is_nearly_symmetric
from linforest_precond.precond.kinds import Face, Kind, Sizes, register
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup


@renamed_arguments(order="ordering")
@without_numpy_warnings
def direct(
    A: MatrixLike,
    *,
    ordering: DirectOrder | Permutation = "auto",
    pivoting: Pivoting = "auto",
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
) -> Preconditioner:
    """Factor A = LU with a fill-reducing order, and solve with the factors: M is the inverse, to rounding.

    A product is one forward and one backward substitution, without iterative refinement. On the CPU the
    factors are those of SuperLU, as SciPy has it. On the GPU they are those of cuDSS where that is installed
    (``pip install linforest-precond[cudss]``); where it is not, and where cuDSS does not solve accurately,
    SuperLU factors on the host, and every product copies its vectors. ``print(M)`` says which.

    With "auto", A is factored on its diagonal in an order for A + A^T, after rows were matched to columns
    with large entries where the diagonal has zeros (static pivoting: Li & Demmel 2003,
    doi:10.1145/779359.779361). A system with a random right-hand side is then solved with refinement. If its
    componentwise backward error is far above rounding, rows are matched, and if it still is, partial pivoting
    follows. Patterns with few mirror entries get that at once on the CPU.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square and nonsingular, of SciPy, NumPy or CuPy.
    ordering : {"auto", "colamd", "minimum_degree", "natural"} or permutation
        The order of elimination. "minimum_degree" is that of A + A^T, for diagonal pivots; "colamd" bounds
        the fill-in of partial pivoting, and is that of columns alone; "natural" is A's own; a permutation has
        ``ordering[new] = old``. "auto" takes the first or the second, and on the GPU cuDSS's nested
        dissection.
    pivoting : {"auto", "diagonal", "partial"}
        "diagonal" takes a diagonal entry unless it is below 0.001 times the largest one of its column.
        "partial" always takes the largest one.
    dtype : dtype, optional
        The precision to store, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: factor a scaled and permuted matrix, and still act on A itself. None with
        ``pivoting="auto"`` is "matching" where that is needed.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library. ``update`` keeps the order and the scaling; with SuperLU it saves the
        time of these alone, with cuDSS also that of the symbolic factorization. Files and pickles hold A and
        the order: it is factored again when they are read.

    Raises
    ------
    numpy.linalg.LinAlgError
        For a singular A.
    MemoryError
        Where the factors are predicted not to fit into memory, before they are computed.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> M = lf.direct(A)
    >>> bool(abs(A @ (M @ np.ones(900)) - 1).max() < 1e-12)
    True
    """
    if isinstance(ordering, str) and ordering not in ORDERS:
        raise ValueError(
            f"ordering must be one of {', '.join(map(repr, ORDERS))} or a permutation, got {ordering!r}"
        )
    as_choice("pivoting", pivoting, PIVOTINGS)
    if isinstance(ordering, str) and ordering == "colamd" and pivoting == "auto":
        pivoting = "partial"  # COLAMD bounds the fill-in of partial pivoting
    may_match = scaling is None and pivoting == "auto"
    setup = Setup(A, dtype, scaling="auto" if may_match else scaling, keep_symmetric=False)
    if pivoting != "auto":
        part = DirectPart.of(setup.csr, setup.stored, ordering, pivoting)
    else:
        part = pivoted_as_needed(setup, ordering, may_match)
    return setup.operator(part.verified())


def unverified(A: CheckedMatrix, order: Any, pivoting: str, flops: float, reason: str) -> Preconditioner:
    """`direct` for a caller who has counted its flops and verifies solutions."""
    setup = Setup(A, None)
    part = DirectPart.of(setup.csr, setup.stored, order, pivoting, automatic=True, flops=flops, reason=reason)
    return setup.operator(part)


def pivoted_as_needed(setup: Setup, order: Any, may_match: bool) -> DirectPart:
    """Diagonal pivots if these are accurate, if need be after a matching; partial pivoting otherwise."""
    may_match = may_match and setup.scaling is None
    part = diagonally_pivoted(setup, order) if not may_match or has_pivots(setup.csr) else None
    if part is None and may_match:
        try:
            setup.scale("matching")
            part = diagonally_pivoted(setup, order)
        except ValueError:  # structurally singular
            pass
    return DirectPart.of(setup.csr, setup.stored, order, "partial") if part is None else part


def diagonally_pivoted(setup: Setup, order: Any) -> DirectPart | None:
    """Factors that are accurate; None where they are not, or where A + A^T has far more entries than A."""
    csr = setup.csr
    given = not isinstance(order, str) or order != "auto"
    library = library_of(csr, order, "diagonal")
    if given or library.direct.sparse_lu.OWN_ORDER or is_nearly_symmetric(csr):
        part = DirectPart.of(csr, setup.stored, order, "diagonal", automatic=True)
        return part if part.is_accurate else None
    return None


def memory_of_factors(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """Factors without interchanges, in an order that is computed for the estimate; A and the order."""
    given = sizes.matrix
    csr = owned(given, np.dtype(f"{given.dtype.kind}{sizes.stored}"))
    room = library_of(csr, "auto", "diagonal").direct.sparse_lu
    factors, peak = room.memory(csr, lambda: fill(given, minimum_degree(given)).lu_entries)
    matrix = (sizes.index + sizes.stored) * (sizes.entries + sizes.rows)
    beside = matrix + 2 * sizes.index * sizes.rows
    # The setup also holds the pattern of A + A^T and work space of the ordering, or three permuted copies.
    pattern = replace(sizes, value=4, weight=4).graph_in_making + 16 * sizes.entries + 100 * sizes.rows
    return factors + beside, peak + beside + max(pattern, 3 * matrix)


FACE = Face(direct, "sparse LU factors", memory_of_factors, setup_products=300, linear=False)
register(Kind("direct", SCHEMA, follows_indices=True, capturable=False, face=FACE))
