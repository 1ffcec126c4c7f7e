"""The order of a forest over ranks, partitioned evenly, independently of the partition of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.redistribution import Redistribution, redistribution
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.records.read_only import ReadOnlyArrays


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
    rows = int(offsets[comm.rank]) + xp_of(positions).arange(positions.size)
    # Places without a vertex receive 0, hence the shift by 1; the first place of a block always has one.
    vertices = plan.forward(rows + 1) - 1
    blocks = plan.forward(paths)[::block_size]
    return ForestOrder(
        comm, offsets, cuts, positions, paths, vertices, _changes(comm, blocks), plan, block_size
    )


def _changes(comm: Communicator, paths: Array) -> Array:
    """Where a path differs from the one before it, which may be the last one of a lower rank."""
    lasts = comm.allgather(int(paths[-1]) if paths.size else None)  # stall: ranks compare them
    before = next((last for last in reversed(lasts[: comm.rank]) if last is not None), -1)
    found: Array = xp_of(paths).diff(paths, prepend=before) != 0
    return found
