"""Sums by the tree of fixed shape that one rank has: the same bits for any number of ranks.

The rule is that of `backends/cpu/matrix/sums.py`: lanes of a chunk, then the lanes in halves, then the sums
of the chunks by the same rule. A chunk that lies on several ranks is summed by the rank of its first value.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.matrix.sums import CHUNK, LANES
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.owners import joined, owners_of


def tree_sum(comm: Communicator, x: Array, scale: float = 1.0) -> float:
    """Sum the magnitudes of all ranks' reals in float64, each multiplied by `scale` first.

    The values are those of one long array, of which each rank has a part, in the order of the ranks.
    """
    values = np.abs(x.ravel().astype(np.float64)) * scale
    starts = np.concatenate([[0], np.cumsum(comm.allgather(values.size))])
    while starts[-1] > CHUNK:
        values = _sums_of_chunks(_whole_chunks(comm, values, starts))
        starts = -(-starts // CHUNK)
    values = _sums_of_chunks(_whole_chunks(comm, values, starts))
    return float(sum(comm.allgather(float(values.sum()))))  # one rank has the sum, the others zeros


def _whole_chunks(comm: Communicator, values: Array, starts: Array) -> Array:
    """The chunks that start on this rank: ranks send what they have of a chunk that started before."""
    heads = np.minimum(-(-starts // CHUNK) * CHUNK, starts[-1])  # where the first own chunk starts
    heads[:-1] = np.minimum(heads[:-1], starts[1:])
    lengths = heads[:-1] - starts[:-1]
    receivers = owners_of(starts, starts[:-1] // CHUNK * CHUNK)
    own = int(lengths[comm.rank])
    sent = {int(receivers[comm.rank]): values[:own]} if own else {}
    senders = np.flatnonzero((receivers == comm.rank) & (lengths > 0))
    found = comm.exchange_known(sent, {int(r): int(lengths[r]) for r in senders}, values)
    return np.concatenate([values[own:], joined(found, values)])


def _sums_of_chunks(values: Array) -> Array:
    """The sum of each chunk; the last one is padded with zeros."""
    padded = np.zeros(-(-values.size // CHUNK) * CHUNK)
    padded[: values.size] = values
    rounds = padded.reshape(-1, CHUNK // LANES, LANES)
    lanes = rounds[:, 0]
    for i in range(1, CHUNK // LANES):
        lanes = lanes + rounds[:, i]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    sums: Array = lanes[:, 0]
    return sums
