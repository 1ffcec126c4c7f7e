"""`approximate_inverse` sets up FSAI and SPAI preconditioners, sparse approximate inverses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import InverseMethod, MatrixLike, ScalingName
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.precond.approximate_inverse.inverse_part import (
    MOST_ENTRIES,
    SCHEMA,
    InversePart,
    method_for,
)
from linforest_precond.precond.kinds import Candidacy, Cost, Face, Kind, Sizes, register
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup

METHODS = "auto", "fsai", "spai"
ENTRIES = 20
# The least gains of new entries. Late entries of SPAI pay more: orsirr_2 takes 18 iterations instead of 80.
TOLERANCES = {"fsai": 1e-3, "spai": 1e-6}


@without_numpy_warnings
def approximate_inverse(
    A: MatrixLike,
    entries: int = ENTRIES,
    *,
    method: InverseMethod = "auto",
    tolerance: float | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
) -> Preconditioner:
    """Approximate the inverse of A by a sparse matrix, or by a product of two: FSAI or SPAI.

    Nothing is solved when it is applied: one or two sparse products. Each row of it comes from a small dense
    system, and its pattern grows with the entries that promise the most.

    - FSAI, for a Hermitian A with a positive diagonal: M = G^H G with a lower triangular G that minimizes
      Kaporin's condition number of G A G^H, whose diagonal is 1. M is positive definite by construction.
      Where A is not, some rows of G have fewer entries, with a RuntimeWarning.
    - SPAI, for any other A: each row of M minimizes the norm of that row of I - M A, where columns of A are
      divided by the square roots of their norms. Terms of columns with more than 4096 entries (of shorter
      ones where A A^H would be large) count on the diagonal of the normal equations only. A row of M
      without entries becomes that of the identity, with a RuntimeWarning.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    entries : int
        Entries of a row of G or M at most, 1 to 64.
    method : {"auto", "fsai", "spai"}
        "auto" is FSAI where A is Hermitian with a positive diagonal, but for empty rows.
    tolerance : float, optional
        Entries are added to a row while one of them alone would lower its functional by more than this share:
        1e-3 by default for FSAI, 1e-6 for SPAI.
    dtype : dtype, optional
        The precision to store, A's own by default; the small systems are solved in double precision.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library. Its `update` keeps the pattern of G or M.

    Notes
    -----
    Each round takes up to 5 entries: those of the largest ``|gradient|**2 / n_kk``, at least 0.3 times the
    round's largest, the lowest column first among equal ones, where n_kk is the diagonal of A for FSAI and of
    A A^H for SPAI. At most 512 candidates of a row are looked at, the first that are met. SPAI solves normal
    equations by Cholesky's method, as their matrix A A^H is sparse and shared by all rows, and leaves out
    columns that depend on those before them.

    Patterns grow as in Janna, Ferronato, Sartoretto & Gambolati, "FSAIPACK: a software package for
    high-performance factored sparse approximate inverse preconditioning" (2015), doi:10.1145/2629475, and in
    Grote & Huckle, "Parallel preconditioning with sparse approximate inverses" (1997),
    doi:10.1137/S1064827594276552.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> M = lf.approximate_inverse(A)
    >>> history = lf.solvers.History()
    >>> x, info = lf.solvers.cg(A, np.ones(900), rtol=1e-8, M=M, history=history)
    >>> info, len(history) < 30
    (0, True)
    """
    options = InverseOptions.checked(entries, method, tolerance)
    setup = Setup(A, dtype, scaling=scaling)
    chosen = method_for(LevelMatrix(setup.csr), options.method)
    least = options.least_gain(chosen)
    return setup.operator(InversePart.of(setup.csr, setup.stored, chosen, options.entries, least))


@dataclass(frozen=True)
class InverseOptions:
    """The checked options of an approximate inverse."""

    entries: int
    method: str
    tolerance: float | None

    @classmethod
    def checked(cls, entries: Any, method: Any, tolerance: Any) -> InverseOptions:
        entries = as_integer("entries", entries, 1, MOST_ENTRIES)
        if tolerance is not None:
            if not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance < 1:
                raise ValueError(f"tolerance must lie in [0, 1), got {tolerance!r}")
            tolerance = float(tolerance)
        return cls(entries, as_choice("method", method, METHODS), tolerance)

    def least_gain(self, method: str) -> float:
        """The tolerance, of the method if the user gave none."""
        return TOLERANCES[method] if self.tolerance is None else self.tolerance


def _memory(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """The factors of FSAI, padded rows; of SPAI the products of A's rows, as many as rows have entries."""
    wide = max(sizes.value, 8)
    rows = ENTRIES * (sizes.index + wide) * sizes.rows
    operator = 2 * (ENTRIES * (sizes.index + sizes.stored) + sizes.index) * sizes.rows
    matrix = (3 if sizes.symmetric else 8) * (sizes.index + wide) * sizes.entries
    if not sizes.symmetric:
        matrix += (sizes.index + wide) * sizes.entries**2 // max(sizes.rows, 1)
    return operator, operator + 3 * rows + matrix + 32 * sizes.rows


FACE = Face(
    approximate_inverse,
    "sparse approximate inverse",
    _memory,
    setup_products=120,
    candidates=(
        Candidacy(
            "cpu", setup=Cost(6e3, 1250), application=Cost(50, 3.0), share=0.5, options={"entries": 10}
        ),
        Candidacy("cuda", setup=Cost(400, 200), application=Cost(0.8, 2.5), share=0.25),
        Candidacy(
            "cuda", setup=Cost(600, 600), application=Cost(0.8, 2.0), share=0.3, is_definite=False,
            options={"scaling": "matching"}, fits=lambda facts: facts.needs_matching,
        ),
    ),
)  # fmt: skip
register(Kind("approximate_inverse", SCHEMA, follows_indices=True, face=FACE))
