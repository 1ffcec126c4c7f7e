"""How kernels are launched: grids that just fill the device, structs as arguments, times on request."""

import contextlib
import functools

import numpy as np

from .lazy import cupy

BLOCK = 256

# Where launches are being timed: a list of (kernel name, event before, event after).
_recording = None


def launch(kernel, arguments, *, shared_memory=0, blocks_per_multiprocessor=None):
    """Launch a kernel that strides over its items, on as many blocks as the device holds at once."""
    blocks = _resident_blocks(kernel, shared_memory)
    if blocks_per_multiprocessor is not None:
        blocks = min(blocks, blocks_per_multiprocessor * _multiprocessors())
    launch_blocks(kernel, blocks, arguments, shared_memory=shared_memory)


def launch_blocks(kernel, blocks, arguments, *, shared_memory=0):
    """Launch a kernel on a given number of blocks."""
    before = _mark()
    kernel((blocks,), (BLOCK,), arguments, shared_mem=shared_memory)
    if before is not None:
        _recording.append((kernel.name, before, _mark()))


@contextlib.contextmanager
def recording():
    """Time every launch inside: gives a list of (kernel name, event before, event after)."""
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


@functools.cache
def _resident_blocks(kernel, shared_memory):
    function = kernel.kernel.ptr
    per_multiprocessor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        function, BLOCK, shared_memory
    )
    return per_multiprocessor * _multiprocessors()


def _multiprocessors():
    return _multiprocessors_of(cupy.cuda.Device().id)


@functools.cache
def _multiprocessors_of(device):
    return cupy.cuda.Device(device).attributes["MultiProcessorCount"]


def struct(fields, **values):
    """A C struct to be passed by value: `fields` maps names to types, arrays go in as their addresses."""
    packed = np.empty((), _struct_type(tuple(fields.items())))
    for name, value in values.items():
        packed[name] = address(value) if hasattr(value, "data") and hasattr(value.data, "ptr") else value
    return packed


def address(array):
    """A device array's address; the null pointer for None."""
    return 0 if array is None else array.data.ptr


@functools.cache
def _struct_type(fields):
    return np.dtype(list(fields), align=True)
