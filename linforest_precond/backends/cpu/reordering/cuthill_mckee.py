"""The Cuthill-McKee order, the same for every method and number of threads.

E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", ACM National Conference 1969,
https://doi.org/10.1145/800195.805928.
"""

from functools import partial

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import kernel
from . import rcm_batch
from .pseudo_peripheral import find_starts
from .rcm_batch import available_threads
from .rcm_leveled import leveled
from .rcm_serial import partial_search, serial
from .rcm_unordered import unordered

METHODS = "serial", "leveled", "batch", "unordered"
PARALLEL = {"leveled": leveled, "batch": rcm_batch.batch, "unordered": unordered}
# The batch method pays off from these numbers of threads, of vertices, and of vertices in a frontier. Signals
# pass from batch to batch, in 1.3 µs for 64 vertices on 16 cores, so more threads need no wider frontiers.
# Doubled, the width leaves out a triangulation of 2**20 points (612), where batches take 0.38 of the serial
# time; a third of it takes in the grid of 1000 x 1000 (177), where they take 1.5.
MIN_THREADS, MIN_VERTICES, MIN_WIDTH = 4, 2**19, 512
# Shares of the vertices that are searched for the width. Frontiers mostly grow, so a wide start is enough.
LOOKS = 64, 16


def order(pattern, start, method, options=None):
    """Number all components, in the order of their lowest vertices; `options` are those of the batches."""
    if method == "auto":
        method = _choice(pattern, start)
    if method == "serial":
        return serial(pattern, start)
    number = PARALLEL[method] if options is None else partial(PARALLEL[method], options=options)
    if start is not None:
        # If everything is reachable from it, the components need not be computed.
        ordered = number(pattern, np.array([start], np.int32))
        if ordered.size == pattern.n:
            return ordered
    starts, labels = find_starts(pattern, start)
    ordered = number(pattern, starts)
    # The traversal interleaves the components, each in its own order.
    return ordered if labels is None else by_component(ordered, readonly(labels), starts.size)


def batch_profile(pattern, start, options=None):
    """The order from a start, or from those of all components; nanoseconds and counts of the batch method."""
    starts = find_starts(pattern)[0] if start is None else np.array([start], np.int32)
    return rcm_batch.profile(pattern, starts, options)


def _choice(pattern, start):
    """The method that is likely to be fastest, by the width of the first frontiers."""
    if pattern.n < MIN_VERTICES or available_threads() < MIN_THREADS:
        return "serial"
    # Vertices of low degree may be isolated, those of high degree are in a large component.
    firsts = (pattern.degrees.argmin(), pattern.degrees.argmax()) if start is None else (start,)
    wide = any(
        width_near(pattern, int(v), pattern.n // share) >= MIN_WIDTH for share in LOOKS for v in firsts
    )
    return "batch" if wide else "serial"


def width_near(pattern, first, limit):
    """The mean number of vertices in the first frontiers of a search, which reach `limit` vertices."""
    reached, depth = partial_search(readonly(pattern.indptr), readonly(pattern.indices), first, limit)
    return reached / (depth + 1)


# Stable counting sort by component.
@kernel
def by_component(order, labels, count):
    places = np.zeros(count + 1, np.int64)
    for label in labels:
        places[label + 1] += 1
    places = np.cumsum(places)
    ordered = np.empty_like(order)
    for v in order:
        ordered[places[labels[v]]] = v
        places[labels[v]] += 1
    return ordered
