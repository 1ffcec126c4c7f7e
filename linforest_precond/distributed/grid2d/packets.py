"""Packet swapping: packets between any two ranks, by one exchange in row groups and one in column groups.

A packet is a row of an int64 array. A rank sends at most C - 1 + R - 1 messages, where a direct exchange
needs p - 1.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank
from linforest_precond.distributed.partition.owners import joined, owners_of


def swap(grid: Grid, destinations: Array, packets: Array) -> Array:
    """Deliver packets to the ranks that `destinations` names, and return those for this rank."""
    xp = xp_of(packets)
    group, member = xp.divmod(destinations, grid.shape[1])
    halfway = hop(grid.row, member, xp.column_stack([group, packets]))
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
    xp, rank = xp_of(ids), grid.comm.rank
    # CuPy's `unique` needs an element.
    wanted, places = xp.unique(ids, return_inverse=True) if ids.size else (ids, ids)
    requests = swap(
        grid, owners_of(offsets, wanted), xp.column_stack([wanted, xp.full(wanted.size, rank, np.int64)])
    )
    asked, source = requests.T
    replies = swap(grid, source, xp.column_stack([asked, values[asked - int(offsets[rank])]]))
    return replies[xp.argsort(replies[:, 0]), 1][places]
