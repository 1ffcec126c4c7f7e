"""`gauss_seidel` sets up multicolour Gauss-Seidel and SOR preconditioners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType, MatrixLike, ScalingName
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.precond.ilu.incomplete_lu import memory_of_triangles
from linforest_precond.precond.ilu.row_orders import Schedule, permuted_with_diagonal, schedule_of
from linforest_precond.precond.ilu.triangular_solves import (
    FACTORS,
    Triangle,
    TriangularSolves,
    adjoint,
    entries_are_in_other_levels,
    levels_cover_rows,
    with_triangles,
)
from linforest_precond.precond.kinds import Face, Kind, Sizes, register
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.parts.part import Repairs, happened, in_words
from linforest_precond.precond.parts.part_iteration import ONE_STEP, PartIterations
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import MATRIX
from linforest_precond.records.forest import Ordering
from linforest_precond.records.printing import agreeing

MOST_SWEEPS = 1000


@without_numpy_warnings
def gauss_seidel(
    A: MatrixLike,
    omega: float = 1.0,
    *,
    sweeps: int = 1,
    symmetric: bool = True,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
    seed: int = 0,
) -> Preconditioner:
    """Gauss-Seidel sweeps by colours, over-relaxed (SOR) where omega is not 1: the preconditioner of Young.

    Rows are sorted by the colours of `linforest_precond.graph.vertex_coloring`: those of one colour are not
    coupled, and are relaxed in parallel (multicolour ordering; Adams & Ortega 1982). With A = L + D + U in
    this order, one sweep from x = 0 solves with D/omega + L. A symmetric sweep goes through the colours and
    back (SSOR): it solves with ``omega/(2 - omega) (D/omega + L) D^-1 (D/omega + U)``, at the cost of one
    product with A. Young, "Iterative solution of large linear systems" (1971).

    For a Hermitian A with a positive diagonal, symmetric sweeps are a Hermitian positive definite operator,
    for `cg`. A diagonal entry that is 0 counts as 1, with a RuntimeWarning.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    omega : float
        The relaxation factor, above 0 and below 2; 1 is Gauss-Seidel.
    sweeps : int
        Sweeps of a product, each from the result of the one before; with several, M keeps A, and each further
        one costs a product with A more.
    symmetric : bool
        Whether a sweep goes forward and backward, or forward only.
    dtype : dtype, optional
        The precision to store, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.
    seed : int
        The seed of the colours.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library. ``ordering`` has the rows sorted by colour.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from scipy.sparse.linalg import cg
    >>> A = lf.matrices.poisson((30, 30))
    >>> M = lf.gauss_seidel(A)
    >>> cg(A, A.sum(axis=1), M=M)[1], M.positive_definite
    (0, True)
    """
    relaxation = checked_relaxation(omega, sweeps, symmetric)
    seed = as_integer("seed", seed) % 2**64
    setup = Setup(A, dtype, scaling=scaling)
    return setup.operator(part_by_colors(setup.csr, setup.stored, relaxation, seed).warned())


@dataclass(frozen=True)
class Relaxation:
    """The checked options of the sweeps."""

    omega: float = 1.0
    sweeps: int = 1
    symmetric: bool = True


def checked_relaxation(omega: Any, sweeps: Any, symmetric: Any) -> Relaxation:
    if not isinstance(omega, int | float | np.number) or not 0 < omega < 2:
        raise ValueError(f"omega must lie in (0, 2), got {omega!r}")
    return Relaxation(float(omega), as_integer("sweeps", sweeps, 1, MOST_SWEEPS), bool(symmetric))


def part_by_colors(csr: CheckedMatrix, stored: DType, relaxation: Relaxation, seed: int) -> GaussSeidelPart:
    """The part of a checked matrix, with checked options."""
    schedule = schedule_of(csr, as_pattern(csr), "colors", seed)
    assert schedule is not None  # for any number of colours
    return GaussSeidelPart.of(csr, stored, schedule, relaxation)


def several_sweeps_have_a_matrix(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    yield "csr", "be null for one sweep, and only there", (fields["csr"] is None) == (fields["sweeps"] == 1)


SCHEMA = schema.FieldsSpec(
    {
        "kind": schema.one_of("gauss_seidel"),
        **FACTORS,
        "lifted": int,
        "omega": schema.real(0.0, 2.0),
        "sweeps": schema.integer(1, MOST_SWEEPS),
        "symmetric": bool,
        "csr": schema.optional(schema.nested(MATRIX, "n", "value")),
    },
    levels_cover_rows,
    entries_are_in_other_levels,
    several_sweeps_have_a_matrix,
)


@dataclass(frozen=True, eq=False)
class GaussSeidelPart(TriangularSolves):
    """One sweep as (I + L) D (I + U), with rows and columns sorted by colour; A where there are several.

    Of A = L + D + U, these are omega L D^-1, D / (omega (2 - omega)) and omega D^-1 U; without the backward
    sweep, the second is D / omega, and the third is 0.
    """

    n: int
    ordering: Ordering
    starts: Array
    lower: Triangle
    upper: Triangle
    inverse: Array
    cholesky: bool
    lifted: int  # diagonal entries that count as 1
    relaxation: Relaxation
    csr: CheckedMatrix | None  # in the stored type

    kind = "gauss_seidel"
    schema = SCHEMA
    omega = property(lambda self: self.relaxation.omega)
    sweeps = property(lambda self: self.relaxation.sweeps)
    symmetric = property(lambda self: self.relaxation.symmetric)

    @classmethod
    def of(
        cls, csr: CheckedMatrix, stored: DType, schedule: Schedule, relaxation: Relaxation
    ) -> GaussSeidelPart:
        """Scale the triangles of a matrix in its own precision, or the stored one if that is wider."""
        backend, omega, ordering = csr.backend, relaxation.omega, schedule.ordering
        wide = np.promote_types(csr.data.dtype, stored)
        indptr, indices, data = permuted_with_diagonal(csr, ordering, wide)
        rows = backend.matrix.entries.rows_of(indptr, indices.size)
        blocks, report = backend.matrix.diagonal_blocks.invert(
            csr.diagonal[ordering.order].astype(wide).reshape(-1, 1, 1)
        )
        lifted = int(report[0])  # stall: reported to the user
        inverse, factor = blocks.ravel(), wide.type(omega)
        cholesky = relaxation.symmetric and (csr.n == 0 or csr.definite)

        def scaled(is_kept: Array, scales: Array) -> Triangle:
            """The kept entries, times omega and the inverses of the diagonal entries with these numbers."""
            slots = backend.xp.flatnonzero(is_kept)  # stall: the number of entries
            ends = backend.xp.zeros(indices.size + 1, indptr.dtype)
            ends[1:] = backend.xp.cumsum(is_kept)
            values = data[slots] * inverse[scales[slots]] * factor
            return ends[indptr], indices[slots], stored_array(values, stored)

        upper = scaled((indices > rows) & relaxation.symmetric, rows)
        lower = adjoint(upper) if cholesky else scaled(indices < rows, indices)
        inverse = stored_array(
            inverse * wide.type(omega * (2 - omega if relaxation.symmetric else 1)), stored
        )
        kept = None
        if relaxation.sweeps > 1:
            data, diagonal = (stored_array(each, stored, csr.exponent) for each in (csr.data, csr.diagonal))
            kept = replace(csr.detached(), data=data, diagonal=diagonal)
        return cls(
            csr.n, ordering, schedule.starts, lower, upper, inverse, cholesky, lifted, relaxation, kept
        )

    def warned(self) -> GaussSeidelPart:
        """Warn about zeros on the diagonal, and return this part."""
        if self.lifted:
            found = agreeing(self.lifted, "pivot counts", "pivots count")
            warn_user(f"{found} as 1: the diagonal of A has zeros")
        return self

    @classmethod
    def from_state(
        cls, kind: str, omega: float, sweeps: int, symmetric: bool, **fields: Any
    ) -> GaussSeidelPart:
        return cls(relaxation=Relaxation(omega, sweeps, symmetric), **with_triangles(fields))

    def with_values(self, csr: CheckedMatrix) -> GaussSeidelPart:
        """The part of another matrix of the pattern, with the same colours."""
        schedule = Schedule("colors", self.ordering, self.starts)
        return self.of(csr, self.stored, schedule, self.relaxation)

    def refreshed(self, csr: CheckedMatrix) -> GaussSeidelPart:
        return self.with_values(csr).warned()

    @cached_property
    def _iterations(self) -> PartIterations:
        """The first sweep is a solve, the others correct its result."""
        assert self.csr is not None
        sweep = replace(self, relaxation=replace(self.relaxation, sweeps=1), csr=None)
        steps = ONE_STEP * self.sweeps
        return PartIterations(self.csr, (sweep,), "multiplicative", steps, self.cholesky)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        if self.csr is None:
            super().solve_into(b, x, transpose)
        else:
            self._iterations.solve_into(b, x, transpose)

    @property
    def nbytes(self) -> int:
        return super().nbytes + held_bytes(self.csr)

    @property
    def name(self) -> str:
        method = "Gauss-Seidel" if self.omega == 1 else f"SOR with omega {self.omega:g}"
        return f"{'symmetric ' if self.symmetric else ''}{method}: sweeps by colours"

    @property
    def repairs(self) -> Repairs:
        return happened(pivots_perturbed=self.lifted)

    def details(self) -> list[tuple[str, str]]:
        return [
            ("colours", f"{self.starts.size - 1:,}"),
            ("sweeps", f"{self.sweeps}"),
            ("entries", f"{self.entries:,}"),
            ("repairs", in_words(self.repairs, self.positive_definite)),
        ]


def _memory(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """Two triangles, and A in the stored type where there are several sweeps."""
    operator, setup = memory_of_triangles(sizes, options)
    rows = (sizes.index + sizes.stored) * sizes.rows
    kept = (sizes.index + sizes.stored) * sizes.entries + rows if options["sweeps"] > 1 else 0
    return operator + kept, setup + kept


FACE = Face(gauss_seidel, "Gauss-Seidel by colours", _memory, setup_products=15)
register(Kind("gauss_seidel", SCHEMA, follows_indices=True, face=FACE))
