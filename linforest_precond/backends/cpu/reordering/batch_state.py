"""Shared and thread-local state of the batch Cuthill-McKee order."""

from typing import NamedTuple

import numpy as np

from ..matrix.entries import wide_pattern
from .rcm_leveled import initial_state

# 64-bit words of a cache line. Words that many threads poll have lines of their own: no false sharing.
LINE = 8
# The shared counters: batches taken, the last batch that has counted its children, positions filled at the
# end, and flags for completion and for an error.
TAKEN, COUNTED, WRITTEN, DONE, BROKEN = (LINE * i for i in range(5))
COUNTERS = 5 * LINE
# The fields of a line: the number of the batch whose turn it is, and what its predecessor hands over: the
# positions assigned, the batches made, the first position that is in no batch yet, and the sum of degrees
# from there on.
TURN, ASSIGNED, MADE, PENDING, OVERHANG = range(5)
# Successive batches poll different lines, modulo TURNS; each waits for its own number there.
TURNS = 64
# In the queue: a batch that is not made yet.
NOT_MADE = -1

# How batches are made of new positions: `size` at a time; as few as an ideal packing needs, with the degrees
# spread evenly; or by next-fit packing into more than enough.
BY_SIZE, EVENLY, WITH_SPARES = range(3)

# The fields of a batch in progress: its stage, number, range of positions, children and their sum of degrees;
# where they go, the batches that it makes, and the positions and degrees that its predecessors left to it.
STAGE, BATCH, BEGIN, END, COUNT, DEGREES, PLACE, FIRST, NEW, LEFT_FROM, LEFT_DEGREES = range(11)
FIELDS = 11
# The stages: none; waits until it is made; has candidates, and waits until all lower batches have marked
# their neighbours; has children, and waits until all lower batches have counted theirs; has their positions.
FREE, QUEUED, SPECULATIVE, CONFIRMED, PLACED, STOPPED = range(6)

# The statistics of a worker: nanoseconds in each part, the time of the last reading, then counts.
DISCOVER, SORT, REDISCOVER, SIGNAL, OUTPUT, STALL, LAST = range(7)
DEQUEUED, EXECUTED, EARLY, CANDIDATES, CHILDREN, SWITCHED = range(7, 13)
STATISTICS = 13


class Graph(NamedTuple):
    """A pattern for kernels."""

    indptr: np.ndarray
    indices: np.ndarray
    degrees: np.ndarray


class Shared(NamedTuple):
    """The arrays that all threads share."""

    order: np.ndarray
    marks: np.ndarray
    ranges: np.ndarray  # of each batch, begin in the upper half and end in the lower, or NOT_MADE
    marked: np.ndarray  # TURNS lines: all lower batches have marked their neighbours
    counted: np.ndarray  # TURNS lines: all lower batches have counted their children
    counters: np.ndarray


class Rules(NamedTuple):
    """The options of a run, and the watchdog's patience."""

    early: bool
    packing: int
    concurrent: int
    size: int
    capacity: int
    timed: bool
    patience: int


class Buffers(NamedTuple):
    """The candidates or children of a worker's batches, a row for each batch in progress."""

    children: np.ndarray
    degrees: np.ndarray
    offsets: np.ndarray  # of the children of each position


def graph_of(pattern):
    """The pattern with 64-bit pointers."""
    return Graph(*wide_pattern(pattern))


def rules_of(options, patience, timed=False):
    """The options as kernels read them."""
    packing = (WITH_SPARES if options.overestimate else EVENLY) if options.balanced else BY_SIZE
    sizes = options.concurrent, options.size, options.capacity
    return Rules(options.early, packing, *sizes, timed, patience)


def prepare(pattern, starts, options):
    """The state in which the starts are in batches and none is taken."""
    order, marks = initial_state(pattern, starts)
    # A batch has at least one vertex, except for spares: see `batches_for`.
    most = 3 * pattern.n if options.overestimate else pattern.n
    ranges, counters = np.full(most, NOT_MADE, np.int64), np.zeros(COUNTERS, np.int64)
    marked, counted = np.zeros((2, LINE * TURNS), np.int64)
    begins = np.arange(0, starts.size, options.size, dtype=np.int64)
    ranges[: begins.size] = begins << 32 | np.minimum(begins + options.size, starts.size)
    counted[[ASSIGNED, MADE, PENDING]] = starts.size, begins.size, starts.size
    counters[WRITTEN] = starts.size
    counters[DONE] = starts.size == pattern.n
    return Shared(order, marks, ranges, marked, counted, counters)
