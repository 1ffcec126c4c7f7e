"""List ranking across ranks by pointer jumping, on contracted paths.

Local paths that continue on another rank are the vertices of contracted paths, which are short compared with
the paths. These are followed in both directions: a state (local path, side) means that the local path is left
through that side, 0 for its first vertex and 1 for its last. The state's number is ``2 * local path + side``;
local paths are numbered over all ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.owners import lookup

# The successor of the last state of a path.
END = -1


@dataclass(eq=False)
class ContractedPaths:
    """The states of own local paths, two for each."""

    comm: Communicator
    offsets: Array  # rank r owns the states offsets[r]:offsets[r + 1]
    following: Array  # the successor of each state, or `END`
    counts: Array  # vertices from the local path up to the successor
    ends: Array  # the last of these vertices

    @property
    def rounds(self) -> int:
        """Steps of doubling after which every state has reached the end of its path, or is on a cycle."""
        return int(self.offsets[-1]).bit_length()

    def rank_paths(self) -> Array:
        """Rank all states: each step of pointer jumping doubles the strides.

        Returns rows (following, count, end) as at the beginning, but up to the ends of the paths; states on
        cycles are still followed by others.
        """
        records = np.stack([self.following, self.counts, self.ends], axis=1)
        for _ in range(self.rounds):
            open_states = np.flatnonzero(records[:, 0] != END)
            if not self.comm.total(open_states.size):
                break
            found = lookup(self.comm, self.offsets, records, records[open_states, 0])
            counts = records[open_states, 1] + found[:, 1]
            records[open_states] = np.stack([found[:, 0], counts, found[:, 2]], axis=1)
        return records

    def least_on_cycles(self, states: Array, edges: Array) -> Array:
        """The least edge of each cycle, for own states on cycles; `edges` has a least edge for each state.

        Rows of edges are compared lexicographically.
        """
        records = np.full((self.following.size, 1 + edges.shape[1]), END)
        records[states] = np.column_stack([self.following[states], edges])
        for _ in range(self.rounds):
            found = lookup(self.comm, self.offsets, records, records[states, 0])
            least = lesser_rows(records[states, 1:], found[:, 1:])
            records[states] = np.column_stack([found[:, 0], least])
        return records[states, 1:]


def lesser_rows(a: Array, b: Array) -> Array:
    """The lexicographically smaller of each two rows of integers."""
    less, equal = np.zeros(len(a), bool), np.ones(len(a), bool)
    for x, y in zip(a.T, b.T, strict=True):
        less |= equal & (x < y)
        equal &= x == y
    return np.where(less[:, None], a, b)
