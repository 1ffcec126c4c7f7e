"""Grid transfer from a partitioned level to the next one, which is partitioned or replicated."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.matching.aggregates import RankAggregates
from linforest_precond.distributed.multigrid.rectangles import RankRectangle
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.owners import send_to_owners
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.level_vectors import LevelVectors


def own_part(coarse: Array, rows: int) -> Array:
    """An empty array for this rank's rows of a replicated vector."""
    part: Array = xp_of(coarse).empty((rows, coarse.shape[1]), coarse.dtype)
    return part


class AggregateTransfer:
    """The tentative prolongator of aggregates: the restriction sums over own aggregates."""

    values: tuple[Array, ...] = ()  # of a tentative prolongator all are 1
    exponent = None

    def __init__(self, comm: Communicator, offsets: Array, aggregates: RankAggregates, to_all: bool) -> None:
        """Rank r owns the unknowns ``offsets[r]:offsets[r + 1]``; all ranks call it together."""
        self.comm, self.aggregates = comm, aggregates
        first, last = offsets[comm.rank : comm.rank + 2]
        begin, end = aggregates.offsets[comm.rank : comm.rank + 2]
        numbers, members = send_to_owners(
            comm, aggregates.offsets, aggregates.numbers, np.arange(first, last)
        )
        members = members[np.argsort(numbers, kind="stable")]  # members arrive in ascending order
        # The members of own aggregates are own unknowns, and distant ones, which a halo fetches.
        self.distant, places = Halo.numbering(comm, offsets, members)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(numbers - begin, minlength=end - begin))])
        self.indptr, self.members = indptr.astype(places.dtype), places
        # To a partitioned level, a halo fetches values of other ranks' aggregates.
        self.coarse: Halo | None = None
        self.numbers = aggregates.numbers.astype(index_dtype(aggregates.count))
        if not to_all:
            self.coarse, self.numbers = Halo.numbering(comm, aggregates.offsets, aggregates.numbers)

    def on(self, backend: Backend) -> AggregateTransfer:
        """The transfer for vectors on a backend."""
        found, xp = copy.copy(self), backend.xp
        found.indptr, found.members = xp.asarray(self.indptr), xp.asarray(self.members)
        found.numbers = xp.asarray(self.numbers)
        return found

    @property
    def held(self) -> list[Any]:
        """Objects whose arrays are held for products."""
        return [self.aggregates.numbers, self.indptr, self.members]

    def with_values(self, values: list[Array]) -> AggregateTransfer:
        return self

    def conjugated(self) -> AggregateTransfer:
        """Of ones: the prolongator and the restriction are each other's transposes."""
        return self

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        to_all, values = self.coarse is None, self.distant.with_ghosts(r)
        own = own_part(coarse, self.indptr.size - 1) if to_all else coarse
        vectors.transfers.restrict(self.indptr, self.members, values, own)
        if to_all:
            coarse[...] = self.comm.allgather_known(own, np.diff(self.aggregates.offsets))

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        values = coarse if self.coarse is None else self.coarse.with_ghosts(coarse)
        vectors.transfers.prolong_add(self.numbers, values, x)


@dataclass(frozen=True, eq=False)
class RankInterpolation(Interpolation):
    """A prolongator with weights, and its adjoint.

    The prolongator to a replicated level (`to_all`) has a column for each unknown of that level.
    """

    lower: Halo = field(kw_only=True)  # of the prolongator's columns, coarse unknowns
    upper: Halo = field(kw_only=True)  # of the restriction's columns, fine unknowns
    offsets: Array = field(kw_only=True)  # rank r owns the coarse unknowns offsets[r]:offsets[r + 1]
    to_all: bool = field(kw_only=True)

    @classmethod
    def between(cls, P: RankRectangle, R: RankRectangle, offsets: Array, to_all: bool) -> RankInterpolation:
        prolongator = P.csr
        if to_all:
            indices = P.ids.astype(P.csr.indices.dtype)[P.csr.indices]
            prolongator = RectangularCSR(P.csr.indptr, indices, P.csr.data, int(offsets[-1]))
        return cls(prolongator, R.csr, lower=P.halo, upper=R.halo, offsets=offsets, to_all=to_all)

    def on(self, backend: Backend) -> RankInterpolation:
        """The transfer for vectors on a backend."""

        def moved(matrix: RectangularCSR) -> RectangularCSR:
            arrays = matrix.indexed_by(matrix.indices.dtype).arrays
            indptr, indices, data = (backend.xp.asarray(array) for array in arrays)
            return RectangularCSR(indptr, indices, data, matrix.width)

        return replace(self, prolongator=moved(self.prolongator), restrictor=moved(self.restrictor))

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        own = own_part(coarse, self.restrictor.n) if self.to_all else coarse
        self._local.multiply(self._matrices[0], self.upper.ascending(r), own)
        if self.to_all:
            coarse[...] = self.upper.comm.allgather_known(own, np.diff(self.offsets))

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        values = coarse if self.to_all else self.lower.ascending(coarse)
        self._local.multiply_add(self._matrices[1], values, x)

    @property
    def _local(self) -> Any:
        """The vector operations of one rank."""
        return self.prolongator.backend.multigrid.vector_ops
