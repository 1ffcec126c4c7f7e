"""Values and messages by global ids: each id is owned by one rank."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.communicator import Communicator, parts_by_rank


def owners_of(offsets: Array, ids: Array) -> Array:
    """The rank that owns each id; rank r owns ``offsets[r]:offsets[r + 1]``."""
    owners: Array = np.searchsorted(offsets, ids, side="right") - 1
    return owners


def send_to(comm: Communicator, owners: Array, *arrays: Array) -> list[Array]:
    """Send each entry to its rank; what arrives is in the order of the ranks, and then as it was sent."""
    return [
        np.concatenate([array[:0], *(part for _, part in sorted(comm.exchange(parts, array).items()))])
        for parts, array in zip(parts_by_rank(owners, arrays), arrays, strict=True)
    ]


def lookup(comm: Communicator, offsets: Array, values: Array, ids: Array) -> Array:
    """The values of any ids, from their owners; `values` has one row for each own id.

    Each rank asks for an id once. The ids need not be those of a halo, and may be own ones.
    """
    wanted, where = np.unique(ids, return_inverse=True)
    owners = owners_of(offsets, wanted)
    (questions,) = parts_by_rank(owners, [wanted])
    asked = comm.exchange(questions, wanted)
    answers = {r: values[part - offsets[comm.rank]] for r, part in asked.items()}
    found = comm.exchange_known(answers, {r: part.size for r, part in questions.items()}, values[:0])
    answered = np.concatenate([values[:0], *(found[r] for r in sorted(found))])
    return answered[where.reshape(ids.shape)]
