"""Samples of how long a call takes, on the host's clock or on the device's."""

from __future__ import annotations

import time
from functools import partial

WARM_CALLS = 3
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
