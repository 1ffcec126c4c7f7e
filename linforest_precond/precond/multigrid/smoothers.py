"""Smoothers of a level: damped Jacobi, l1-Jacobi, Chebyshev, lines, approximate inverses, Gauss-Seidel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.flags import all_set
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.approximate_inverse.approximate_inverse import ENTRIES, TOLERANCES
from linforest_precond.precond.approximate_inverse.inverse_part import SCHEMA as INVERSE_PART
from linforest_precond.precond.approximate_inverse.inverse_part import InversePart, method_for
from linforest_precond.precond.multigrid.eigenvalue_estimates import chebyshev_steps, estimated_eigenvalue
from linforest_precond.precond.multigrid.level_matrix import DAMPING, LevelMatrix
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.parts.lockstep import Steps, completed
from linforest_precond.precond.parts.number_types import stored_array
from linforest_precond.precond.relaxation.gauss_seidel import SCHEMA as GAUSS_SEIDEL_PART
from linforest_precond.precond.relaxation.gauss_seidel import GaussSeidelPart, Relaxation, part_by_colors
from linforest_precond.precond.storage import schema
from linforest_precond.precond.tridiagonal.tridiagonal_part import SCHEMAS as LINE_SCHEMAS
from linforest_precond.precond.tridiagonal.tridiagonal_part import (
    TridiagonalPart,
    block_part,
    scalar_part_in_steps,
)
from linforest_precond.records.forest import Bands

LINES = "tridiagonal", "block_tridiagonal"
# Degrees of the Chebyshev polynomials, and the lower ends of their intervals as shares of the largest
# eigenvalue.
CHEBYSHEV = {"chebyshev": (2, 1 / 4), "chebyshev3": (3, 1 / 8)}
MOST_STEPS = max(degree for degree, _ in CHEBYSHEV.values())
DIAGONAL = "jacobi", "l1_jacobi", *CHEBYSHEV
INVERSE = "approximate_inverse"
GAUSS_SEIDEL = "gauss_seidel"
SMOOTHERS = *DIAGONAL, *LINES, INVERSE, GAUSS_SEIDEL
# Above this eigenvalue, line relaxation needs so much damping that the Jacobi smoother is better.
LARGEST_LINE_EIGENVALUE = 10.0


def part_is_of_kind(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    yield "kind", "be that of its part", fields["part"]["kind"] == fields["kind"]


STEPS = schema.items(schema.items(schema.real(), schema.real()), length=(1, MOST_STEPS))
PART_SCHEMA = schema.FieldsSpec(
    {
        "kind": schema.one_of(*LINES, INVERSE, GAUSS_SEIDEL),
        "part": schema.nested(
            schema.either(**LINE_SCHEMAS, approximate_inverse=INVERSE_PART, gauss_seidel=GAUSS_SEIDEL_PART),
            "n",
            "value",
        ),
    },
    part_is_of_kind,
)


@dataclass(frozen=True, eq=False)
class DiagonalSmoother(schema.Stored):
    """Jacobi's or Chebyshev's iteration: x += momentum (x - previous x) + factor weights (b - A x)."""

    kind: Annotated[str, schema.one_of(*DIAGONAL)]
    weights: Annotated[Array, schema.numbers("n")]  # the diagonal matrix
    steps: Annotated[tuple[tuple[float, float], ...], STEPS]  # momentum and factor of each step of a sweep

    @classmethod
    def of(cls, matrix: LevelMatrix, stored: DType, kind: str) -> DiagonalSmoother:
        if kind in CHEBYSHEV:
            degree, lowest_share = CHEBYSHEV[kind]
            steps = chebyshev_steps(matrix.largest_eigenvalue, lowest_share, degree)
            return cls(kind, stored_array(matrix.inverse_diagonal, stored), steps)
        if kind == "l1_jacobi":
            return cls(kind, _l1_weights(matrix, stored), ((0.0, 1.0),))
        return cls(kind, stored_array(matrix.damped_jacobi, stored), ((0.0, 1.0),))

    def refreshed(self, matrix: LevelMatrix) -> DiagonalSmoother:
        return self.of(matrix, self.weights.dtype, self.kind)

    def converts(self, sweeps: tuple[int, int]) -> bool:
        """Whether b and the final x of pre- and postsmoothing sweeps may be of double precision.

        Then the first and the last kernel convert: one step each, so that x is written once.
        """
        return sweeps == (1, 1) and len(self.steps) == 1

    def buffer_swaps(self, sweeps: int, from_zero: bool) -> int:
        """The number of swaps of x and the other vector; the first step from 0 writes x itself."""
        return max(0, len(self.steps) * sweeps - from_zero)

    def smooth_from_zero(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        """Sweeps from x = 0; the result is in x after an even number of swaps, else in `other`."""
        if not sweeps:
            vectors.ops.clear(x)
            return
        (_, factor), *rest = self.steps
        vectors.ops.scale(self.weights, factor, b, x)
        if rest:
            vectors.ops.clear(other)
        self._relax(vectors, b, x, other, [*rest, *self.steps * (sweeps - 1)])

    def presmooth(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        """`smooth_from_zero`, with the residual of the result in `vectors.residual`; one step is fused."""
        if sweeps == len(self.steps) == 1:
            factor = self.steps[0][1]
            vectors.ops.scale_residual(vectors.matrix, self.weights, factor, b, x, vectors.residual)
            return
        self.smooth_from_zero(vectors, b, x, other, sweeps)
        result = x if self.buffer_swaps(sweeps, True) % 2 == 0 else other
        vectors.ops.residual(vectors.matrix, b, result, vectors.residual)

    def smooth(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        """Sweeps from x; the result is in x after an even number of swaps, else in `other`."""
        self._relax(vectors, b, x, other, self.steps * sweeps)

    def _relax(
        self, vectors: LevelVectors, b: Array, x: Array, other: Array, steps: Sequence[tuple[float, float]]
    ) -> None:
        for momentum, factor in steps:
            vectors.ops.relax(vectors.matrix, self.weights, b, x, other, momentum, factor)
            x, other = other, x


SMOOTHER_SCHEMA = schema.either(weights=schema.of_fields(DiagonalSmoother), part=PART_SCHEMA)


def largest_of_part(matrix: LevelMatrix, part: TridiagonalPart | InversePart, definite: bool) -> Steps[float]:
    """The largest eigenvalue of M A for the part of a preconditioner M, which may be `definite`."""
    csr, stored = matrix.csr, part.stored
    operand = csr.operand(stored_array(csr.data, stored, csr.exponent))

    def solve(r: Array, z: Array) -> None:
        part.solve_into(r, z, False)

    return estimated_eigenvalue(operand, stored, solve, matrix.definite and definite, matrix.backend)


class PartSmoother(schema.Stored):
    """Sweeps x += M (b - A x) with the part of a preconditioner M, damped where needed."""

    kind: str
    part: TridiagonalPart | InversePart | GaussSeidelPart

    schema = PART_SCHEMA

    @classmethod
    def from_state(cls, kind: str, part: Any) -> Smoother:
        others = {INVERSE: InverseSmoother, GAUSS_SEIDEL: GaussSeidelSmoother}
        return others.get(kind, LineSmoother)(kind, part)

    def converts(self, sweeps: tuple[int, int]) -> bool:
        return False

    def buffer_swaps(self, sweeps: int, from_zero: bool) -> int:
        return 0

    def smooth_from_zero(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        if not sweeps:
            vectors.ops.clear(x)
            return
        self.part.solve_into(b, x, vectors.transpose)
        self.smooth(vectors, b, x, other, sweeps - 1)

    def presmooth(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        self.smooth_from_zero(vectors, b, x, other, sweeps)
        vectors.ops.residual(vectors.matrix, b, x, vectors.residual)

    def smooth(self, vectors: LevelVectors, b: Array, x: Array, other: Array, sweeps: int) -> None:
        for _ in range(sweeps):
            vectors.ops.residual(vectors.matrix, b, x, vectors.residual)
            self.part.solve_into(vectors.residual, other, vectors.transpose)
            vectors.ops.add(other, x)


@dataclass(frozen=True, eq=False)
class LineSmoother(PartSmoother):
    """Line relaxation: each sweep solves a (block) tridiagonal system along the paths of a linear forest."""

    kind: str
    part: TridiagonalPart  # its bands are divided by the damping factor

    @classmethod
    def in_steps(cls, matrix: LevelMatrix, stored: DType, kind: str, seed: int) -> Steps[Smoother]:
        if kind == "tridiagonal":
            options = check_options(2, seed=seed)
            part = yield from scalar_part_in_steps(matrix.csr, stored, "forest", options)
        else:
            part = block_part(matrix.csr, stored, check_block_options(2, seed=seed))
        return (yield from cls._damped(matrix, kind, part))

    @classmethod
    def _damped(cls, matrix: LevelMatrix, kind: str, part: TridiagonalPart) -> Steps[Smoother]:
        """The smoother, damped by the largest eigenvalue; Jacobi's where the damping would be too strong."""
        largest = yield from largest_of_part(matrix, part, part.solver.positive_definite)
        stored = part.stored
        if largest > LARGEST_LINE_EIGENVALUE:
            return DiagonalSmoother.of(matrix, stored, "jacobi")
        damping = stored.type(min(1.0, DAMPING / largest))
        bands = Bands(*(band / damping for band in (part.bands.lower, part.bands.diagonal, part.bands.upper)))
        started = part.start(bands)
        yield
        return cls(kind, TridiagonalPart.factored(**{**part.state(), "bands": bands}, started=started))

    def refreshed_in_steps(self, matrix: LevelMatrix) -> Steps[Smoother]:
        part = yield from self.part.refreshed_in_steps(matrix.csr)
        return (yield from self._damped(matrix, self.kind, part))


@dataclass(frozen=True, eq=False)
class InverseSmoother(PartSmoother):
    """Sweeps with a sparse approximate inverse: FSAI where the matrix may be definite, SPAI otherwise."""

    kind: str
    part: InversePart  # times the damping factor

    @classmethod
    def of(cls, matrix: LevelMatrix, stored: DType) -> Smoother:
        """Jacobi's iteration on coarse levels whose diagonal shows that the finest matrix is not definite."""
        method = method_for(matrix, "auto")
        if method == "fsai" and not all_set(matrix.csr.diagonal.real > 0):  # stall: chooses the smoother
            return DiagonalSmoother.of(matrix, stored, "jacobi")
        part = InversePart.of(matrix.csr, stored, method, ENTRIES, TOLERANCES[method])
        return cls._damped(matrix, part)

    @classmethod
    def _damped(cls, matrix: LevelMatrix, part: InversePart) -> InverseSmoother:
        largest = completed(largest_of_part(matrix, part, part.method == "fsai"))
        return cls(INVERSE, part.damped(min(1.0, DAMPING / largest)))

    def refreshed(self, matrix: LevelMatrix) -> Smoother:
        if self.part.method != method_for(LevelMatrix(matrix.csr), "auto"):
            return self.of(matrix, self.part.stored)
        return self._damped(matrix, self.part.refreshed(matrix.csr))


@dataclass(frozen=True, eq=False)
class GaussSeidelSmoother(PartSmoother):
    """Symmetric Gauss-Seidel sweeps by colours; they converge for every positive definite matrix."""

    kind: str
    part: GaussSeidelPart

    @classmethod
    def of(cls, matrix: LevelMatrix, stored: DType, seed: int) -> GaussSeidelSmoother:
        return cls(GAUSS_SEIDEL, part_by_colors(matrix.csr, stored, Relaxation(), seed))

    def refreshed(self, matrix: LevelMatrix) -> GaussSeidelSmoother:
        return replace(self, part=self.part.with_values(matrix.csr))


Smoother = DiagonalSmoother | LineSmoother | InverseSmoother | GaussSeidelSmoother


def smoother_in_steps(matrix: LevelMatrix, stored: DType, kind: str, seed: int) -> Steps[Smoother]:
    if kind in LINES:
        return (yield from LineSmoother.in_steps(matrix, stored, kind, seed))
    if kind == INVERSE:
        return InverseSmoother.of(matrix, stored)
    if kind == GAUSS_SEIDEL:
        return GaussSeidelSmoother.of(matrix, stored, seed)
    return DiagonalSmoother.of(matrix, stored, kind)


def refreshed_in_steps(smoother: Smoother, matrix: LevelMatrix) -> Steps[Smoother]:
    """The smoother for the values of another matrix."""
    if isinstance(smoother, LineSmoother):
        return (yield from smoother.refreshed_in_steps(matrix))
    return smoother.refreshed(matrix)


def _l1_weights(matrix: LevelMatrix, stored: DType) -> Array:
    """4/3 over the sums of the rows' magnitudes, with the sign of the diagonal.

    The eigenvalues of D^-1 A are at most 1 for the sums D, so that no estimate is needed: Baker, Falgout,
    Kolev & Yang, "Multigrid smoothers for ultraparallel computing" (2011), doi:10.1137/100798806.
    """
    return matrix.backend.multigrid.smoothed_aggregation.l1_weights(matrix.csr, DAMPING, stored)
