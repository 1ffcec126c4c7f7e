"""The order of a forest over ranks: new places are cut evenly, whatever rows a rank owns."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.forest.records import ForestOrder, Redistribution
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank
from linforest_precond.distributed.partition.owners import owners_of
from linforest_precond.distributed.partition.scatter import equal_shares


def forest_order(
    comm: Communicator, offsets: Array, positions: Array, paths: Array, n_blocks: int, block_size: int = 1
) -> ForestOrder:
    """The order with own rows at these places of these paths, a collective call."""
    cuts = equal_shares(n_blocks, comm.size) * block_size
    plan = redistribution(comm, cuts, positions)
    rows = offsets[comm.rank] + np.arange(positions.size)
    # One more, so that places without a vertex get -1; the first place of a block always has one.
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
    changes: Array = np.diff(paths, prepend=before) != 0
    return changes
