"""The halo of a rank: values of other ranks' rows that its own rows refer to, and their exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.distributed.communicator import COMBINE, Communicator, Operation, parts_by_rank
from linforest_precond.host_arrays import on_host


class Halo:
    """Which values a rank receives from which others (its ghosts), and which of its own it sends.

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
        self.comm, self.ghosts = comm, np.asarray(ghosts, np.int64)
        self.n_local = int(offsets[comm.rank + 1] - offsets[comm.rank])
        self.owners: Array = np.searchsorted(offsets, self.ghosts, side="right") - 1
        (wanted,) = parts_by_rank(self.owners, [self.ghosts])
        self.received = {r: ids.size for r, ids in wanted.items()}
        asked = comm.exchange(wanted, self.ghosts)
        self.sent = {r: ids - offsets[comm.rank] for r, ids in asked.items()}

    def fetch(self, values: Array) -> Array:
        """The ghosts' values, from an array with one row (of any shape) for each own row.

        Arrays of CuPy are staged through the host: MPI need not be aware of CUDA.
        """
        xp = backend_of(values).xp
        # stall: MPI sends from the host
        parts = {r: on_host(values[xp.asarray(rows)]) for r, rows in self.sent.items()}
        found = self.comm.exchange_known(parts, self.received, _host_like(values))
        return xp.asarray(self._joined(found, values))

    def send_back(self, values: Array, combine: Operation = "sum", into: Array | None = None) -> Array:
        """Send the ghosts' values to their owners, who combine what they get in the order of the ranks.

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
        xp, host = backend_of(values).xp, on_host(values)  # stall: MPI sends from the host
        (parts,) = parts_by_rank(self.owners, [host])
        found = self.comm.exchange_known(parts, {r: rows.size for r, rows in self.sent.items()}, host)
        if into is None:
            into = xp.full((self.n_local, *host.shape[1:]), neutral(combine, host.dtype))
        for r in sorted(found):  # the rows of one rank are distinct
            rows = xp.asarray(self.sent[r])
            into[rows] = getattr(xp, COMBINE[combine].__name__)(into[rows], xp.asarray(found[r]))
        return into

    def _joined(self, found: dict[int, Array], like: Array) -> Array:
        """Parts in the order of the ranks, which is that of the ghosts."""
        out = np.empty((self.ghosts.size, *like.shape[1:]), like.dtype)
        np.concatenate([out[:0], *(found[r] for r in sorted(found))], out=out)
        return out


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


def _host_like(values: Array) -> Array:
    """An empty host array of the same type and trailing shape."""
    return np.empty((0, *values.shape[1:]), values.dtype)
