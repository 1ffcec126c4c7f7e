"""The order of a forest over ranks, and the redistribution of vectors to it.

The order is partitioned evenly, independently of the partition of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank
from linforest_precond.distributed.partition.owners import owners_of
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.records.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False)
class Redistribution:
    """The exchange that moves vectors from the partition of the rows to that of the order.

    A collective object: all ranks call `forward` and `backward` in the same order.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    n_rows, n_places : int
        Own rows of the matrix, and own places of the order.
    sent : dict
        For each rank with places of own rows: these rows, numbered from 0 on this rank.
    received : dict
        For each rank with rows at own places: these places, numbered from 0 on this rank.
    """

    comm: Communicator
    n_rows: int
    n_places: int
    sent: dict[int, Array]
    received: dict[int, Array]

    def forward(self, values: Array) -> Array:
        """Values at the own places, from an array with one row (of any shape) for each own row.

        Places without a vertex get 0. Arrays of CuPy are staged through the host.
        """
        return self._moved(values, self.sent, self.received, self.n_places)

    def backward(self, values: Array) -> Array:
        """The reverse: values of the own rows, from an array with one row for each own place."""
        return self._moved(values, self.received, self.sent, self.n_rows)

    @property
    def rows_sent(self) -> int:
        """Rows that this rank sends to other ranks, there and back."""
        ways = self.sent, self.received
        return sum(rows.size for way in ways for r, rows in way.items() if r != self.comm.rank)

    def _moved(self, values: Array, taken: dict[int, Array], put: dict[int, Array], count: int) -> Array:
        xp, like, own = xp_of(values), np.empty((0, *values.shape[1:]), values.dtype), self.comm.rank
        # stall: MPI sends from the host
        parts = {r: on_host(values[xp.asarray(places)]) for r, places in taken.items() if r != own}
        lengths = {r: places.size for r, places in put.items() if r != own}
        found = self.comm.exchange_known(parts, lengths, like)
        make = xp.empty if sum(places.size for places in put.values()) == count else xp.zeros
        out: Array = make((count, *values.shape[1:]), values.dtype)
        for r, places in put.items():
            kept = values[xp.asarray(taken[r])] if r == own else xp.asarray(found[r])
            out[xp.asarray(places)] = kept
        return out


@dataclass(frozen=True, eq=False)
class ForestOrder(ReadOnlyArrays):
    """The order of a forest over ranks: each owns an equal range of places, independently of its rows.

    Places are numbered over all ranks, block after block along the paths. A block of a forest of blocks has
    `block_size` places, all on one rank; a place without a vertex is a ghost, which pads a block.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    offsets : (size + 1,) array of int64
        Rank r owns the rows ``offsets[r]:offsets[r + 1]`` of the matrix.
    cuts : (size + 1,) array of int64
        Rank r owns the places ``cuts[r]:cuts[r + 1]``, multiples of `block_size`.
    positions : (own rows,) array of int64
        The place of each own row.
    paths : (own rows,) array of int64
        The path of each own row; paths are numbered in their order, from 0.
    vertices : (own places,) array of int64
        The row at each own place, -1 for a ghost: this rank's part of ``order[new] = old``.
    starts_path : (own blocks,) array of bool
        Whether a block is the first of its path. It is then not coupled to the block before it.
    redistribution : Redistribution
        Moves vectors from the partition of the rows to that of the places, and back.
    block_size : int
        1, 2 or 4.
    """

    comm: Communicator
    offsets: Array
    cuts: Array
    positions: Array
    paths: Array
    vertices: Array
    starts_path: Array
    redistribution: Redistribution
    block_size: int = 1

    @property
    def n_blocks(self) -> int:
        """Blocks of all ranks."""
        return int(self.cuts[-1]) // self.block_size


def forest_order(
    comm: Communicator, offsets: Array, positions: Array, paths: Array, n_blocks: int, block_size: int = 1
) -> ForestOrder:
    """The order with own rows at these places of these paths, a collective call."""
    cuts = equal_shares(n_blocks, comm.size) * block_size
    plan = redistribution(comm, cuts, positions)
    rows = offsets[comm.rank] + np.arange(positions.size)
    # Places without a vertex receive 0, hence the shift by 1; the first place of a block always has one.
    vertices = plan.forward(rows + 1) - 1
    blocks = plan.forward(paths)[::block_size]
    return ForestOrder(
        comm, offsets, cuts, positions, paths, vertices, _changes(comm, blocks), plan, block_size
    )


def redistribution(comm: Communicator, cuts: Array, positions: Array) -> Redistribution:
    """The exchange of vectors between rows and their places in the order."""
    sent, places = parts_by_rank(owners_of(cuts, positions), [np.arange(positions.size), positions])
    first = cuts[comm.rank]
    received = {r: part - first for r, part in comm.exchange(places, positions).items()}
    return Redistribution(comm, positions.size, int(cuts[comm.rank + 1] - first), sent, received)


def _changes(comm: Communicator, paths: Array) -> Array:
    """Where a path differs from the one before it, which may be the last one of a lower rank."""
    lasts = comm.allgather(int(paths[-1]) if paths.size else None)
    before = next((last for last in reversed(lasts[: comm.rank]) if last is not None), -1)
    return np.diff(paths, prepend=before) != 0
