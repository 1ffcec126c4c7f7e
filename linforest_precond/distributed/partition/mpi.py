"""Ranks of MPI, through mpi4py (extra ``mpi``)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.distributed.partition.communicator import Communicator, Operation, print_failure

# The tag of our messages between two ranks.
TAG = 4711


@dataclass
class MPICommunicator(Communicator):
    """The ranks of an mpi4py communicator, of which a duplicate is used: messages cannot be mixed up."""

    comm: Any = None

    @classmethod
    def of(cls, comm: Any = None) -> MPICommunicator:
        """From an mpi4py communicator, a petsc4py one, or all ranks where None."""
        MPI = mpi4py_module()
        if comm is None:
            comm = MPI.COMM_WORLD
        elif hasattr(comm, "tompi4py"):
            comm = comm.tompi4py()
        if not isinstance(comm, MPI.Comm):
            raise TypeError(
                f"comm must be a communicator of mpi4py or petsc4py, but is {type(comm).__name__}"
            )
        own = comm.Dup()
        return cls(own.Get_rank(), own.Get_size(), comm=own)

    def split(self, color: int) -> Communicator:
        part = self.comm.Split(color, self.rank)
        return MPICommunicator(part.Get_rank(), part.Get_size(), self.counters, comm=part)

    def barrier(self) -> None:
        self.comm.Barrier()

    def free(self) -> None:
        """Give the duplicate back to MPI; a call of all ranks, after which the communicator is not used."""
        if not mpi4py_module().Is_finalized():
            self.comm.Free()

    def abort(self, error: BaseException) -> None:
        if self.size > 1:
            print_failure(self.rank, error)
            self.comm.Abort(1)

    def _allgather(self, value: Any) -> list[Any]:
        return list(self.comm.allgather(value))

    def _allreduce(self, array: np.ndarray, operation: Operation) -> np.ndarray:
        MPI = mpi4py_module()
        out = np.empty(array.shape, array.dtype)  # in C order, whatever that of `array`
        operations = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
        self.comm.Allreduce(np.ascontiguousarray(array), out, operations[operation])
        return out

    def _allgather_arrays(self, array: np.ndarray, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        out = np.empty((sum(lengths), *array.shape[1:]), array.dtype)
        counts = np.array(lengths) * math.prod(array.shape[1:])
        self.comm.Allgatherv(array.ravel(), [out, counts])
        return out

    def _broadcast(self, array: np.ndarray, root: int) -> np.ndarray:
        out = array.copy()
        self.comm.Bcast(out, root)
        return out

    def _alltoall(self, values: np.ndarray) -> np.ndarray:
        out = np.empty_like(values)
        self.comm.Alltoall(values, out)
        return out

    def _exchange(
        self, parts: Mapping[int, np.ndarray], expected: Mapping[int, int], like: np.ndarray
    ) -> dict[int, np.ndarray]:
        found = {r: np.empty((n, *like.shape[1:]), like.dtype) for r, n in expected.items()}
        requests = [self.comm.Irecv(found[r].view(np.uint8), r, TAG) for r in found if r != self.rank]
        kept = {r: np.ascontiguousarray(part, like.dtype) for r, part in parts.items()}
        requests += [self.comm.Isend(kept[r].view(np.uint8), r, TAG) for r in kept if r != self.rank]
        if self.rank in found:
            found[self.rank][...] = kept[self.rank]
        mpi4py_module().Request.Waitall(requests)
        return found


def communicator_of(comm: Any = None) -> Communicator:
    """A communicator of an mpi4py or petsc4py one, or itself; without an argument that of all ranks.

    The duplicate is kept as an MPI attribute of the communicator: MPI libraries limit their number.
    """
    if isinstance(comm, Communicator):
        return comm
    given = mpi4py_module().COMM_WORLD if comm is None else comm
    given = given.tompi4py() if hasattr(given, "tompi4py") else given
    kept = given.Get_attr(_keyval()) if hasattr(given, "Get_attr") else None
    if kept is None:
        kept = MPICommunicator.of(given)
        given.Set_attr(_keyval(), kept)
    return kept


@functools.cache
def _keyval() -> int:
    """The key of the attribute; a duplicate of a communicator does not inherit it."""
    return int(mpi4py_module().Comm.Create_keyval())


def mpi4py_module() -> Any:
    """The module mpi4py.MPI, or an error that says how to install it."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            f"several ranks need mpi4py and an MPI library: pip install 'linforest-precond[mpi]' ({error})"
        ) from error
    return MPI
