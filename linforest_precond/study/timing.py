"""Samples of how long a call takes, on the host's clock or on the device's."""

from __future__ import annotations

import contextlib
import statistics
import time
from functools import partial

import numba
import numpy as np

WARM_CALLS = 3
# What took so long together is not repeated once more.
LONG_SECONDS = 2.0
# What the device is given to do while the host queues calls: about 5 ms at 3 TB/s.
HEAD_START = {"fills": 64, "bytes": 2**28}


def host_samples(call, repeats) -> list[float]:
    """Seconds of each of so many calls, after one that compiles."""
    call()
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return samples


def device_samples(call, repeats, queued=False, before=None) -> list[float]:
    """Milliseconds between CUDA events around each of so many calls.

    Each call starts on an idle device, so every moment that the device waits for the host counts. `queued`
    calls follow each other without the host waiting: that is the device's own time, the least it can be.
    `before`, if given, is called ahead of each call, outside its time.
    """
    import cupy

    device = cupy.cuda.Device()
    before = before or (lambda: None)
    for _ in range(WARM_CALLS):
        before()
        call()
    spans = []
    if queued:
        occupy()
    for _ in range(repeats):
        before()
        if not queued:
            device.synchronize()
        spans.append(span(call)[0])
    device.synchronize()
    return [milliseconds(*marks) for marks in spans]


def host_time(call):
    """Milliseconds of one call, and what it returned."""
    start = time.perf_counter()
    answer = call()
    return 1e3 * (time.perf_counter() - start), answer


def device_time(call):
    """Milliseconds of one call between CUDA events, from an idle device on, and what it returned."""
    import cupy

    device = cupy.cuda.Device()
    device.synchronize()
    marks, answer = span(call)
    device.synchronize()
    return milliseconds(*marks), answer


def time_of(call, device):
    """Seconds of one call on a device, and what it returned."""
    sample, answer = (device_time if device == "cuda" else host_time)(call)
    return sample / 1e3, answer


def median_time(call, repeats, device):
    """The median seconds of so many calls, after one that compiles, and what the last one returned.

    Calls that take long are not repeated.
    """
    _, answer = time_of(call, device)
    samples = []
    while not samples or (len(samples) < repeats and sum(samples) < LONG_SECONDS):
        answer = None  # need not be held during the next call
        seconds, answer = time_of(call, device)
        samples.append(seconds)
    return statistics.median(samples), answer


def occupy():
    """Give the device something to do, so that the host gets ahead of it."""
    import cupy

    memory = cupy.empty(HEAD_START["bytes"], "uint8")
    for _ in range(HEAD_START["fills"]):
        memory.data.memset_async(0, memory.nbytes)


def span(call):
    """The events before and after a call, and what it returned."""
    import cupy

    before, after = cupy.cuda.Event(), cupy.cuda.Event()
    before.record()
    answer = call()
    after.record()
    return (before, after), answer


@contextlib.contextmanager
def watched(module, name, clock):
    """Time the calls of a module's function inside: gives a list that their milliseconds are added to."""
    unwatched, times = getattr(module, name), []

    def timed(*arguments, **options):
        sample, answer = clock(partial(unwatched, *arguments, **options))
        times.append(sample)
        return answer

    setattr(module, name, timed)
    try:
        yield times
    finally:
        setattr(module, name, unwatched)


def threads() -> int:
    """The threads of the CPU that Numba uses."""
    return numba.get_num_threads()


@contextlib.contextmanager
def numba_threads(count):
    """Run what is inside on so many threads of the CPU."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def milliseconds(before, after) -> float:
    import cupy

    return cupy.cuda.get_elapsed_time(before, after)


def copy_bandwidths(size, repeats) -> list[float]:
    """GB/s of copies of `size` bytes on the device, read and written bytes counted."""
    import cupy

    source, target = cupy.zeros(size, "uint8"), cupy.empty(size, "uint8")
    copy = partial(target.data.copy_from_device_async, source.data, size)
    samples = device_samples(copy, repeats, queued=True)
    return [2 * size / (sample * 1e6) for sample in samples]


def host_copy_bandwidths(size, repeats) -> list[float]:
    """GB/s of copies of `size` bytes on one thread of the CPU, read and written bytes counted."""
    source, target = np.zeros(size, "uint8"), np.empty(size, "uint8")
    source.fill(1)  # untouched zeros would all be read from one page
    samples = host_samples(partial(np.copyto, target, source), repeats)
    return [2 * size / (sample * 1e9) for sample in samples]
