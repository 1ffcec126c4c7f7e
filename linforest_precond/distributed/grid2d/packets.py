"""Packet swapping: packets between any two ranks, by one exchange in row groups and one in column groups.

A packet is a row of an int64 array. A rank sends at most C - 1 + R - 1 messages, where a direct exchange
needs p - 1.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank
from linforest_precond.distributed.partition.owners import joined, owners_of


def swap(grid: Grid, destinations: Array, packets: Array) -> Array:
    """Deliver packets to the ranks that `destinations` names, and return those for this rank."""
    group, member = np.divmod(destinations, grid.shape[1])
    halfway = hop(grid.row, member, np.column_stack([group, packets]))
    return hop(grid.column, halfway[:, 0], halfway)[:, 1:]


def hop(ranks: Communicator, members: Array, packets: Array) -> Array:
    """Deliver packets within a group."""
    (parts,) = parts_by_rank(members, [packets])
    found = ranks.exchange(parts, packets)
    return joined(found, packets)


def lookup(grid: Grid, offsets: Array, values: Array, ids: Array) -> Array:
    """The values of any ids, where rank r has those of ``offsets[r]:offsets[r + 1]``.

    Each rank requests an id once.
    """
    rank = grid.comm.rank
    wanted, places = np.unique(ids, return_inverse=True)
    requests = swap(
        grid, owners_of(offsets, wanted), np.column_stack([wanted, np.full(wanted.size, rank, np.int64)])
    )
    asked, source = requests.T
    replies = swap(grid, source, np.column_stack([asked, values[asked - offsets[rank]]]))
    return replies[np.argsort(replies[:, 0]), 1][places]
