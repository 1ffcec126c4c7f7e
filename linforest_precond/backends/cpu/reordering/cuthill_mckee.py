"""The Cuthill-McKee order: one for all methods and any number of threads."""

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import kernel
from .pseudo_peripheral import find_starts
from .rcm_batch import available_threads, batch
from .rcm_leveled import leveled
from .rcm_serial import narrow_walk, serial

METHODS = "serial", "leveled", "batch"
PARALLEL = {"leveled": leveled, "batch": batch}
# Batches pay for that many threads and vertices at least, and vertices a level for each thread.
THREADS, VERTICES, WIDTH = 4, 2**15, 32


def order(pattern, start, method):
    """Number all components, in the order of their lowest vertices."""
    if method == "auto":
        method = _choice(pattern, start)
    if method == "serial":
        return serial(pattern, start)
    number = PARALLEL[method]
    if start is not None:
        # If it reaches everything, nothing has to be known about components.
        ordered = number(pattern, np.array([start], np.int32))
        if ordered.size == pattern.n:
            return ordered
    starts, labels = find_starts(pattern, start)
    ordered = number(pattern, starts)
    # All components are numbered at once, each in its own order.
    return ordered if labels is None else by_label(ordered, readonly(labels), starts.size)


def _choice(pattern, start):
    """The method that is likely to be fastest, by how wide a graph is near its start."""
    threads = available_threads()
    if threads < THREADS or pattern.n < VERTICES:
        return "serial"
    first = int(pattern.degrees.argmin()) if start is None else start
    return "batch" if width_near(pattern, first) >= WIDTH * threads else "serial"


def width_near(pattern, first):
    """Vertices a level, among the first few levels."""
    limit = pattern.n // 16
    reached, depth = narrow_walk(readonly(pattern.indptr), readonly(pattern.indices), first, limit)
    return reached / (depth + 1)


# Sort by component, each one's vertices as they come.
@kernel
def by_label(order, labels, count):
    places = np.zeros(count + 1, np.int64)
    for label in labels:
        places[label + 1] += 1
    places = np.cumsum(places)
    ordered = np.empty_like(order)
    for v in order:
        ordered[places[labels[v]]] = v
        places[labels[v]] += 1
    return ordered
