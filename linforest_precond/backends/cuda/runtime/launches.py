"""Kernel launches: grids that fill the device once, and timing on request."""

import contextlib
import functools
import threading

from .lazy_cupy import cupy
from .streams import mark

BLOCK = 256
# Dynamic shared memory of a block that needs no opt-in.
DEFAULT_SHARED_MEMORY = 48 * 1024

_setting_limits = threading.Lock()


class _Count(threading.local):
    launches = 0


_count = _Count()
# While launches are timed: a list of (kernel name, event before, event after).
_recording = None


def launch(kernel, arguments, *, shared_memory=0, block=BLOCK, items=None):
    """Launch a kernel with a grid-stride loop, on as many blocks as are resident at once.

    With `items`, on no more blocks than one thread per item needs.
    """
    blocks = blocks_for(kernel, items, shared_memory, block)
    launch_blocks(kernel, blocks, arguments, shared_memory=shared_memory, block=block)


def blocks_for(kernel, items, shared_memory=0, block=BLOCK):
    """As many blocks as are resident at once, but no more than one thread per item needs."""
    blocks = resident_blocks(kernel, shared_memory, block)
    return blocks if items is None else max(1, min(blocks, -(-items // block)))


def launch_blocks(kernel, blocks, arguments, *, shared_memory=0, block=BLOCK):
    """Launch a kernel on a given number of blocks."""
    if shared_memory > DEFAULT_SHARED_MEMORY:
        _allow_shared_memory(kernel, shared_memory, cupy.cuda.runtime.getDevice())
    _count.launches += 1
    if _recording is None:
        kernel((blocks,), (block,), arguments, shared_mem=shared_memory)
        return
    before = mark()
    kernel((blocks,), (block,), arguments, shared_mem=shared_memory)
    _recording.append((kernel.name, before, mark()))


def launches_of(function):
    """Call a function, and return how many kernels of ours it has launched."""
    before = _count.launches
    function()
    return _count.launches - before


def note(name, counters):
    """Record a device array of counters that a launch wrote, while launches are timed."""
    if _recording is not None:
        _recording.append((name, counters, None))


@contextlib.contextmanager
def recording():
    """Time every launch inside: yields a list of (kernel name, event before, event after), and of notes."""
    global _recording
    _recording = launches = []
    try:
        yield launches
    finally:
        _recording = None


def resident_blocks(kernel, shared_memory=0, block=BLOCK):
    """The number of blocks of the kernel that are resident on the current device at once (occupancy)."""
    return _resident_blocks(kernel, shared_memory, block, cupy.cuda.runtime.getDevice())


@functools.cache
def _resident_blocks(kernel, shared_memory, block, device):
    per_multiprocessor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        kernel.kernel.ptr, block, shared_memory
    )
    return per_multiprocessor * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


@functools.cache
def _allow_shared_memory(kernel, shared_memory, device):
    """Opt in to `shared_memory` bytes per block on the current device; the limit is never lowered."""
    with _setting_limits:  # another thread may raise the same limit
        kernel.max_dynamic_shared_size_bytes = max(shared_memory, kernel.max_dynamic_shared_size_bytes)
