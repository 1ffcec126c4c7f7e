"""Messages between GPUs by NCCL, where every rank has a GPU of its own; others go through the host.

Untested, for want of a machine with two GPUs. On one GPU `nccl_exchange` returns None for any number of
ranks.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from linforest_precond.backends import cuda_status
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator


class NcclExchange:
    """Sends and receives arrays of CuPy on the current stream, without a copy on the host.

    A collective object: each rank has made its own GPU the current device.
    """

    def __init__(self, comm: Communicator) -> None:
        from cupy.cuda import nccl

        self._comm, self._nccl = comm, nccl
        token = comm.allgather(nccl.get_unique_id() if comm.rank == 0 else None)[0]
        self._ranks = nccl.NcclCommunicator(comm.size, token, comm.rank)

    def exchange_known(
        self, parts: Mapping[int, Array], expected: Mapping[int, int], like: Array
    ) -> dict[int, Array]:
        """As `Communicator.exchange_known`, for arrays on the device; none is for the rank itself."""
        import cupy

        stream, nccl = cupy.cuda.get_current_stream().ptr, self._nccl
        kept = {r: cupy.ascontiguousarray(part) for r, part in parts.items()}
        found = {r: cupy.empty((n, *like.shape[1:]), like.dtype) for r, n in expected.items()}
        nccl.groupStart()
        for r, part in kept.items():
            self._ranks.send(part.data.ptr, part.nbytes, nccl.NCCL_CHAR, r, stream)
        for r, array in found.items():
            self._ranks.recv(array.data.ptr, array.nbytes, nccl.NCCL_CHAR, r, stream)
        nccl.groupEnd()
        self._comm.counters.messages += len(kept)
        self._comm.counters.message_bytes += sum(part.nbytes for part in kept.values())
        return found


def nccl_exchange(comm: Communicator) -> NcclExchange | None:
    """The exchange of these ranks, made once; None unless all have NCCL and each its own GPU. Collective."""
    kept = vars(comm)
    if "nccl" not in kept:
        devices = comm.allgather(_own_gpu())
        is_one_each = comm.size > 1 and None not in devices and len(set(devices)) == comm.size
        kept["nccl"] = NcclExchange(comm) if is_one_each else None
    return kept["nccl"]


def _own_gpu() -> Any:
    """The machine and the PCI bus of the current device, or None without NCCL."""
    if not cuda_status()[0]:
        return None
    import cupy

    try:
        from cupy.cuda import nccl
    except ImportError:
        return None
    return (platform.node(), cupy.cuda.Device().pci_bus_id) if nccl.available else None
