"""Messages of arrays of CuPy, in the best of three ways that all ranks have.

By NCCL where each rank has a GPU of its own; else by MPI, where the library takes arrays on the device; else
through pinned host memory.
"""

from __future__ import annotations

import abc
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from linforest_precond.backends import backend_named, cuda_status
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of

Operation = Literal["sum", "min", "max"]
Parts: TypeAlias = Mapping[int, Array]  # by rank
Lengths: TypeAlias = Sequence[int] | Array  # of the arrays of all ranks


class Messages(abc.ABC):
    """What passes arrays between ranks; results are in arrays of the same library."""

    @abc.abstractmethod
    def _allreduce(self, array: Array, operation: Operation) -> Array: ...

    @abc.abstractmethod
    def _allgather_arrays(self, array: Array, lengths: Lengths) -> Array: ...

    @abc.abstractmethod
    def _broadcast(self, array: Array, root: int) -> Array:
        """The array may be overwritten."""

    @abc.abstractmethod
    def _exchange(self, parts: Parts, expected: Mapping[int, int], like: Array) -> dict[int, Array]: ...


def device_messages(comm: Any) -> Messages:
    """What passes arrays of CuPy between the ranks, chosen once: a collective call."""
    kept = vars(comm)
    if "device_messages" not in kept:
        kept["device_messages"] = _chosen_messages(comm)
    found: Messages = kept["device_messages"]
    return found


def _chosen_messages(comm: Any) -> Messages:
    gpus, take_gpu_arrays = zip(
        *comm._allgather((own_gpu(), comm.takes_gpu_arrays) if comm.are_processes else (None, False))
    )
    own = nccl_ranks(comm) if None not in gpus and len(set(gpus)) == comm.size else None
    if own is not None:
        return NcclMessages(comm, own)
    return MpiMessages(comm) if all(take_gpu_arrays) else HostMessages(comm)


@dataclass
class HostMessages(Messages):
    """Arrays on the device are passed by way of pinned host memory."""

    comm: Any

    def _allreduce(self, array: Array, operation: Operation) -> Array:
        if self.comm.size == 1:
            return array.copy()
        return on_device(self.comm._allreduce(staged(array), operation, pinned))

    def _allgather_arrays(self, array: Array, lengths: Lengths) -> Array:
        if self.comm.size == 1:
            return array
        return on_device(self.comm._allgather_arrays(staged(array), lengths, pinned))

    def _broadcast(self, array: Array, root: int) -> Array:
        if self.comm.size == 1:
            return array
        host = staged(array) if self.comm.rank == root else pinned(array.shape, array.dtype)
        return on_device(self.comm._broadcast(host, root))

    def _exchange(self, parts: Parts, expected: Mapping[int, int], like: Array) -> dict[int, Array]:
        own = self.comm.rank
        ranks = [r for r in parts if r != own]
        host = dict(zip(ranks, all_staged([parts[r] for r in ranks])))
        others = {r: length for r, length in expected.items() if r != own}
        found = self.comm._exchange(host, others, np.empty((0, *like.shape[1:]), like.dtype), pinned)
        received = dict(zip(found, all_on_device(list(found.values()))))
        return received | {own: parts[own]} if own in expected else received


def pinned(shape: Any, dtype: Any) -> Array:
    """Pinned host memory of CuPy's pool; its sizes are powers of two, so that blocks are reused."""
    import cupyx

    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    nbytes = math.prod(map(int, shape)) * dtype.itemsize
    block = cupyx.empty_pinned(1 << max(nbytes - 1, 511).bit_length(), np.uint8)
    found: Array = block[:nbytes].view(dtype).reshape(shape)
    return found


def staged(array: Array) -> Any:
    """A copy in pinned host memory."""
    return all_staged([array])[0]


def all_staged(arrays: Sequence[Any]) -> list[Array]:
    """Copies in pinned host memory, for which the host waits once."""
    sources = [contiguous(array) for array in arrays]
    copies = [pinned(array.shape, array.dtype) for array in arrays]
    for source, host in zip(sources, copies):
        if host.size:
            source.get(out=host, blocking=False)
    if any(host.size for host in copies):
        finish_stream()  # stall: MPI sends from the host
    return copies


def on_device(host: Array) -> Array:
    """A copy on the device; the host's memory may be reused afterwards."""
    return all_on_device([host])[0]


def finish_stream() -> None:
    """Wait for the work on the current stream."""
    backend_named("cuda").runtime.streams.finish()


def contiguous(array: Array) -> Any:
    return xp_of(array).ascontiguousarray(array)


def all_on_device(arrays: Sequence[Array]) -> list[Array]:
    """Copies on the device, for which the host waits once: its memory may be reused afterwards."""
    import cupy

    found = [cupy.empty(host.shape, host.dtype) for host in arrays]
    for copy, host in zip(found, arrays):
        if host.size:
            copy.set(np.ascontiguousarray(host))
    if any(host.size for host in arrays):
        finish_stream()  # stall: the host's memory is given back
    return found


@dataclass
class MpiMessages(Messages):
    """Arrays on the device are passed to an MPI library that is aware of CUDA, but not of streams."""

    comm: Any

    def _allreduce(self, array: Array, operation: Operation) -> Array:
        return self._passed(self.comm._allreduce, contiguous(array), operation)

    def _allgather_arrays(self, array: Array, lengths: Lengths) -> Array:
        return self._passed(self.comm._allgather_arrays, array, lengths)

    def _broadcast(self, array: Array, root: int) -> Array:
        return self._passed(self.comm._broadcast, array, root)

    def _exchange(self, parts: Parts, expected: Mapping[int, int], like: Array) -> dict[int, Array]:
        kept = {r: contiguous(part) for r, part in parts.items()}
        found: dict[int, Array] = self._passed(self.comm._exchange, kept, expected, like)
        return found

    def _passed(self, call: Callable[..., Any], *arguments: Any) -> Any:
        finish_stream()  # stall: MPI reads what kernels have written
        return call(*arguments)


class NcclMessages(Messages):
    """Arrays are passed by NCCL on the current stream: each rank has made its own GPU the current device.

    Integers add exactly, and minima and maxima have no order, so the bits are those of MPI.
    """

    def __init__(self, comm: Any, ranks: Any) -> None:
        from cupy.cuda import nccl

        self.comm, self._ranks, self._nccl = comm, ranks, nccl

    def _allreduce(self, array: Any, operation: Operation) -> Array:
        nccl, array = self._nccl, contiguous(array)
        kinds = {
            "int32": nccl.NCCL_INT32, "int64": nccl.NCCL_INT64, "uint64": nccl.NCCL_UINT64,
            "float32": nccl.NCCL_FLOAT32, "float64": nccl.NCCL_FLOAT64,
        }  # fmt: skip
        operations = {"sum": nccl.NCCL_SUM, "min": nccl.NCCL_MIN, "max": nccl.NCCL_MAX}
        out: Any = xp_of(array).empty_like(array)
        kind, combine = kinds[array.dtype.name], operations[operation]
        self._ranks.allReduce(array.data.ptr, out.data.ptr, array.size, kind, combine, self._stream)
        return out

    def _allgather_arrays(self, array: Array, lengths: Lengths) -> Array:
        expected = {r: int(n) for r, n in enumerate(lengths) if n}
        parts = dict.fromkeys(range(self.comm.size), array) if len(array) else {}
        found = self._exchange(parts, expected, array)
        return xp_of(array).concatenate([array[:0], *(found[r] for r in sorted(found))])

    def _broadcast(self, array: Any, root: int) -> Any:
        nccl = self._nccl
        # CuPy counts elements in 32 bits.
        is_wide = array.nbytes % 8 == 0
        count, kind = (array.nbytes // 8, nccl.NCCL_INT64) if is_wide else (array.nbytes, nccl.NCCL_CHAR)
        self._ranks.broadcast(array.data.ptr, array.data.ptr, count, kind, root, self._stream)
        return array

    def _exchange(self, parts: Parts, expected: Mapping[int, int], like: Array) -> dict[int, Array]:
        kept = {r: contiguous(part) for r, part in parts.items()}
        found = {r: xp_of(like).empty((n, *like.shape[1:]), like.dtype) for r, n in expected.items()}
        nccl, stream = self._nccl, self._stream
        nccl.groupStart()
        for r, part in kept.items():
            self._ranks.send(part.data.ptr, part.nbytes, nccl.NCCL_CHAR, r, stream)
        for r, array in found.items():
            self._ranks.recv(array.data.ptr, array.nbytes, nccl.NCCL_CHAR, r, stream)
        nccl.groupEnd()
        return found

    @property
    def _stream(self) -> int:
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)


def nccl_ranks(comm: Any) -> Any:
    """The ranks as NCCL's communicator, or None where it cannot be made on one of them."""
    from cupy.cuda import nccl

    try:
        token = nccl.get_unique_id() if comm.rank == 0 else None
    except Exception:  # NCCL without an interface to the network
        token = None
    token = comm._allgather(token)[0]
    try:
        found = None if token is None else nccl.NcclCommunicator(comm.size, token, comm.rank)
    except Exception:
        found = None
    return found if None not in comm._allgather(found and True) else None


def own_gpu() -> Any:
    """The machine and the PCI bus of the current device, or None without NCCL."""
    if not cuda_status()[0]:
        return None
    try:
        from cupy.cuda import Device, nccl
    except ImportError:
        return None
    return (platform.node(), Device().pci_bus_id) if nccl.available else None
