"""The current stream as the owner of work space, and waiting for streams."""

import threading

from .lazy_cupy import cupy

# A device must not be synchronized while one of its streams is captured.
capturing = threading.Lock()


def current():
    """What the work space of an application belongs to: the current stream of the current device.

    Streams are compared by their handles. The stream object is part of it, so that a stream with idle work
    space is not destroyed and its handle is not used again. The per-thread default streams of all threads
    have one handle.
    """
    stream, device = cupy.cuda.get_current_stream(), cupy.cuda.runtime.getDevice()
    if stream.ptr == cupy.cuda.runtime.streamPerThread:
        return stream, device, threading.get_ident()
    return stream, device


def handle():
    """Tells streams apart, without keeping them alive."""
    stream = cupy.cuda.get_current_stream().ptr
    return (stream, threading.get_ident()) if stream == cupy.cuda.runtime.streamPerThread else stream


def finish():
    """Wait for the work on the current stream: before arrays are handed to other streams."""
    cupy.cuda.get_current_stream().synchronize()


def finish_all():
    """Wait for the work on all streams of the device: before arrays that others may read are freed."""
    with capturing:
        cupy.cuda.runtime.deviceSynchronize()
