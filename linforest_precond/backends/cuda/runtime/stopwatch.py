"""How long a piece of work took on the current stream, without waiting for it."""

from .lazy_cupy import cupy


class Stopwatch:
    """Started when made; `stop` ends the interval that `milliseconds` tells."""

    def __init__(self):
        self._start = _mark()

    def stop(self):
        self._end = _mark()

    def milliseconds(self):
        self._end.synchronize()  # stall: asked for on demand alone
        return cupy.cuda.get_elapsed_time(self._start, self._end)


def _mark():
    event = cupy.cuda.Event()
    event.record()
    return event
