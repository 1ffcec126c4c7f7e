"""`TriangularSolves` solves with (I + L) D (I + U) by level scheduling."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from linforest_precond.backends import OnBackend, backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.precond.parts.number_types import held_bytes
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import ORDERING, csr_arrays, rows_hold_entries
from linforest_precond.precond.storage.schema import FieldsSpec, Stored, nested
from linforest_precond.records.forest import Ordering

# A strictly triangular matrix, and the names of its arrays in files.
Triangle: TypeAlias = tuple[Array, Array, Array]
NAMES = "indptr", "indices", "data"
TRIANGLE = nested(FieldsSpec(csr_arrays(below="n"), rows_hold_entries), "n", "value", "index")
# The fields that all such parts have in files.
FACTORS: dict[str, Any] = {
    "n": schema.size("n"),
    "ordering": nested(ORDERING, "n", "index"),
    "starts": schema.indices("levels + 1"),
    "upper": TRIANGLE,
    "lower": schema.optional(TRIANGLE),
    "inverse": schema.numbers("n"),
    "cholesky": bool,
}


def levels_cover_rows(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    starts, n = fields["starts"], names["n"]
    covering = starts.size and starts[0] == 0 and starts[-1] == n and (np.diff(starts) > 0).all()
    yield "starts", f"ascend from 0 to the number of rows, {n}", bool(covering)


def entries_are_in_other_levels(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Entries of L are in levels before that of their row, those of U in levels after it.

    Otherwise the threads of a triangular solve would deadlock.
    """
    starts, lower, upper = fields["starts"], fields["lower"], fields["upper"]
    sizes = np.diff(starts)
    wanted = "be null where the factors are those of Cholesky, and only there"
    yield "lower", wanted, (lower is None) == fields["cholesky"]
    if lower is not None:
        begins = np.repeat(np.repeat(starts[:-1], sizes), np.diff(lower["indptr"]))
        before = (lower["indices"] < begins).all()
        yield "lower", "have its entries in levels before those of their rows", before
    ends = np.repeat(np.repeat(starts[1:], sizes), np.diff(upper["indptr"]))
    yield "upper", "have its entries in levels after those of their rows", (upper["indices"] >= ends).all()


class TriangularSolves(OnBackend, Stored):
    """Base of such parts. `jacobi_sweeps` Jacobi sweeps replace a substitution; None solves exactly."""

    ordering: Ordering  # of a `Schedule`
    starts: Array
    lower: Triangle  # L, in that order of rows and columns
    upper: Triangle  # U, likewise
    inverse: Array  # of D
    cholesky: bool  # Hermitian, with a positive D: L is the conjugate transpose of U

    forest = bands = None
    coverage = 1.0

    def __post_init__(self) -> None:
        self.solver  # noqa: B018  made now: its stall belongs to the setup

    @property
    def jacobi_sweeps(self) -> int | None:
        return None

    @property
    def stored(self) -> DType:
        return self.inverse.dtype

    @property
    def positive_definite(self) -> bool:
        return self.cholesky

    @property
    def nbytes(self) -> int:
        """The bytes held, without the transposed triangles that the first transposed product makes."""
        return held_bytes(self.ordering, self.starts, self.lower, self.upper, self.inverse)

    @property
    def entries(self) -> int:
        """The entries of L, D and U."""
        return int(self.lower[2].size + self.upper[2].size + self.inverse.size)

    @cached_property
    def solver(self) -> Any:
        return self._solver(self.lower, self.upper)

    @cached_property
    def transposed_solver(self) -> Any:
        """The transpose is (I + U^T) D (I + L^T)."""
        if self.cholesky and self.stored.kind != "c":
            return self.solver
        solver = self._solver(transposed(self.upper), transposed(self.lower))
        # stall: other streams may use it as soon as it is cached
        self.backend.runtime.streams.finish()
        return solver

    def _solver(self, lower: Triangle, upper: Triangle) -> Any:
        return self.backend.ilu.triangular.Substitution(
            lower, self.inverse, upper, self.ordering.order, self.starts, self.jacobi_sweeps
        )

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        (self.transposed_solver if transpose else self.solver).solve(b, x)

    def state(self) -> dict[str, Any]:
        """The fields; L is left out where U determines it."""
        lower = None if self.cholesky else dict(zip(NAMES, self.lower))
        return {**super().state(), "lower": lower, "upper": dict(zip(NAMES, self.upper))}


def with_triangles(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file, with L and U as `TriangularSolves` has them."""
    before, after = fields["lower"], _unpacked(fields["upper"])
    return {**fields, "lower": adjoint(after) if before is None else _unpacked(before), "upper": after}


def _unpacked(arrays: dict[str, Array]) -> Triangle:
    return arrays["indptr"], arrays["indices"], arrays["data"]


def transposed(triangle: Triangle) -> Triangle:
    return backend_of(triangle[0]).matrix.entries.transposed(*triangle)


def adjoint(triangle: Triangle) -> Triangle:
    indptr, indices, data = transposed(triangle)
    return indptr, indices, data.conj() if data.dtype.kind == "c" else data
