"""Ranks of MPI, through mpi4py (extra ``mpi``)."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.partition.communicator import Communicator, on_all_ranks
from linforest_precond.distributed.partition.deadlocks import (
    NO_CALL,
    RankError,
    absence,
    described_call,
    mismatch,
)
from linforest_precond.distributed.partition.device_messages import Lengths, Operation, Parts, contiguous

# MPI tags of arrays and of descriptions of calls, and the bytes of a description.
TAG, CALL_TAG, CALL_BYTES = 4711, 4712, 512
# The environment variable of the default time-out.
TIMEOUT_VARIABLE = "LINFOREST_TIMEOUT"


@dataclass
class MPICommunicator(Communicator):
    """The ranks of an mpi4py communicator, of which a duplicate is used: messages cannot be mixed up."""

    are_processes = True
    takes_gpu_arrays = property(lambda self: is_aware_of_cuda(self.comm))
    comm: Any = None
    # The latest call of each rank; only with a time-out.
    latest: dict[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, comm: Any = None, timeout: float | None = None) -> MPICommunicator:
        """From an mpi4py communicator, a petsc4py one, or all ranks where None."""
        own = as_mpi4py(comm).Dup()
        made = cls(own.Get_rank(), own.Get_size(), comm=own)
        made.set_timeout(timeout)
        return made

    def set_timeout(self, timeout: float | None) -> None:
        """Set the same time-out on all ranks; None is that of the environment, if any."""
        named = os.environ.get(TIMEOUT_VARIABLE)
        self.timeout, wanted = None, float(named) if timeout is None and named else timeout
        self.same("timeout", wanted)
        self.timeout = wanted

    def split(self, color: int) -> Communicator:
        self._compare_calls("split")
        part = self.comm.Split(color, self.rank)
        return MPICommunicator(
            part.Get_rank(), part.Get_size(), self.counters, comm=part, timeout=self.timeout
        )

    def barrier(self) -> None:
        self._compare_calls("barrier")
        self.comm.Barrier()

    def _compare_calls(self, operation: str) -> None:
        """With a time-out, wait until all ranks are about to make the same call."""
        if self.timeout is None:
            return
        MPI, call = mpi4py_module(), described_call(operation)
        others = [r for r in range(self.size) if r != self.rank]
        seen = {r: bytearray(CALL_BYTES) for r in others}
        received = {r: self.comm.Irecv(seen[r], r, CALL_TAG) for r in others}
        text = call.encode("ascii", "replace")[:CALL_BYTES].ljust(CALL_BYTES)
        requests = [*received.values(), *(self.comm.Isend(text, r, CALL_TAG) for r in others)]
        end = time.monotonic() + self.timeout
        while not MPI.Request.Testall(requests):
            if time.monotonic() > end:
                absent = [r for r in others if not received[r].Test()]
                latest = {r: self.latest.get(r, NO_CALL) for r in absent}
                error = RankError(f"after {self.timeout:g} s {absence(self.rank, call, latest)}")
                self.abort(error)
                raise error
            time.sleep(1e-5)
        self.latest = {r: bytes(words).decode().rstrip() for r, words in seen.items()}
        differs = mismatch([self.latest.get(r, text.decode().rstrip()) for r in range(self.size)])
        if differs:
            raise on_all_ranks(RankError(differs))

    def free(self) -> None:
        """Give the duplicate back to MPI; a call of all ranks, after which the communicator is not used."""
        if not mpi4py_module().Is_finalized():
            self.comm.Free()

    def abort(self, error: BaseException) -> None:
        if self.size > 1:
            text = "".join(traceback.format_exception(error))
            print(f"rank {self.rank} failed:\n{text}", flush=True, file=sys.stderr)
            self.comm.Abort(1)

    def _allgather(self, value: Any) -> list[Any]:
        self._compare_calls("allgather")
        return list(self.comm.allgather(value))

    # Results are in arrays that `empty` makes, by default of the library of the array.

    def _allreduce(self, array: Array, operation: Operation, empty: Any = None) -> Array:
        self._compare_calls(f"allreduce of {array.nbytes} bytes")
        MPI = mpi4py_module()
        out = (empty or xp_of(array).empty)(array.shape, array.dtype)  # in C order, whatever that of `array`
        operations = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
        self.comm.Allreduce(contiguous(array), out, operations[operation])
        return out

    def _allgather_arrays(self, array: Array, lengths: Lengths, empty: Any = None) -> Array:
        self._compare_calls("allgather of arrays")
        out = (empty or xp_of(array).empty)((sum(lengths), *array.shape[1:]), array.dtype)
        counts = np.array(lengths) * math.prod(array.shape[1:])
        self.comm.Allgatherv(array.ravel(), [out, counts])
        return out

    def _broadcast(self, array: np.ndarray, root: int) -> np.ndarray:
        self._compare_calls(f"broadcast of {array.nbytes} bytes")
        self.comm.Bcast(array, root)
        return array

    def _alltoall(self, values: np.ndarray) -> np.ndarray:
        self._compare_calls("alltoall")
        out = np.empty_like(values)
        self.comm.Alltoall(values, out)
        return out

    def _exchange(
        self, parts: Parts, expected: Mapping[int, int], like: Array, empty: Any = None
    ) -> dict[int, Array]:
        self._compare_calls("exchange")
        empty = empty or xp_of(like).empty
        found = {r: empty((n, *like.shape[1:]), like.dtype) for r, n in expected.items()}
        requests = [self.comm.Irecv(found[r].view(np.uint8), r, TAG) for r in found if r != self.rank]
        kept = {r: xp_of(part).ascontiguousarray(part, like.dtype) for r, part in parts.items()}
        requests += [self.comm.Isend(kept[r].view(np.uint8), r, TAG) for r in kept if r != self.rank]
        if self.rank in found:
            found[self.rank][...] = kept[self.rank]
        mpi4py_module().Request.Waitall(requests)
        return found


@named_arguments
def communicator_of(comm: Any = None, *, timeout: float | None = None) -> Communicator:
    """A communicator of an mpi4py or petsc4py one, or itself; without an argument that of all ranks.

    The duplicate is kept as an MPI attribute of the communicator: MPI libraries limit their number.

    Parameters
    ----------
    comm : communicator, optional
        Of mpi4py or petsc4py; all ranks by default.
    timeout : float, optional
        For debugging: before each collective call the ranks compare what they are about to call. Calls that
        differ are an error that names both places, and a rank that others wait for longer than this many
        seconds ends the job. By default the environment variable ``LINFOREST_TIMEOUT``, and without it ranks
        compare nothing and wait for ever.
    """
    if isinstance(comm, Communicator):
        return comm
    given = as_mpi4py(comm)
    kept = given.Get_attr(_keyval())
    if kept is None:
        kept = MPICommunicator.of(given, timeout)
        given.Set_attr(_keyval(), kept)
    elif timeout is not None:
        kept.set_timeout(timeout)
    return kept


def as_mpi4py(comm: Any) -> Any:
    """The communicator of mpi4py for one of mpi4py or petsc4py, or for None: all ranks."""
    MPI = mpi4py_module()
    comm = MPI.COMM_WORLD if comm is None else comm
    comm = comm.tompi4py() if hasattr(comm, "tompi4py") else comm
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm must be a communicator of mpi4py or petsc4py, but is {type(comm).__name__}")
    return comm


def is_aware_of_cuda(comm: Any) -> bool:
    """Whether an MPI library takes arrays on the device, as it says by MPI-4.1 or by an extension."""
    kinds = comm.Get_info().get("mpi_memory_alloc_kinds", "")
    query = getattr(ctypes.CDLL(mpi4py_module().__file__), "MPIX_Query_cuda_support", None)
    return "cuda" in kinds or (query is not None and query() == 1)


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
