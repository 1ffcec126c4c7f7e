"""The owners of global ids, and messages to and from the owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank


class Places(dict[int, Array]):
    """Index arrays by rank, and their copies where the vectors are that they index."""

    def __init__(self, arrays: Mapping[int, Array]) -> None:
        super().__init__(arrays)
        self._elsewhere: dict[int, Array] | None = None

    def on(self, xp: Any) -> dict[int, Array]:
        """The arrays in a library of arrays, copied once."""
        if all(xp_of(places) is xp for places in self.values()):
            return self
        if self._elsewhere is None:
            # stall: at most once
            copied = on_host if xp is np else xp.asarray
            self._elsewhere = {r: copied(places) for r, places in self.items()}
        return self._elsewhere


def owners_of(offsets: Array, ids: Array) -> Array:
    """The rank that owns each id; rank r owns ``offsets[r]:offsets[r + 1]``."""
    xp = xp_of(ids)
    return xp.searchsorted(xp.asarray(offsets), ids, side="right") - 1


def send_to(comm: Communicator, owners: Array, *arrays: Array) -> list[Array]:
    """Send the entries of arrays to ranks; what arrives is in the order of the ranks, then as it was sent."""
    first, *others = parts_by_rank(owners, arrays)
    found = [comm.exchange(first, arrays[0])]
    lengths = {r: len(part) for r, part in found[0].items()}
    found += [comm.exchange_known(parts, lengths, array) for parts, array in zip(others, arrays[1:])]
    return [joined(parts, array) for parts, array in zip(found, arrays)]


def send_to_owners(comm: Communicator, offsets: Array, ids: Array, *arrays: Array) -> list[Array]:
    """Send ids, and the entries of arrays that belong to them, to the owners of the ids, as `send_to`."""
    return send_to(comm, owners_of(offsets, ids), ids, *arrays)


def lookup(comm: Communicator, offsets: Array, values: Array, ids: Array) -> Array:
    """The values of any ids, from their owners; `values` has one row for each own id.

    Each rank requests an id of another one once. The ids need not be those of a halo.
    """
    xp, first = xp_of(ids), int(offsets[comm.rank])
    own = (ids >= first) & (ids < int(offsets[comm.rank + 1]))
    wanted = where = ids[~own]
    if wanted.size:  # CuPy's `unique` needs an item
        wanted, where = xp.unique(wanted, return_inverse=True)
    (requests,) = parts_by_rank(owners_of(offsets, wanted), [wanted])
    requested = comm.exchange(requests, wanted)
    replies = {r: values[part - first] for r, part in requested.items()}
    found = comm.exchange_known(replies, {r: part.size for r, part in requests.items()}, values[:0])
    if not wanted.size:
        return values[ids - first]
    result: Array = xp.empty(ids.shape + values.shape[1:], values.dtype)
    result[xp.flatnonzero(own)] = values[ids[own] - first]
    result[xp.flatnonzero(~own)] = joined(found, values)[where]
    return result


def joined(parts: dict[int, Array], like: Array) -> Array:
    """Parts in the order of the ranks they came from, in one array."""
    return xp_of(like).concatenate([like[:0], *(parts[r] for r in sorted(parts))])
