"""What implements a preconditioner over ranks inside its operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.distributed.bands import block_bands
from linforest_precond.distributed.communicator import Communicator
from linforest_precond.distributed.graph import directed_graph_of
from linforest_precond.distributed.matrix import Matrix
from linforest_precond.distributed.records import ForestOrder, RankBlockForest, RankForest
from linforest_precond.distributed.tree_sums import tree_sum
from linforest_precond.distributed.tridiagonal_solve import RankTridiagonalSolver
from linforest_precond.matrix.value_range import NO_EXPONENT, exponent_of, least_exponent_of, shifted
from linforest_precond.precond.jacobi import JacobiPart
from linforest_precond.precond.number_types import held_bytes, stored_array
from linforest_precond.precond.operators import Preconditioner
from linforest_precond.precond.repairs import Repairs, in_words
from linforest_precond.precond.scaled_matrix import exponent_down, safe_limit
from linforest_precond.precond.tridiagonal.tridiagonal_part import repairs_of
from linforest_precond.records.forest import Bands, magnitudes_of


@dataclass(frozen=True)
class Traffic:
    """Bytes of all ranks: held, and sent to other ranks for one product with one vector."""

    held: int
    messages: int
    coupling: int  # for the reduced system
    ranks: int

    def described(self) -> list[tuple[str, str]]:
        """Lines for print."""
        sent = f"{self.messages:,} bytes exchanged, and {self.coupling:,} at the cuts"
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        return [
            ("bytes held", f"{self.held:,} on {ranks}"),
            ("each product", sent if self.messages or self.coupling else "no exchange"),
        ]


@dataclass(frozen=True, eq=False)
class RankTridiagonalPart:
    """This rank's rows of the factored bands, and the order they are in."""

    kind: str
    forest: RankForest | RankBlockForest
    bands: Bands
    repair: str
    solver: RankTridiagonalSolver
    coverage: float
    identity_coverage: float
    traffic: Traffic

    ordering = None

    @classmethod
    def of(
        cls, A: Matrix, kind: str, forest: RankForest | RankBlockForest, stored: DType, repair: str
    ) -> tuple[RankTridiagonalPart, int]:
        """The part of A 2**-exponent, and the exponent: collective."""
        exponent = exponent_into_range(A, stored)
        bands = _stored_bands(A, forest, stored, exponent)
        solver = _solver(A, forest.order, bands, repair, exponent)
        shares = _coverages(A, bands, exponent)
        part = cls(kind, forest, bands, repair, solver, *shares, Traffic(0, 0, 0, 0))
        return replace(part, traffic=_traffic(part, A.comm)), exponent

    def refreshed(self, A: Matrix) -> tuple[RankTridiagonalPart, int]:
        """The same part with the values of a matrix of the same pattern, and the exponent of that."""
        return self.of(A, self.kind, self.forest, self.stored, self.repair)

    @property
    def n(self) -> int:
        return int(self.forest.order.redistribution.n_rows)

    @property
    def stored(self) -> DType:
        return self.bands.diagonal.dtype

    @property
    def nbytes(self) -> int:
        return held_bytes(self.bands, self.forest) + self.solver.nbytes

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        """To the order's partition, solve there, and back; arrays of CuPy are staged through the host."""
        move, xp = self.forest.order.redistribution, backend_of(x).xp
        right = move.forward(on_host(b))
        solution = np.empty_like(right)
        self.solver.solve_into(right, solution, None, transpose)
        x[...] = xp.asarray(move.backward(solution))

    @property
    def name(self) -> str:
        size = self.forest.order.block_size
        if self.kind == "block_tridiagonal":
            return f"AlgTriBlockPrecond: the {size} x {size} block tridiagonal part along a linear forest"
        return "AlgTriScalPrecond: the tridiagonal part along a linear forest"

    @property
    def repairs(self) -> Repairs:
        return repairs_of(self.solver)

    @property
    def positive_definite(self) -> bool:
        return self.solver.positive_definite

    def described(self) -> list[tuple[str, str]]:
        solver, unit = self.solver, "blocks" if self.kind == "block_tridiagonal" else "vertices"
        covered = f"{self.coverage:.4f} of the off-diagonal weight (c_id {self.identity_coverage:.4f})"
        method = "with pivoting" if solver.pivoted else "without pivoting"
        return [
            ("paths", f"{self.forest.n_paths:,}"),
            ("longest path", f"{self.forest.longest_path:,} {unit}"),
            ("coverage", covered),
            ("solved", method),
            ("cuts", f"{solver.cuts}: {solver.coupling}" if solver.cuts else "none crossed by a path"),
            ("repairs", in_words(self.repairs, self.positive_definite)),
            *self.traffic.described(),
        ]


@dataclass(frozen=True, eq=False)
class RankJacobiPart:
    """The inverses of this rank's diagonal entries."""

    own: JacobiPart
    lifted: int  # by all ranks
    positive_definite: bool
    traffic: Traffic

    kind, name = "jacobi", "Jacobi: the diagonal"
    forest = ordering = bands = None

    @classmethod
    def of(cls, A: Matrix, stored: DType) -> tuple[RankJacobiPart, int]:
        """The part of A 2**-exponent, and the exponent: collective."""
        exponent = exponent_into_range(A, stored)
        diagonal = shifted(on_host(A.diagonal()), -exponent).reshape(-1, 1, 1)
        inverse, report = backend_of(diagonal).matrix.diagonal_blocks.invert(stored_array(diagonal, stored))
        lifted, wrong = (int(count) for count in A.comm.allreduce(np.asarray(report, np.int64)))
        if lifted and A.comm.rank == 0:
            warn_user(f"{lifted} diagonal entries of A were tiny and have been perturbed")
        total, adjacent, _ = weights_of(A)
        shares = (1.0, 1.0) if total == 0.0 else (0.0, min(1.0, adjacent / total))
        own = JacobiPart("jacobi", A.n_local, inverse, lifted, wrong == 0, *shares)
        held = int(A.comm.allreduce(np.array(inverse.nbytes)))
        return cls(own, lifted, wrong == 0, Traffic(held, 0, 0, A.comm.size)), exponent

    def refreshed(self, A: Matrix) -> tuple[RankJacobiPart, int]:
        return self.of(A, self.stored)

    @property
    def n(self) -> int:
        return self.own.n

    @property
    def stored(self) -> DType:
        return self.own.stored

    @property
    def coverage(self) -> float:
        return self.own.coverage

    @property
    def repairs(self) -> Repairs:
        return self.own.repairs

    @property
    def nbytes(self) -> int:
        return self.own.nbytes

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        xp = backend_of(x).xp
        np_or_cupy = self.own.inverse if xp is np else xp.asarray(self.own.inverse)
        x[...] = np_or_cupy.reshape(-1, 1) * b

    def described(self) -> list[tuple[str, str]]:
        return [*self.own.described(), *self.traffic.described()]


@dataclass(frozen=True, eq=False)
class LocalPart:
    """A preconditioner of each rank's own diagonal block: block Jacobi, with one block for each rank."""

    operator: Preconditioner
    positive_definite: bool  # on all ranks
    traffic: Traffic

    @classmethod
    def of(cls, A: Matrix, make: Any) -> LocalPart:
        """`make` gives the preconditioner of a matrix on one device."""
        operator = make(own_block(A))
        held = int(A.comm.allreduce(np.array(operator.nbytes)))
        return cls(operator, _all_definite(A, operator), Traffic(held, 0, 0, A.comm.size))

    def refreshed(self, A: Matrix) -> tuple[LocalPart, int]:
        operator = self.operator.frozen()
        operator.update(own_block(A))
        return LocalPart(operator, _all_definite(A, operator), self.traffic), 0

    def __getattr__(self, name: str) -> Any:
        """Kind, forest, bands, coverage, repairs, stored and nbytes are those of the block's part."""
        return getattr(self.operator._part, name)

    @property
    def name(self) -> str:
        return f"{self.operator._part.name}, for each rank's own block"

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        if b.shape[0]:
            self.operator.apply_into(b, x, transpose)

    def described(self) -> list[tuple[str, str]]:
        own = [(f"{name} here", value) for name, value in self.operator._part.described()]
        return [*own, *self.traffic.described()]


def _all_definite(A: Matrix, operator: Preconditioner) -> bool:
    """Whether the operators of all ranks are positive definite: collective."""
    return bool(A.comm.allreduce(np.array(int(operator.positive_definite)), "min"))


def own_block(A: Matrix) -> Any:
    """The diagonal block of a rank: its rows and columns."""
    return A.rows[:, : A.n_local]


def exponent_into_range(A: Matrix, stored: DType) -> int:
    """The power of two that A is scaled down by, as `precond.scaled_matrix` has it: collective."""
    data, limit = on_host(A.rows.data), safe_limit(stored)
    largest = int(A.comm.allreduce(np.array(exponent_of(data) if data.size else NO_EXPONENT), "max"))
    if -limit <= largest <= limit or largest == NO_EXPONENT:
        return 0
    own = least_exponent_of(data) if data.size else NO_EXPONENT
    least = int(A.comm.allreduce(np.array(-NO_EXPONENT if own == NO_EXPONENT else own), "min"))
    return exponent_down(largest, least, stored) if largest > limit else largest


def weights_of(A: Matrix) -> tuple[float, float, float]:
    """Of all ranks: the off-diagonal weight, that next to the diagonal, and the scale of both."""
    graph = directed_graph_of(A)
    return graph.total_weight, graph.adjacent_weight, graph.scale


def _stored_bands(A: Matrix, forest: RankForest | RankBlockForest, stored: DType, exponent: int) -> Bands:
    bands = block_bands(A, forest.order)
    scaled = [shifted(band, -exponent) if exponent else band for band in bands]
    if isinstance(forest, RankForest):
        scaled = [band.reshape(-1) for band in scaled]
    return Bands(*(stored_array(band, stored) for band in scaled))


def _solver(A: Matrix, order: ForestOrder, bands: Bands, repair: str, exponent: int) -> RankTridiagonalSolver:
    if repair == "none":
        return RankTridiagonalSolver(bands, A.comm, make_definite=False, perturb=False)

    def magnitudes() -> Array:
        sizes = backend_of(bands.diagonal).multigrid.strength.row_sums(_HostRows.of(A))[0]
        return order.redistribution.forward(shifted(sizes, -exponent))

    return RankTridiagonalSolver(bands, A.comm, magnitudes=magnitudes)


@dataclass(frozen=True, eq=False)
class _HostRows:
    """CSR arrays of a rank's rows on the host."""

    indptr: Array
    indices: Array
    data: Array

    @classmethod
    def of(cls, A: Matrix) -> Any:
        return cls(*(on_host(array) for array in (A.rows.indptr, A.rows.indices, A.rows.data)))

    @property
    def n(self) -> int:
        return self.indptr.size - 1


def _coverages(A: Matrix, bands: Bands, exponent: int) -> tuple[float, float]:
    """Shares of A's off-diagonal weight: in the bands, and next to the diagonal in A's own order."""
    total, adjacent, scale = weights_of(A)
    if total == 0.0:
        return 1.0, 1.0
    kept = [bands.lower, bands.upper]
    if bands.diagonal.ndim == 3:
        kept.append(bands.diagonal * (1 - np.eye(bands.diagonal.shape[1], dtype=bands.diagonal.dtype)))
    unscaled = (magnitudes_of(band.ravel()).astype(np.float64) for band in kept)
    weight = sum(tree_sum(A.comm, np.ldexp(values, exponent), scale) for values in unscaled)
    return min(1.0, float(weight) / total), min(1.0, adjacent / total)


def _traffic(part: RankTridiagonalPart, comm: Communicator) -> Traffic:
    move, number = part.forest.order.redistribution, part.stored.itemsize
    sent = [rows.size for way in (move.sent, move.received) for r, rows in way.items() if r != comm.rank]
    counts = np.array([part.nbytes, number * sum(sent), number * part.solver.numbers_sent])
    held, messages, coupling = (int(count) for count in comm.allreduce(counts))
    return Traffic(held, messages, coupling, comm.size)
