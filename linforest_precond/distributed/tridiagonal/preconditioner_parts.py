"""Parts of preconditioners over ranks: tridiagonal, Jacobi, and block Jacobi with a block per rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.distributed.forest.bands import copy_bands
from linforest_precond.distributed.forest.ordering import ForestOrder
from linforest_precond.distributed.forest.records import RankBlockForest, RankForest
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.entries import weights_of
from linforest_precond.distributed.partition.matrix import Matrix, csr_of_rows, exponent_into_range
from linforest_precond.distributed.tridiagonal.solver import RankTridiagonalSolver
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.value_range import shifted
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.relaxation.jacobi import JacobiPart
from linforest_precond.precond.tridiagonal.tridiagonal_part import FactoredBands
from linforest_precond.records.forest import Bands, magnitudes_of, share_of


@dataclass(frozen=True)
class Traffic:
    """Bytes of all ranks: held, and sent to other ranks for one product with one vector."""

    held: int
    messages: int
    coupling: int  # for the reduced system
    ranks: int

    @classmethod
    def of(cls, comm: Communicator, held: int, messages: int = 0, coupling: int = 0) -> Traffic:
        """The sums of the bytes of each rank: collective."""
        held, messages, coupling = comm.totals(held, messages, coupling)
        return cls(held, messages, coupling, comm.size)

    def details(self) -> list[tuple[str, str]]:
        """Lines for print."""
        sent = f"{self.messages:,} bytes exchanged, and {self.coupling:,} at the cuts"
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        return [
            ("bytes held", f"{self.held:,} on {ranks}"),
            ("each product", sent if self.messages or self.coupling else "no exchange"),
        ]


@dataclass(frozen=True, eq=False)
class RankTridiagonalPart(FactoredBands):
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
        found = copy_bands(A, forest)
        # stall: pivots are computed on the host
        given = map(on_host, (found.lower, found.diagonal, found.upper))
        bands = Bands(*(stored_array(shifted(band, -exponent), stored) for band in given))
        solver = _solver(A, forest.order, bands, repair, exponent)
        shares = _coverages(A, bands, exponent)
        held = held_bytes(bands, forest) + solver.nbytes
        move, number = forest.order.redistribution, stored.itemsize
        traffic = Traffic.of(A.comm, held, number * move.rows_sent, number * solver.numbers_sent)
        return cls(kind, forest, bands, repair, solver, *shares, traffic), exponent

    def refreshed(self, A: Matrix) -> tuple[RankTridiagonalPart, int]:
        """The same part with the values of a matrix of the same pattern, and the exponent of that."""
        return self.of(A, self.kind, self.forest, self.stored, self.repair)

    @property
    def n(self) -> int:
        return int(self.forest.order.redistribution.n_rows)

    @property
    def nbytes(self) -> int:
        return held_bytes(self.bands, self.forest) + self.solver.nbytes

    def on(self, backend: Backend) -> RankTridiagonalPart:
        """The part for vectors on a backend; the forest stays where it is: collective."""
        if backend is self.bands.backend:
            return self
        found = self.bands.lower, self.bands.diagonal, self.bands.upper
        bands = Bands(*(backend.xp.asarray(band) for band in found))
        solver = self.solver.on(backend)
        coupling = self.forest.order.comm.total(self.stored.itemsize * solver.numbers_sent)
        traffic = replace(self.traffic, coupling=coupling)
        return replace(self, bands=bands, solver=solver, traffic=traffic)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        """To the order's partition, solve there, and back."""
        if self.solver.takes_order:
            self.solver.solve_into(b, x, self._vertices, transpose)
            return
        move = self.forest.order.redistribution
        right = move.forward(b)
        solution = xp_of(right).empty_like(right)
        self.solver.solve_into(right, solution, None, transpose)
        x[...] = move.backward(solution)

    @cached_property
    def _vertices(self) -> Array:
        """The order, with indices of the type that it has without ranks."""
        vertices = self.forest.order.vertices.astype(index_dtype(self.n))
        return xp_of(self.bands.diagonal).asarray(vertices)

    @property
    def name(self) -> str:
        return self._name_along_forest

    def details(self) -> list[tuple[str, str]]:
        solver, forest = self.solver, self.forest
        cuts = "cuts", f"{solver.cuts}: {solver.coupling}" if solver.cuts else "none crossed by a path"
        return [*self._details(forest.n_paths, forest.longest_path, cuts), *self.traffic.details()]


@dataclass(frozen=True, eq=False)
class RankJacobiPart(JacobiPart):
    """The inverses of this rank's diagonal entries; all other findings are those of all ranks."""

    traffic: Traffic

    @classmethod
    def of_ranks(cls, A: Matrix, stored: DType) -> tuple[RankJacobiPart, int]:
        """The part of A 2**-exponent, and the exponent: collective."""
        exponent = exponent_into_range(A, stored)
        diagonal = shifted(A.diagonal(), -exponent).reshape(-1, 1, 1)
        inverse, report = A.backend.matrix.diagonal_blocks.invert(stored_array(diagonal, stored))
        lifted, wrong = A.comm.totals(*report)
        if lifted and A.comm.rank == 0:
            warn_user(f"{lifted} diagonal entries of A were tiny and have been perturbed")
        weights = weights_of(A)
        used, adjacent = (share_of(each, weights.total_weight) for each in (0.0, weights.adjacent_weight))
        traffic = Traffic.of(A.comm, inverse.nbytes)
        return cls("jacobi", A.n_local, inverse, lifted, wrong == 0, used, adjacent, traffic), exponent

    def refreshed(self, A: Any) -> Any:
        return self.of_ranks(A, self.stored)

    def on(self, backend: Backend) -> RankJacobiPart:
        """The part for vectors on a backend."""
        return replace(self, inverse=backend.xp.asarray(self.inverse))

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        xp_of(x).multiply(self.inverse.reshape(-1, 1), b, out=x)

    def details(self) -> list[tuple[str, str]]:
        return [*super().details(), *self.traffic.details()]


@dataclass(frozen=True, eq=False)
class LocalPart:
    """A preconditioner of each rank's own diagonal block: block Jacobi, with one block for each rank."""

    operator: Preconditioner
    positive_definite: bool  # on all ranks
    traffic: Traffic
    backend: Backend  # of the blocks

    @classmethod
    def of(cls, A: Matrix, make: Any, backend: Backend) -> tuple[LocalPart, int]:
        """`make` gives the preconditioner of a matrix on one device, that of `backend`."""
        operator = make(own_block(A.on(backend)))
        traffic = Traffic.of(A.comm, operator.nbytes)
        return cls(operator, A.comm.all(operator.positive_definite), traffic, backend), 0

    def refreshed(self, A: Matrix) -> tuple[LocalPart, int]:
        operator = self.operator.frozen()
        operator.update(own_block(A.on(self.backend)))
        return replace(self, operator=operator, positive_definite=A.comm.all(operator.positive_definite)), 0

    def on(self, backend: Backend) -> LocalPart:
        """The part, which is made where the rows of A are."""
        return self

    def __getattr__(self, name: str) -> Any:
        """Kind, forest, bands, coverage, repairs, stored and nbytes are those of the block's part."""
        return getattr(self.operator._part, name)

    @property
    def name(self) -> str:
        return f"{self.operator._part.name}, for each rank's own block"

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        if b.shape[0]:
            self.operator.apply_into(b, x, transpose)

    def details(self) -> list[tuple[str, str]]:
        own = [(f"{name} here", value) for name, value in self.operator._part.details()]
        return [*own, *self.traffic.details()]


def own_block(A: Matrix) -> Any:
    """The diagonal block of a rank: its rows and columns."""
    return A.rows[:, : A.n_local]


def _solver(A: Matrix, order: ForestOrder, bands: Bands, repair: str, exponent: int) -> RankTridiagonalSolver:
    if repair == "none":
        return RankTridiagonalSolver(bands, A.comm, make_definite=False, perturb=False)

    def magnitudes() -> Array:
        sizes = bands.backend.multigrid.strength.row_sums(csr_of_rows(A))[0]
        return order.redistribution.forward(shifted(sizes, -exponent))

    return RankTridiagonalSolver(bands, A.comm, magnitudes=magnitudes)


def _coverages(A: Matrix, bands: Bands, exponent: int) -> tuple[float, float]:
    """Shares of A's off-diagonal weight: in the bands, and next to the diagonal in A's own order."""
    _, total, adjacent, scale = weights_of(A)
    kept = [bands.lower, bands.upper]
    if bands.diagonal.ndim == 3:
        kept.append(bands.diagonal * (1 - np.eye(bands.diagonal.shape[1], dtype=bands.diagonal.dtype)))
    unscaled = (magnitudes_of(band.ravel()).astype(np.float64) for band in kept)
    weight = sum(tree_sum(A.comm, np.ldexp(values, exponent), scale) for values in unscaled)
    return share_of(float(weight), total), share_of(adjacent, total)
