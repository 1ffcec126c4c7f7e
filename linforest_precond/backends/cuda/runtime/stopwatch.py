"""Elapsed time on the current stream, measured by CUDA events without synchronization."""

from .lazy_cupy import cupy


class Stopwatch:
    """Started when constructed; `milliseconds` is the time until `stop`."""

    def __init__(self):
        self._start = _mark()

    def stop(self):
        self._end = _mark()

    def milliseconds(self):
        self._end.synchronize()  # stall: only when the time is read
        return cupy.cuda.get_elapsed_time(self._start, self._end)


def _mark():
    event = cupy.cuda.Event()
    event.record()
    return event
