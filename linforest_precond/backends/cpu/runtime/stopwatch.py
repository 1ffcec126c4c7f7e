"""How long a piece of work took."""

import time


class Stopwatch:
    """Started when made; `stop` ends the interval that `milliseconds` tells."""

    def __init__(self):
        self._start = time.perf_counter()

    def stop(self):
        self._end = time.perf_counter()

    def milliseconds(self):
        return 1e3 * (self._end - self._start)
