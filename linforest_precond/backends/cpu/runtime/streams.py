"""Streams: the CPU has none, and a function has done its work when it returns. Elapsed time."""

import time


def current():
    """The owner of an application's work space."""
    return None


def handle():
    """Tells streams apart."""
    return None


def finish():
    """Wait for the work on the current stream."""


def finish_all():
    """Wait for the work on all streams."""


class Stopwatch:
    """Started when constructed; `milliseconds` is the time until `stop`."""

    def __init__(self):
        self._start = time.perf_counter()

    def stop(self):
        self._end = time.perf_counter()

    def milliseconds(self):
        return 1e3 * (self._end - self._start)
