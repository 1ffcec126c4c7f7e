"""Launches of kernels: grids that just fill the device, and times on request."""

import contextlib
import functools

from .lazy_cupy import cupy

BLOCK = 256
# What a block may take without asking for more.
DEFAULT_SHARED_MEMORY = 48 * 1024

# Where launches are being timed: a list of (kernel name, event before, event after).
_recording = None


def launch(kernel, arguments, *, shared_memory=0, block=BLOCK, items=None):
    """Launch a kernel that strides over its items, on as many blocks as the device holds at once.

    And no more than `items` ask for, a thread to each, where that is given.
    """
    blocks = resident_blocks(kernel, shared_memory, block)
    blocks = blocks if items is None else max(1, min(blocks, -(-items // block)))
    launch_blocks(kernel, blocks, arguments, shared_memory=shared_memory, block=block)


def launch_blocks(kernel, blocks, arguments, *, shared_memory=0, block=BLOCK):
    """Launch a kernel on a given number of blocks."""
    if shared_memory > DEFAULT_SHARED_MEMORY:
        _allow_shared_memory(kernel, shared_memory, cupy.cuda.Device().id)
    before = _mark()
    kernel((blocks,), (block,), arguments, shared_mem=shared_memory)
    if before is not None:
        _recording.append((kernel.name, before, _mark()))


def note(name, counters):
    """Keep counters that a launch leaves on the device, while launches are being timed."""
    if _recording is not None:
        _recording.append((name, counters, None))


@contextlib.contextmanager
def recording():
    """Time every launch inside: gives a list of (kernel name, event before, event after), and of notes."""
    global _recording
    _recording = launches = []
    try:
        yield launches
    finally:
        _recording = None


def _mark():
    if _recording is None:
        return None
    event = cupy.cuda.Event()
    event.record()
    return event


def resident_blocks(kernel, shared_memory=0, block=BLOCK):
    """How many blocks of the kernel the current device holds at once."""
    return _resident_blocks(kernel, shared_memory, block, cupy.cuda.Device().id)


@functools.cache
def _resident_blocks(kernel, shared_memory, block, device):
    per_multiprocessor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        kernel.kernel.ptr, block, shared_memory
    )
    return per_multiprocessor * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


@functools.cache
def _allow_shared_memory(kernel, shared_memory, device):
    """Let the kernel take so much on the current device; more was never asked for by another call."""
    kernel.max_dynamic_shared_size_bytes = max(shared_memory, kernel.max_dynamic_shared_size_bytes)
