"""Uploads of pageable host memory through pinned staging buffers.

A copy from pageable memory is staged by the driver on one thread, and the host waits for it. Here several
threads fill pinned slots, from which the copy engine reads asynchronously.
"""

import os
import queue
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .lazy_cupy import cupy
from .streams import finish_all

# Bytes of a slot. Half as many double the overhead of the threads; with twice as many an upload begins and
# ends later.
SLOT_BYTES = 2**22
# An upload of fewer bytes takes less time than handing it to a thread.
SMALL_BYTES = 2**16
# One thread copies about 8 GB/s, and the link of an H200 takes 50 GB/s.
MOST_THREADS = 8
# cudaMemoryTypeHost: allocated or registered by CUDA.
PINNED = 1


class Uploads:
    """Copies to the current device, of at most `most_bytes` at a time; a context that ends the threads."""

    def __init__(self, most_bytes):
        self.bytes = 0  # that were copied
        self._slot_bytes = min(SLOT_BYTES, max(most_bytes, 1))
        slots = -(-most_bytes // self._slot_bytes) + 1
        threads = max(1, min(MOST_THREADS, usable_cores(), slots))
        # Two slots for each thread: one is filled while the other is copied.
        self._slots = queue.SimpleQueue()
        for _ in range(min(slots, 2 * threads)):
            self._slots.put(Slot(self._slot_bytes))
        self._threads = ThreadPoolExecutor(threads, initializer=cupy.cuda.Device().use)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self._threads.shutdown(cancel_futures=True)
        if kind is not None:
            finish_all()  # before the arrays of the interrupted work are freed

    def copy(self, target, source, stream):
        """Start the copy of a host array on a stream; returns futures of its parts."""
        if source.size == 0 or not is_pinned(source):
            return self.fill(target, lambda first, last, out: np.copyto(out, source[first:last]), stream)
        self.bytes += target.nbytes
        _copy_async(target, 0, source, stream)
        return []

    def fill(self, target, write, stream):
        """Start the upload of items that `write(first, last, out)` writes, on threads; returns futures.

        Work that is launched on the stream once they are done follows the copies. A small upload is started
        here, and has no futures.
        """
        self.bytes += target.nbytes
        step = self._slot_bytes // target.itemsize
        send = self._threads.submit if target.nbytes > SMALL_BYTES else lambda call, *given: call(*given)
        sent = [
            send(self._send, target, write, first, min(first + step, target.size), stream)
            for first in range(0, target.size, step)
        ]
        return list(filter(None, sent))

    def _send(self, target, write, first, last, stream):
        slot = self._slots.get()
        try:
            slot.copied.synchronize()  # stall of this thread alone: the slot's last copy
            staged = slot.memory[: (last - first) * target.itemsize].view(target.dtype)
            write(first, last, staged)
            _copy_async(target, first, staged, stream)
            slot.copied.record(stream)
        finally:
            self._slots.put(slot)


class Slot:
    """Pinned memory, and the event after the last copy from it."""

    def __init__(self, size):
        self.memory = pinned_empty(size, np.uint8)
        self.copied = cupy.cuda.Event(block=True, disable_timing=True)


def pinned_empty(size, dtype):
    """An uninitialized array in pinned host memory, of CuPy's pool."""
    memory = cupy.cuda.alloc_pinned_memory(max(size * np.dtype(dtype).itemsize, 1))
    return np.frombuffer(memory, dtype, size)


def is_pinned(array):
    return cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).type == PINNED


def usable_cores():
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _copy_async(target, first, source, stream):
    address = target.data.ptr + first * target.itemsize
    kind = cupy.cuda.runtime.memcpyHostToDevice
    cupy.cuda.runtime.memcpyAsync(address, source.ctypes.data, source.nbytes, kind, stream.ptr)
