"""Reproducible sums over distributed arrays, bit for bit those of one rank: chunk sums, then their sum.

The rules are those of `backends/cpu/matrix/sums.py` and `backends/cpu/multigrid/vector_ops.py`. A chunk that
spans several ranks is summed by the rank of its first row.
"""

from __future__ import annotations

import math

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.owners import joined, owners_of

CHUNK, chunk_sums = host.matrix.sums.CHUNK, host.matrix.sums.chunk_sums
ROWS_AT_ONCE, add_chunks = host.multigrid.vector_ops.ROWS_AT_ONCE, host.multigrid.vector_ops.add_chunks


class Chunks:
    """Chunks of `size` rows of a partitioned array; the rank of a chunk's first row owns the chunk."""

    def __init__(self, comm: Communicator, offsets: Array, size: int) -> None:
        self.comm, self.size = comm, size
        # A rank sends its first rows to the owner of their chunk, if that starts on a lower rank.
        starts = np.minimum(-(-offsets[:-1] // size) * size, offsets[1:])
        lengths = starts - offsets[:-1]
        receivers = owners_of(offsets, offsets[:-1] // size * size)
        self.head = int(lengths[comm.rank])
        self.receiver = int(receivers[comm.rank])
        senders = np.flatnonzero((receivers == comm.rank) & (lengths > 0))
        self.expected = {int(r): int(lengths[r]) for r in senders}
        self.counts = np.diff(-(-offsets // size))  # chunks that start on each rank

    def parts(self, rows: Array) -> tuple[Array, Array]:
        """The rows of own chunks: own rows, and those received from higher ranks."""
        sent = {self.receiver: rows[: self.head]} if self.head else {}
        found = self.comm.exchange_known(sent, self.expected, rows[:0])
        return rows[self.head :], joined(found, rows)


class ChunkSums(Chunks):
    """Sums over vectors in the order of a multigrid cycle on one rank; all calls are collective."""

    def __init__(self, comm: Communicator, offsets: Array) -> None:
        super().__init__(comm, offsets, ROWS_AT_ONCE)

    def __call__(self, terms: Array) -> Array:
        """The sum of each chunk of all ranks' rows, (chunks, ...), from an array with a row for each own row.

        At least one chunk is returned, of zeros where there are no rows.
        """
        own, others = self.parts(terms)
        rows = np.concatenate([own, others]) if others.size else np.ascontiguousarray(own)
        own = np.zeros((-(-len(rows) // ROWS_AT_ONCE), *terms.shape[1:]), terms.dtype)
        width = math.prod(terms.shape[1:])
        add_chunks(readonly(rows.reshape(len(rows), width)), own.reshape(len(own), width))
        sums = self.comm.allgather_known(own, self.counts)
        return sums if len(sums) else np.zeros((1, *terms.shape[1:]), terms.dtype)

    def total(self, terms: Array) -> Array:
        """The sum of all ranks' rows: over the chunks in their order."""
        return np.add.accumulate(self(terms))[-1]


def tree_sum(comm: Communicator, x: Array, scale: float = 1.0) -> float:
    """Sum the magnitudes of all ranks' reals in float64, each multiplied by `scale` first: collective.

    A reduction tree of fixed shape over the concatenated parts of all ranks.
    """
    values, is_sum = on_host(x).ravel(), False  # stall: chunks are summed on the host
    offsets = comm.offsets(values.size)
    while not is_sum:
        is_sum = bool(offsets[-1] <= CHUNK)
        values, scale = _sums_of_own_chunks(Chunks(comm, offsets, CHUNK), values, scale), 1.0
        offsets = -(-offsets // CHUNK)
    return float(sum(comm.allgather(float(values.sum()))))  # the other ranks have no values left


def _sums_of_own_chunks(chunks: Chunks, values: Array, scale: float) -> Array:
    """The sums of the chunks that start on this rank; the last one may end on others."""
    own, rest = chunks.parts(values)
    whole = own.size - own.size % CHUNK if rest.size else own.size
    sums = [chunk_sums(own[:whole], scale)]
    if rest.size:
        sums.append(chunk_sums(np.concatenate([own[whole:], rest]), scale))
    return np.concatenate(sums)
