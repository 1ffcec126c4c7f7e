"""Streams: the CPU has none, and a function has done its work when it returns. Elapsed time."""

import os
import time

import numba
import numpy as np
from numba import types

from .jit import helper

CLOCK_MONOTONIC = np.int32(getattr(time, "CLOCK_MONOTONIC", 0))


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


if os.name == "posix" and not numba.config.DISABLE_JIT:
    clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))

    @helper
    def nanoseconds():
        """The monotonic clock, for kernels that report the times of their parts; some 50 ns a call."""
        parts = np.empty(2, np.int64)
        clock_gettime(CLOCK_MONOTONIC, parts.ctypes)
        return parts[0] * 1_000_000_000 + parts[1]

elif numba.config.DISABLE_JIT:

    def nanoseconds():
        """The monotonic clock."""
        return time.monotonic_ns()

else:

    @helper
    def nanoseconds():
        """No clock that compiled code can call: all times are 0."""
        return np.int64(0)
