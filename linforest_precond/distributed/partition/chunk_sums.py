"""Sums over distributed vectors in the order of one rank: within chunks of rows, then over the chunks.

The rule is that of `backends/cpu/multigrid/vector_ops.py`. A chunk that lies on several ranks is summed by
the rank of its first row.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.multigrid.vector_ops import ROWS_AT_ONCE as CHUNK
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.owners import joined, owners_of


class ChunkSums:
    """Which rows a rank sends, so that all rows of a chunk are on one rank.

    Collective: all ranks make it, and call it, together.
    """

    def __init__(self, comm: Communicator, offsets: Array) -> None:
        self.comm = comm
        # The rows of each rank that belong to a chunk that started on a rank before, and that rank.
        starts = np.minimum(-(-offsets[:-1] // CHUNK) * CHUNK, offsets[1:])
        lengths = starts - offsets[:-1]
        receivers = owners_of(offsets, offsets[:-1] // CHUNK * CHUNK)
        self.head = int(lengths[comm.rank])
        self.receiver = int(receivers[comm.rank])
        senders = np.flatnonzero((receivers == comm.rank) & (lengths > 0))
        self.expected = {int(r): int(lengths[r]) for r in senders}

    def __call__(self, terms: Array) -> Array:
        """The sum of each chunk of all ranks' rows, (chunks, ...), from an array with a row for each own row.

        At least one chunk is returned, of zeros where there are no rows.
        """
        sent = {self.receiver: terms[: self.head]} if self.head else {}
        found = self.comm.exchange_known(sent, self.expected, terms[:0])
        whole = np.concatenate([terms[self.head :], joined(found, terms)])
        padded = np.zeros((-(-len(whole) // CHUNK) * CHUNK, *terms.shape[1:]), terms.dtype)
        padded[: len(whole)] = whole
        # A running sum adds one row after the other; a plain sum would be pairwise.
        sums = np.add.accumulate(padded.reshape(-1, CHUNK, *terms.shape[1:]), axis=1)[:, -1]
        sums = np.concatenate(self.comm.allgather(sums))
        return sums if len(sums) else np.zeros((1, *terms.shape[1:]), terms.dtype)

    def total(self, terms: Array) -> Array:
        """The sum of all ranks' rows: over the chunks in their order."""
        total: Array = np.add.accumulate(self(terms))[-1]
        return total
