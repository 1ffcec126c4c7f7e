"""Elapsed time on the CPU."""

import time


class Stopwatch:
    """Started when constructed; `milliseconds` is the time until `stop`."""

    def __init__(self):
        self._start = time.perf_counter()

    def stop(self):
        self._end = time.perf_counter()

    def milliseconds(self):
        return 1e3 * (self._end - self._start)
