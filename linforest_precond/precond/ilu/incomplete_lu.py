"""`ilu` sets up ILU(0) preconditioners, and IC(0) ones for Hermitian matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from linforest_precond.backends.annotations import DType, IluOrder, MatrixLike, ScalingName
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.user_warnings import renamed_arguments, without_numpy_warnings
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.precond.ilu.ilu_part import MOST_SWEEPS, SCHEMA, IluPart
from linforest_precond.precond.ilu.order_choice import best_part
from linforest_precond.precond.ilu.row_orders import ORDERS, schedule_of
from linforest_precond.precond.kinds import Candidacy, Cost, Face, Kind, Sizes, register
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup


@renamed_arguments(order="ordering")
@without_numpy_warnings
def ilu(
    A: MatrixLike,
    *,
    ordering: IluOrder = "auto",
    sweeps: int | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
    seed: int = 0,
) -> Preconditioner:
    """Solve with incomplete triangular factors of A without fill-in: ILU(0), or IC(0) where A is Hermitian.

    L and U have the pattern of A (and all of the diagonal), and LU equals A on it: Meijerink & van der Vorst,
    "An iterative solution method for linear systems of which the coefficient matrix is a symmetric M-matrix"
    (1977), doi:10.1090/S0025-5718-1977-0438681-4. Rows are sorted by level: those of one level depend on
    other levels alone, and are eliminated and substituted in parallel. Both substitutions are exact.

    For a Hermitian A with a positive diagonal the operator is Hermitian and positive definite. Where
    incomplete Cholesky factors do not exist, those of A + s diag(A) are used, with the first of the shifts
    s = 0.001, 0.002, 0.004, ... for which they do (Manteuffel 1980, doi:10.1090/S0025-5718-1980-0559197-0);
    a matrix that needs more than 4 is indefinite and gets ILU(0). For other matrices, a pivot that is tiny
    relative to its row is perturbed to +-sqrt(eps) times the largest entry of the row, with a RuntimeWarning;
    where entries overflow, the diagonal is shifted.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    ordering : {"auto", "natural", "forest", "colors", "rcm", "minimum_degree"}
        The order of elimination: A's own; along the paths of a linear forest, heavy couplings next to each
        other; by the colours of a vertex colouring, with a level for each colour, which has the fewest levels
        and needs the most iterations; reverse Cuthill-McKee; minimum degree, which is for factors with their
        fill-in. "auto" factors A in all of these but the last (nor in that of colours on the CPU) and takes
        the one with the least predicted time, by the fill-in that is dropped and by counted levels and bytes.
    sweeps : int, optional
        Replace each of the exact substitutions by this number of Jacobi sweeps, which is not robust.
    dtype : dtype, optional
        The precision to store, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.
    seed : int
        The seed of colours and forests.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library. ``ordering`` has the rows sorted by level.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from scipy.sparse.linalg import cg
    >>> A = lf.matrices.poisson((30, 30))
    >>> M = lf.ilu(A, ordering="natural")
    >>> print("\\n".join(str(M).splitlines()[3:6]))
      order              natural
      levels             59 of L and of U
      entries            4,380
    >>> cg(A, A.sum(axis=1), M=M)[1]
    0
    """
    options = checked_options(ordering, sweeps, seed)
    setup = Setup(A, dtype, scaling=scaling)
    part = part_in_order(setup.csr, setup.stored, options["ordering"], options["seed"], options["sweeps"])
    return setup.operator(part.warned())


def checked_options(ordering: Any, sweeps: Any, seed: Any) -> dict[str, Any]:
    return {
        "ordering": as_choice("ordering", ordering, ("auto", *ORDERS)),
        "sweeps": None if sweeps is None else as_integer("sweeps", sweeps, 0, MOST_SWEEPS),
        "seed": as_integer("seed", seed) % 2**64,
    }


def part_in_order(csr: CheckedMatrix, stored: DType, order: str, seed: int, sweeps: int | None) -> IluPart:
    """The factors of a checked matrix in a named order, with checked options."""
    if order == "auto":
        return best_part(csr, stored, seed, sweeps)
    schedule = schedule_of(csr, as_pattern(csr), order, seed)
    assert schedule is not None  # for any number of levels
    return IluPart.of(csr, stored, schedule, sweeps)


def memory_of_triangles(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """Two triangles without the diagonal, the pivots, and an order of levels; factored in A's precision."""
    wide = max(sizes.stored, sizes.value)
    rows = sizes.stored * sizes.rows + 5 * sizes.index * sizes.rows
    operator = (sizes.index + sizes.stored) * sizes.entries + rows
    # The setup also holds the pattern of A + A^T and the work space of an ordering; or five matrices with a
    # full diagonal: the permuted one, its transpose, both triangles, and these in the stored type.
    pattern = replace(sizes, value=4, weight=4).graph_in_making + 8 * sizes.entries + 60 * sizes.rows
    matrix = (sizes.index + wide) * (sizes.entries + sizes.rows)
    return operator, operator + max(pattern, 5 * matrix + 16 * sizes.rows)


FACE = Face(
    ilu,
    "incomplete LU factors",
    memory_of_triangles,
    setup_products=20,
    candidates=(
        Candidacy(
            "cpu", setup=Cost(2e3, 90), application=Cost(90, 6.0), share=0.35, options={"ordering": "natural"}
        ),
        Candidacy(
            "cuda", setup=Cost(600, 130), application=Cost(6.4, 3.3), share=0.42,
            options={"ordering": "colors"},
        ),
        Candidacy(
            "cpu", setup=Cost(8e3, 800), application=Cost(100, 8.0), share=0.3, is_definite=False,
            options={"scaling": "matching"}, fits=lambda facts: facts.needs_matching,
        ),
    ),
)  # fmt: skip
register(Kind("ilu", SCHEMA, follows_indices=True, face=FACE))
