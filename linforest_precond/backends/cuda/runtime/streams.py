"""Streams: the current one as the owner of work space, waiting, and elapsed time by CUDA events."""

import threading

from .lazy_cupy import cupy

# A device must not be synchronized while one of its streams is captured.
capturing = threading.Lock()


def current():
    """The owner of an application's work space: the current stream of the current device.

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


class Stopwatch:
    def __init__(self):
        self._start = mark()

    def stop(self):
        self._end = mark()

    def milliseconds(self):
        self._end.synchronize()  # stall: only when the time is read
        return cupy.cuda.get_elapsed_time(self._start, self._end)


def mark():
    """An event recorded on the current stream."""
    event = cupy.cuda.Event()
    event.record()
    return event
