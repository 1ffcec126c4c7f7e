"""`SeveralForestsPart` combines tridiagonal preconditioners of disjoint forests, and polynomials of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.multigrid.eigenvalue_estimates import chebyshev_steps, estimated_eigenvalue
from linforest_precond.precond.parts.lockstep import completed
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.parts.part import Repairs, in_words
from linforest_precond.precond.parts.part_iteration import ONE_STEP, PartIterations, Steps, visits
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import MATRIX
from linforest_precond.precond.tridiagonal.tridiagonal_part import SCHEMAS as LINE_SCHEMAS
from linforest_precond.precond.tridiagonal.tridiagonal_part import TridiagonalPart
from linforest_precond.records.forest import Bands, Ordering

COMBINATIONS = "multiplicative", "additive"
MOST_FORESTS = 8
MOST_STEPS = 8
# T is scaled to this largest eigenvalue of T^-1 A: a sweep converges below 2, and estimates may be low.
LARGEST_EIGENVALUE = 1.8
# The lower end of the interval of a Chebyshev polynomial, as a share of the largest eigenvalue. An even
# polynomial stays definite up to the sum of both ends.
LOWEST_SHARE = 1 / 16
PART = schema.nested(LINE_SCHEMAS["tridiagonal"], "n", "value")
STEPS = schema.items(schema.items(schema.real(), schema.real()), length=(1, MOST_STEPS))


@dataclass(frozen=True, eq=False)
class SeveralForestsPart(schema.Stored):
    """Tridiagonal systems along disjoint forests, combined in sweeps or sums, and a polynomial of these.

    A sweep 1-2-3-2-1 of ``x += T^-1 (b - A x)`` is symmetric for a symmetric A. For a definite A it is
    definite if all T are, and the eigenvalues of T^-1 A are below 2 for all forests but the last: the error
    of a sweep does not grow in A's norm then. So a T with a larger eigenvalue is scaled.
    """

    n: int
    csr: Annotated[CheckedMatrix, schema.nested(MATRIX, "n", "value")]  # in the stored type
    # their bands are divided by damping factors or weights
    parts: Annotated[tuple[TridiagonalPart, ...], schema.items(PART, length=(1, MOST_FORESTS))]
    combine: Annotated[str, schema.one_of(*COMBINATIONS)]
    steps: Annotated[Steps, STEPS]
    hermitian: bool
    definite: bool  # A is Hermitian with a positive diagonal, and all parts are positive definite

    kind = "several_forests"

    @classmethod
    def of(
        cls, csr: CheckedMatrix, parts: Sequence[TridiagonalPart], combine: str, degree: int
    ) -> SeveralForestsPart:
        """Scale the parts of a matrix, and find the coefficients of the polynomial."""
        stored = parts[0].stored
        data, diagonal = (stored_array(array, stored, csr.exponent) for array in (csr.data, csr.diagonal))
        hermitian = csr.n > 0 and csr.hermitian
        definite = hermitian and all(part.solver.positive_definite for part in parts)
        own = replace(csr.detached(), data=data, diagonal=diagonal)
        plain = cls(csr.n, own, tuple(parts), combine, ONE_STEP, hermitian, definite)
        scaled = plain._scaled()
        return replace(scaled, steps=scaled._polynomial(degree))

    def _scaled(self) -> SeveralForestsPart:
        """The parts damped by eigenvalues (multiplicative), or weighted by coverage (additive)."""
        if len(self.parts) == 1 or self.n == 0:
            return self
        if self.combine == "additive":
            weights = [max(part.coverage, 1e-3) for part in self.parts]
            factors = [weight / math.fsum(weights) for weight in weights]
        else:
            largest = [self._largest_eigenvalue((part,)) for part in self.parts]
            factors = [min(1.0, LARGEST_EIGENVALUE / each) for each in largest]
        parts = tuple(_times(part, factor) for part, factor in zip(self.parts, factors))
        return replace(self, parts=parts)

    def _polynomial(self, degree: int) -> Steps:
        """Chebyshev steps where everything is definite; else a truncated Neumann series, damped if needed."""
        if degree == 1 or self.n == 0:
            return ONE_STEP
        largest = self._largest_eigenvalue(self.parts)
        if self.definite:
            return chebyshev_steps(largest, LOWEST_SHARE, degree)
        return ((0.0, min(1.0, LARGEST_EIGENVALUE / largest)),) * degree

    def _largest_eigenvalue(self, parts: tuple[TridiagonalPart, ...]) -> float:
        """An estimate for the product of A with a sweep over some of the parts, or with their sum."""
        sweeps = PartIterations(self.csr, parts, self.combine, ONE_STEP, self.hermitian)
        apply = sweeps.iteration(columns=1).apply
        estimate = estimated_eigenvalue(sweeps.matrix, self.stored, apply, self.definite, self._backend)
        return completed(estimate)

    def refreshed(self, csr: CheckedMatrix) -> SeveralForestsPart:
        parts = [part.refreshed(csr) for part in self.parts]
        return self.of(csr, parts, self.combine, len(self.steps))

    @property
    def stored(self) -> DType:
        return self.csr.data.dtype

    @property
    def forest(self) -> Any:
        """The first forest."""
        return self.parts[0].forest

    @property
    def ordering(self) -> Ordering | None:
        return self.parts[0].ordering

    bands = None  # each forest has its own

    @property
    def coverage(self) -> float:
        """The coverage of all forests together: they have no edge in common."""
        return min(1.0, math.fsum(part.coverage for part in self.parts))

    @cached_property
    def _iterations(self) -> PartIterations:
        return PartIterations(self.csr, self.parts, self.combine, self.steps, self.hermitian)

    @cached_property
    def _backend(self) -> Backend:
        return self.csr.backend

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self._iterations.solve_into(b, x, transpose)

    @property
    def nbytes(self) -> int:
        return held_bytes(self.csr, self.parts)

    @property
    def name(self) -> str:
        return self.parts[0].name + (
            f" and {len(self.parts) - 1} further ones" if len(self.parts) > 1 else ""
        )

    @cached_property
    def cost(self) -> tuple[int, int, int]:
        """The tridiagonal solves of one product, its products with A, and the bytes that all kernels move."""
        n, value, index = self.n, self.stored.itemsize, self.csr.indices.dtype.itemsize
        order, degree = visits(len(self.parts), self.combine), len(self.steps)
        of_sweep = len(order) - 1 if self.combine == "multiplicative" else 0
        products = degree * of_sweep + degree - 1
        solves = sum(_bytes_of_solve(self.parts[i], self._backend, index) for i in order)
        vectors = degree * 3 * (len(order) - 1)  # sums of solutions: two are read, one is written
        if degree > 1:
            vectors += 1 + sum(4 if momentum else 3 for momentum, _ in self.steps)
        residuals = products * (self.bytes_of_matrix + n * value)
        return degree * len(order), products, degree * solves + residuals + vectors * n * value

    @property
    def bytes_of_matrix(self) -> int:
        """Bytes that A @ x reads and writes."""
        n, nnz, value, index = self.n, self.csr.nnz, self.stored.itemsize, self.csr.indices.dtype.itemsize
        return nnz * (value + index) + (n + 1) * index + 2 * n * value

    @property
    def repairs(self) -> Repairs:
        """Summed over all forests."""
        found = [part.repairs for part in self.parts]
        return {name: sum(each.get(name, 0) for each in found) for each in found for name in each}

    @property
    def positive_definite(self) -> bool:
        return self.definite

    def details(self) -> list[tuple[str, str]]:
        solves, products, size = self.cost
        shares = " + ".join(f"{part.coverage:.4f}" for part in self.parts)
        repairs = dict.fromkeys(in_words(part.repairs, part.positive_definite) for part in self.parts)
        relative = size / self.bytes_of_matrix
        return [
            ("forests", self._combined()),
            ("coverage", f"{shares} of the off-diagonal weight"),
            ("polynomial", self._described_polynomial()),
            ("one product", f"{solves} tridiagonal solves, {products} products with A"),
            ("its bytes", f"{size:,}, {relative:.1f} times those of A @ x"),
            ("repairs", " / ".join(repairs)),
        ]

    def _combined(self) -> str:
        count = len(self.parts)
        if count == 1:
            return "1"
        order = "-".join(str(i + 1) for i in visits(count, self.combine))
        return f"{count}, swept {order}" if self.combine == "multiplicative" else f"{count}, added"

    def _described_polynomial(self) -> str:
        degree = len(self.steps)
        if degree == 1:
            return "none"
        return f"{'Chebyshev' if self.definite else 'truncated Neumann series'}, {degree} steps"


SCHEMA = schema.of_fields(SeveralForestsPart, n=schema.size("n"))


def _times(part: TridiagonalPart, factor: float) -> TridiagonalPart:
    """The part whose solutions are multiplied by a factor."""
    if factor == 1.0:
        return part
    bands = (part.bands.lower, part.bands.diagonal, part.bands.upper)
    divided = Bands(*(band / part.stored.type(factor) for band in bands))
    total, adjacent, scale = part.weights
    weights = total / factor, adjacent / factor, scale
    return TridiagonalPart.factored(**{**part.state(), "bands": divided, "weights": weights})


def _bytes_of_solve(part: TridiagonalPart, backend: Backend, index: int) -> int:
    """Couplings and pivots, order, and two vectors; a symmetric sweep may read one band of couplings."""
    solver = part.solver
    swept = solver.symmetric and not solver.pivoted
    bands = backend.tridiagonal.sweeps.SYMMETRIC_BANDS if swept else 3
    return part.n * ((bands + 2) * part.stored.itemsize + (0 if part.order is None else index))
