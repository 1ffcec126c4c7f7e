"""Halo exchange: a rank fetches the values of its ghosts, ids of other ranks that its rows refer to."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.communicator import COMBINE, Communicator, parts_by_rank
from linforest_precond.distributed.partition.device_messages import Operation
from linforest_precond.distributed.partition.owners import Places, joined, owners_of
from linforest_precond.matrix.conversion import index_dtype


class Halo:
    """The ghosts of a rank, their local numbers, and the messages that exchange their values.

    A collective object: all ranks make it, and call `fetch` and `send_back`, in the same order.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    offsets : (size + 1,) array of int64
        Rank r owns the ids ``offsets[r]:offsets[r + 1]``.
    ghosts : array of int64
        Global ids that other ranks own, ascending, without duplicates.

    Attributes
    ----------
    ghosts, owners : arrays
        The global ids and the rank that owns each.
    sent : dict
        For each rank that has ghosts here: their local rows, in the order in which they are sent.
    received : dict
        For each rank that owns ghosts: how many. They are consecutive in `ghosts`.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.distributed import Halo, simulate
    >>> def neighbors(comm):
    ...     ghosts = np.array([(comm.rank + 1) % comm.size])
    ...     return Halo(comm, np.arange(comm.size + 1), ghosts).fetch(np.array([10.0 * comm.rank]))
    >>> [float(values[0]) for values in simulate(3, neighbors)]
    [10.0, 20.0, 0.0]
    """

    def __init__(self, comm: Communicator, offsets: Array, ghosts: Array) -> None:
        self.comm, self.offsets, self.ghosts = comm, offsets, np.asarray(ghosts, np.int64)
        self.first = int(offsets[comm.rank])
        self.n_local = int(offsets[comm.rank + 1]) - self.first
        self.owners = owners_of(offsets, self.ghosts)
        (requests,) = parts_by_rank(self.owners, [self.ghosts])
        self.received = {r: ids.size for r, ids in requests.items()}
        requested = comm.exchange(requests, self.ghosts)
        self.sent = Places({r: ids - self.first for r, ids in requested.items()})

    @classmethod
    def numbering(cls, comm: Communicator, offsets: Array, ids: Array) -> tuple[Halo, Array]:
        """The halo whose ghosts are those of the ids that other ranks own, and the ids' local numbers."""
        first, end = (int(each) for each in offsets[comm.rank : comm.rank + 2])
        others = np.flatnonzero((ids < first) | (ids >= end))
        ghosts, numbers = np.unique(ids[others], return_inverse=True)
        halo = cls(comm, offsets, ghosts)
        local = (ids - first).astype(index_dtype(max(ids.size, halo.ids.size)))
        local[others] = halo.n_local + numbers
        return halo, local

    @classmethod
    def ascending_numbering(cls, comm: Communicator, offsets: Array, ids: Array) -> tuple[Halo, Array]:
        """As `numbering`, with places in ascending order of the ids, and -1 for negative ids."""
        known, owners = ids >= 0, owners_of(offsets, ids)
        halo = cls(comm, offsets, np.unique(ids[known & (owners != comm.rank)]))
        return halo, np.where(known, halo.ascending_places(ids), -1)

    @cached_property
    def ids(self) -> Array:
        """The global id of each local number: own ids, then ghosts."""
        return np.concatenate([np.arange(self.first, self.first + self.n_local), self.ghosts])

    def is_own(self, ids: Array) -> Array:
        """Whether this rank owns each global id."""
        return (ids >= self.first) & (ids < self.first + self.n_local)

    def local(self, ids: Array) -> Array:
        """The local numbers of own ids and ghosts."""
        among_ghosts = self.n_local + np.searchsorted(self.ghosts, ids)
        return np.where(self.is_own(ids), ids - self.first, among_ghosts)

    @property
    def lower(self) -> int:
        """How many ghosts have lower ids than the own ones."""
        return int(np.searchsorted(self.ghosts, self.first))

    @property
    def ascending_ids(self) -> Array:
        """All ids in ascending order: lower ghosts, own ids, higher ghosts."""
        return self._ascending(self.ids[: self.n_local], self.ghosts)

    def ascending_places(self, ids: Array) -> Array:
        """The places of own ids and ghosts in this order."""
        among_ghosts = np.searchsorted(self.ghosts, ids) + self.n_local * (ids >= self.first)
        return np.where(self.is_own(ids), ids - self.first + self.lower, among_ghosts)

    def ascending(self, values: Array) -> Array:
        """Values of own ids and ghosts, in ascending order of the ids."""
        return self._ascending(values, self.fetch(values))

    def _ascending(self, own: Array, ghosts: Array) -> Array:
        return self._joined(own, ghosts[: self.lower], ghosts[self.lower :])

    def _joined(self, own: Array, before: Array, after: Array) -> Array:
        xp = xp_of(own)
        return xp.concatenate([before, own, after]) if self.ghosts.size else xp.ascontiguousarray(own)

    @property
    def rows_sent(self) -> int:
        """Rows that this rank sends in an exchange."""
        return sum(rows.size for rows in self.sent.values())

    def with_ghosts(self, values: Array) -> Array:
        """Values of the own ids, then of the ghosts: a row for each local number, no copy without ghosts."""
        return self._joined(values, values[:0], self.fetch(values))

    def fetch(self, values: Array) -> Array:
        """The ghosts' values, from an array with one row (of any shape) for each own row."""
        parts = {r: values[rows] for r, rows in self.sent.on(xp_of(values)).items()}
        found = self.comm.exchange_known(parts, self.received, values)
        return joined(found, values)

    def send_back(self, values: Array, combine: Operation = "sum", into: Array | None = None) -> Array:
        """Reverse halo exchange: owners reduce the values of their rows' ghosts, in the order of the ranks.

        Parameters
        ----------
        values : array
            One row for each ghost.
        combine : {"sum", "min", "max"}
            How an owner combines the values.
        into : array, optional
            One row for each own row, which is combined with the values and changed. By default a new array
            of zeros, of the largest numbers for "min", or of the least ones for "max".

        Returns
        -------
        array
            `into`.
        """
        xp = xp_of(values)
        found = self.comm.exchange_known(
            self.by_owner(values), {r: len(rows) for r, rows in self.sent.items()}, values
        )
        if into is None:
            into = xp.full((self.n_local, *values.shape[1:]), neutral(combine, values.dtype))
        sent = self.sent.on(xp)
        for r in sorted(found):  # the rows of one rank are distinct
            rows = sent[r]
            into[rows] = getattr(xp, COMBINE[combine].__name__)(into[rows], found[r])
        return into

    def by_owner(self, values: Array) -> dict[int, Array]:
        """The ghosts' values by their owners; ghosts of one owner are consecutive."""
        return parts_by_rank(self.owners, [values])[0]


class OwnRows:
    """Properties of an object whose rows are partitioned as the ids of its halo."""

    halo: Halo

    @property
    def first(self) -> int:
        """The global id of the first own row."""
        return self.halo.first

    @property
    def n_local(self) -> int:
        """The number of own rows."""
        return self.halo.n_local

    @property
    def ids(self) -> Array:
        """The global id of each column: own rows, then ghosts."""
        return self.halo.ids


def neutral(combine: Operation, dtype: Any) -> Any:
    """The number that changes no other when combined with it."""
    dtype = np.dtype(dtype)
    if combine == "sum":
        return dtype.type(0)
    if dtype.kind == "b":
        return combine == "min"
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if combine == "min" else np.iinfo(dtype).min
    return dtype.type(np.inf if combine == "min" else -np.inf)
