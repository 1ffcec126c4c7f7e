"""Grid transfer between a level over ranks and the next one, over ranks or on every rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.cpu.multigrid import vector_ops as local
from linforest_precond.distributed.matching.aggregates import RankAggregates
from linforest_precond.distributed.multigrid.rectangles import RankRectangle
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.owners import owners_of, send_to
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.level_vectors import LevelVectors


class AggregateTransfer:
    """The tentative prolongator of aggregates: the restriction sums over own aggregates.

    Attributes
    ----------
    aggregates
        Of the own unknowns.
    indptr, members
        Where the members of each own aggregate begin, and the members: own unknowns, then distant ones.
    distant
        Exchanges values of the members that other ranks own.
    """

    values: tuple[Array, ...] = ()  # of a tentative prolongator all are 1
    exponent = None

    def __init__(self, comm: Communicator, offsets: Array, aggregates: RankAggregates) -> None:
        """Rank r owns the unknowns ``offsets[r]:offsets[r + 1]``; all ranks call it together."""
        self.comm, self.aggregates = comm, aggregates
        first, last = offsets[comm.rank : comm.rank + 2]
        begin, end = aggregates.offsets[comm.rank : comm.rank + 2]
        owners = owners_of(aggregates.offsets, aggregates.numbers)
        numbers, members = send_to(comm, owners, aggregates.numbers, np.arange(first, last))
        members = members[np.argsort(numbers, kind="stable")]  # those of an aggregate arrive ascending
        self.distant, places = Halo.numbering(comm, offsets, members)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(numbers - begin, minlength=end - begin))])
        self.indptr, self.members = indptr.astype(places.dtype), places

    @property
    def held(self) -> list[Any]:
        """What has arrays that last."""
        return [self.aggregates.numbers, self.indptr, self.members]

    def with_values(self, values: list[Array]) -> AggregateTransfer:
        return self

    def conjugated(self) -> AggregateTransfer:
        """Of ones: the prolongator and the restriction are each other's transposes."""
        return self

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        vectors.transfers.restrict(self.indptr, self.members, self.distant.with_ghosts(r), coarse)


class RankTransfer(AggregateTransfer):
    """To a level over ranks: aggregates of other ranks are fetched."""

    def __init__(self, comm: Communicator, offsets: Array, aggregates: RankAggregates) -> None:
        super().__init__(comm, offsets, aggregates)
        self.lower, self.places = Halo.numbering(comm, aggregates.offsets, aggregates.numbers)

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        vectors.transfers.prolong_add(self.places, self.lower.with_ghosts(coarse), x)


class GatheringTransfer(AggregateTransfer):
    """To a level that every rank has."""

    def __init__(self, comm: Communicator, offsets: Array, aggregates: RankAggregates) -> None:
        super().__init__(comm, offsets, aggregates)
        self.numbers = aggregates.numbers.astype(index_dtype(aggregates.count))

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        own = np.empty((self.indptr.size - 1, coarse.shape[1]), coarse.dtype)
        super().restrict(vectors, r, own)
        coarse[...] = self.comm.allgather_known(own, np.diff(self.aggregates.offsets))

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        vectors.transfers.prolong_add(self.numbers, coarse, x)


@dataclass(frozen=True, eq=False)
class RankInterpolation(Interpolation):
    """A prolongator with weights, and its adjoint, to a level over ranks.

    Attributes
    ----------
    lower, upper
        Exchange values of coarse and of fine unknowns, in the order of the columns of both matrices.
    offsets
        Rank r owns the coarse unknowns ``offsets[r]:offsets[r + 1]``.
    """

    lower: Halo = field(kw_only=True)
    upper: Halo = field(kw_only=True)
    offsets: Array = field(kw_only=True)

    @classmethod
    def between(cls, P: RankRectangle, R: RankRectangle, offsets: Array) -> RankInterpolation:
        return cls(P.csr, R.csr, lower=P.halo, upper=R.halo, offsets=offsets)

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        local.multiply(self._matrices[0], self.upper.ascending(r), coarse)

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        local.multiply_add(self._matrices[1], self.lower.ascending(coarse), x)


@dataclass(frozen=True, eq=False)
class GatheringInterpolation(RankInterpolation):
    """The same to a level that every rank has: the prolongator's columns are all of its unknowns."""

    @classmethod
    def between(cls, P: RankRectangle, R: RankRectangle, offsets: Array) -> RankInterpolation:
        indices = P.ids.astype(P.csr.indices.dtype)[P.csr.indices]
        prolongator = RectangularCSR(P.csr.indptr, indices, P.csr.data, int(offsets[-1]))
        return cls(prolongator, R.csr, lower=P.halo, upper=R.halo, offsets=offsets)

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        own = np.empty((self.restrictor.n, coarse.shape[1]), coarse.dtype)
        super().restrict(vectors, r, own)
        coarse[...] = self.upper.comm.allgather_known(own, np.diff(self.offsets))

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        local.multiply_add(self._matrices[1], coarse, x)
