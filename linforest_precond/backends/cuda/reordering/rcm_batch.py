"""The batch Cuthill-McKee order: blocks discover the children of later batches speculatively."""

import numpy as np

from linforest_precond.backends.batch_options import BatchOptions

from ..matrix.entries import WIDTHS
from ..runtime import INDICES, Program, Struct, cupy, launch_blocks, resident_blocks
from .rcm_leveled import NOT_MARKED

# Batches of a fixed number of vertices, one at a time for each block: the simplest ones.
DEFAULT = BatchOptions(balanced=False, concurrent=1)
# Threads of a worker: no fewer than vertices of a batch.
BLOCK = 256
# Bytes of shared memory for a batch in progress.
BATCH_BYTES = 6200
# Polls without progress after which the watchdog expires; one takes some hundred nanoseconds.
PATIENCE = 1 << 23

BATCH_TRAVERSAL = Struct("BatchTraversal", "reordering/batch_queue.cuh")
# 64-bit words of the struct Signals: the offsets of `counted`, of its words for odd batches, of `done` and
# `failed`, and its size.
COUNTED, ODD, ENDED, SIGNAL_WORDS = 1, 5, 9, 10
# Of a batch that is not made, or of progress that no batch has published.
UNUSED = np.uint64(2**64 - 1)
BY_SIZE, EVENLY, WITH_SPARES = range(3)
STATISTICS = (
    "discover", "rediscover", "signal", "output", "stall", "dequeued", "executed", "early", "children",
    "switched",
)  # fmt: skip
PROGRAM = Program(
    "reordering/rcm_batch", cooperative=True, INDEX=INDICES, WIDTH=WIDTHS, BATCH_BYTES=BATCH_BYTES
)


def traverse(rows, starts, options=None, block=None, patience=PATIENCE, statistics=None):
    """The vertices in Cuthill-McKee order, with all components interleaved as in `rcm_leveled.traverse`."""
    options, block = options or DEFAULT, block or BLOCK
    n, count = rows.by_rank.size, starts.size
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    order.fill(-1)
    order[:count] = starts
    marks.fill(NOT_MARKED)
    marks[starts] = -1
    ranges, signals = _first_batches(n, count, options)
    arguments = BATCH_TRAVERSAL(
        spans=rows.spans, neighbours=rows.neighbours, marks=marks, order=order, ranges=ranges,
        signals=signals, statistics=statistics, vertices=n, start_count=count, most_batches=ranges.size,
        batch_size=options.size, capacity=options.capacity, concurrent=options.concurrent,
        early=options.early, packing=_packing(options), patience=patience,
    )  # fmt: skip
    _launch(rows, arguments, options, block)
    done, failed = signals[ENDED:].view(np.uint32).tolist()  # stall: whether the traversal failed
    if failed or (count < n and not done):
        raise RuntimeError(f"The batches of the traversal came to a halt (done {done}, failed {failed})")
    if statistics is not None:
        statistics[len(STATISTICS)] = (ranges != UNUSED).sum()
    return order


def profile_rows(rows, starts, options=None):
    """The order, and the sums over all blocks of cycles and counts, by name."""
    statistics = cupy.zeros(len(STATISTICS) + 1, np.uint64)
    order = traverse(rows, starts, options, statistics=statistics)
    names = *STATISTICS, "generated"
    return order, dict(zip(names, statistics.tolist(), strict=True))  # stall: on demand


def _launch(rows, arguments, options, block):
    """The requested number of workers, limited to those that are resident at once."""
    kernel, shared_memory = PROGRAM(**rows.macros).traverse_batches, options.concurrent * BATCH_BYTES
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    workers = min(options.workers or multiprocessors, resident_blocks(kernel, shared_memory, block))
    launch_blocks(kernel, workers, (arguments,), shared_memory=shared_memory, block=block)


def _packing(options):
    if not options.balanced:
        return BY_SIZE
    return WITH_SPARES if options.overestimate else EVENLY


def _first_batches(n, count, options):
    """The ranges of the batches of starts, and the initial signals."""
    made = -(-count // options.size)
    begins = cupy.arange(made, dtype=np.uint64) * np.uint64(options.size)
    ends = cupy.minimum(begins + np.uint64(options.size), np.uint64(count))
    # A batch has at least one vertex, except for spares: see `batches_for` in batch_queue.cuh.
    ranges = cupy.empty(3 * n if options.overestimate else n, np.uint64)
    ranges.fill(UNUSED)
    ranges[:made] = begins << np.uint64(32) | ends
    words = np.zeros(SIGNAL_WORDS, np.uint64)
    # What batch -1 publishes: all starts have positions and batches. See `publish` in batch_queue.cuh.
    words[COUNTED : COUNTED + 3] = UNUSED
    words[ODD] = 15 << 60 | count << 30 | count
    words[ODD + 1] = 0xFFFFFFFF << 32 | made
    words[ODD + 2] = 0xFFFFFFFF << 32
    if count == n:
        words[ENDED] = 1
    return ranges, cupy.asarray(words)
