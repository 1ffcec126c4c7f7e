"""The exchange of vectors between the partition of the rows and that of an order of them."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition.communicator import Communicator, parts_by_rank
from linforest_precond.distributed.partition.owners import Places, owners_of


@dataclass(frozen=True, eq=False)
class Redistribution:
    """The exchange that moves vectors from the partition of the rows to that of the order.

    A collective object: all ranks call `forward` and `backward` in the same order.

    Attributes
    ----------
    comm : Communicator
        The ranks.
    n_rows, n_places : int
        Own rows of the matrix, and own places of the order.
    sent : dict
        For each rank with places of own rows: these rows, numbered from 0 on this rank.
    received : dict
        For each rank with rows at own places: these places, numbered from 0 on this rank.
    """

    comm: Communicator
    n_rows: int
    n_places: int
    sent: Places
    received: Places

    def forward(self, values: Array) -> Array:
        """Values at the own places, from an array with one row (of any shape) for each own row.

        Places without a vertex get 0.
        """
        return self._moved(values, self.sent, self.received, self.n_places)

    def backward(self, values: Array) -> Array:
        """The reverse: values of the own rows, from an array with one row for each own place."""
        return self._moved(values, self.received, self.sent, self.n_rows)

    @property
    def is_own(self) -> bool:
        """Whether all own rows have their places on this rank, and no others do."""
        own = self.sent.get(self.comm.rank, ())
        return self.n_rows == self.n_places == len(own) > 0

    @property
    def rows_sent(self) -> int:
        """Rows that this rank sends to other ranks, there and back."""
        ways = self.sent, self.received
        return sum(rows.size for way in ways for r, rows in way.items() if r != self.comm.rank)

    def _moved(self, values: Array, taken: Places, put: Places, count: int) -> Array:
        xp, own, sources = xp_of(values), self.comm.rank, taken.on(xp_of(values))
        parts = {r: values[places] for r, places in sources.items() if r != own}
        lengths = {r: places.size for r, places in put.items() if r != own}
        found = self.comm.exchange_known(parts, lengths, values[:0])
        if self.is_own and taken is self.received:  # all rows are taken in their order, or put in it
            return values[sources[own]]
        make = xp.empty if sum(places.size for places in put.values()) == count else xp.zeros
        out: Array = make((count, *values.shape[1:]), values.dtype)
        if own in put:
            found = {**found, own: values if self.is_own else values[sources[own]]}
        for r, places in put.on(xp).items():
            out[places] = found[r]
        return out


def redistribution(comm: Communicator, cuts: Array, positions: Array) -> Redistribution:
    """The exchange of vectors between rows and their places in the order."""
    rows = xp_of(positions).arange(positions.size)
    sent, places = parts_by_rank(owners_of(cuts, positions), [rows, positions])
    first = int(cuts[comm.rank])
    received = Places({r: part - first for r, part in comm.exchange(places, positions).items()})
    return Redistribution(comm, positions.size, int(cuts[comm.rank + 1] - first), Places(sent), received)
