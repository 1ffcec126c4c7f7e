"""Timing of calls by the host's clock or by CUDA events."""

from __future__ import annotations

import contextlib
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

Call: TypeAlias = Callable[[], Any]
T = TypeVar("T")

WARM_CALLS = 3
# Calls are not repeated once they have taken this long in total.
LONG_SECONDS = 2.0
# Short calls that take turns are repeated until they have taken this long together.
SHORT_SECONDS = 0.2
# Work that keeps the device busy while the host queues calls: about 5 ms at 3 TB/s.
HEAD_START = {"fills": 64, "bytes": 2**28}


def host_samples(call: Call, repeats: int) -> list[float]:
    """Seconds of each of `repeats` calls, after one that compiles."""
    call()
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return samples


def device_samples(call: Call, repeats: int, queued: bool = False, before: Call | None = None) -> list[float]:
    """Milliseconds between CUDA events around each of `repeats` calls.

    By default each call starts on an idle device: launch latencies and device-to-host reads count. `queued`
    calls follow each other without synchronization, which gives the device's own time. `before` is called
    ahead of each call, outside its time.
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
        spans.append(between_events(call)[0])
    device.synchronize()
    return [milliseconds(*events) for events in spans]


def host_time(call: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds of one call, and its result."""
    start = time.perf_counter()
    result = call()
    return 1e3 * (time.perf_counter() - start), result


def device_time(call: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds of one call between CUDA events, from an idle device, and its result."""
    import cupy

    device = cupy.cuda.Device()
    device.synchronize()
    events, result = between_events(call)
    device.synchronize()
    return milliseconds(*events), result


def time_of(call: Callable[[], T], device: str) -> tuple[float, T]:
    """Seconds of one call on a device, and its result."""
    sample, result = device_time(call) if device == "cuda" else host_time(call)
    return sample / 1e3, result


def median_time(
    call: Callable[[], T], repeats: int, device: str, compiling: Call | None = None
) -> tuple[float, T]:
    """The median seconds of up to `repeats` calls, after one that compiles, and the last result.

    `compiling` is a short call that compiles as much.
    """
    samples, result = _repeated(call, repeats, device, compiling)
    return statistics.median(samples), result


def medians_in_turn(calls: dict[str, Call], repeats: int, device: str) -> dict[str, float]:
    """The median seconds of calls that take turns, after a round that compiles, in random orders.

    So a drift of the machine, and the threads that a call leaves spinning, affect all alike. There are
    `repeats` rounds, more while all together are short, and fewer where they are long.
    """
    for call in calls.values():
        call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    generator, total, rounds = random.Random(0), 0.0, 0
    while not rounds or (rounds < repeats and total < LONG_SECONDS * len(calls)) or total < SHORT_SECONDS:
        for name in generator.sample(list(calls), len(calls)):
            seconds = time_of(calls[name], device)[0]
            samples[name].append(seconds)
            total += seconds
        rounds += 1
    return {name: statistics.median(found) for name, found in samples.items()}


def least_time(call: Callable[[], T], repeats: int, device: str) -> tuple[float, T]:
    """As `median_time`, but the shortest time: other work on the machine can only slow a call down."""
    samples, result = _repeated(call, repeats, device)
    return min(samples), result


def _repeated(
    call: Callable[[], T], repeats: int, device: str, compiling: Call | None = None
) -> tuple[list[float], T]:
    result: T | None = time_of(compiling or call, device)[1]
    samples: list[float] = []
    while not samples or (len(samples) < repeats and sum(samples) < LONG_SECONDS):
        result = None  # releases its memory before the next call
        seconds, result = time_of(call, device)
        samples.append(seconds)
    return samples, cast(T, result)


def occupy() -> None:
    """Queue work on the device, so that the host runs ahead of it."""
    import cupy

    memory = cupy.empty(HEAD_START["bytes"], "uint8")
    for _ in range(HEAD_START["fills"]):
        memory.data.memset_async(0, memory.nbytes)


def between_events(call: Callable[[], T]) -> tuple[tuple[Any, Any], T]:
    """The CUDA events before and after a call, and its result."""
    import cupy

    before, after = cupy.cuda.Event(), cupy.cuda.Event()
    before.record()
    result = call()
    after.record()
    return (before, after), result


@contextlib.contextmanager
def timed_calls(module: Any, name: str, clock: Callable[[Call], tuple[Any, Any]]) -> Iterator[list[Any]]:
    """Time all calls of a module's function inside the context; yields the list of their times."""
    function = getattr(module, name)
    times: list[Any] = []

    def timed(*arguments: Any, **options: Any) -> Any:
        sample, result = clock(partial(function, *arguments, **options))
        times.append(sample)
        return result

    setattr(module, name, timed)
    try:
        yield times
    finally:
        setattr(module, name, function)


def host_peak(call: Callable[[], T]) -> tuple[int, T]:
    """The most bytes that Python and NumPy hold at once during a call, and its result."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def threads() -> int:
    """The threads of the CPU that Numba uses."""
    return int(numba.get_num_threads())


@contextlib.contextmanager
def numba_threads(count: int) -> Iterator[None]:
    """Let Numba use `count` threads inside the context."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def milliseconds(before: Any, after: Any) -> float:
    """The time between two CUDA events."""
    import cupy

    return float(cupy.cuda.get_elapsed_time(before, after))


def copy_bandwidths(size: int, repeats: int) -> list[float]:
    """GB/s of copies of `size` bytes on the device, read plus written bytes."""
    import cupy

    source, target = cupy.zeros(size, "uint8"), cupy.empty(size, "uint8")
    copy = partial(target.data.copy_from_device_async, source.data, size)
    samples = device_samples(copy, repeats, queued=True)
    return [2 * size / (sample * 1e6) for sample in samples]


def upload_bandwidths(size: int, repeats: int) -> list[float]:
    """GB/s of copies of `size` bytes from pinned memory of the host to the device."""
    import cupy

    from linforest_precond.backends.cuda.runtime.uploads import pinned_empty

    source, target = pinned_empty(size, "uint8"), cupy.empty(size, "uint8")
    copy = partial(target.data.copy_from_host_async, source.ctypes.data, size)
    return [size / (sample * 1e6) for sample in device_samples(copy, repeats, queued=True)]


def host_copy_bandwidths(size: int, repeats: int) -> list[float]:
    """GB/s of copies of `size` bytes on one thread of the CPU, read plus written bytes."""
    source, target = np.zeros(size, "uint8"), np.empty(size, "uint8")
    source.fill(1)  # untouched zeros would all be read from one physical page
    samples = host_samples(partial(np.copyto, target, source), repeats)
    return [2 * size / (sample * 1e9) for sample in samples]
