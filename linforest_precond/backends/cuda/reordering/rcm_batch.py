"""The batch Cuthill-McKee order: blocks discover the children of later batches speculatively."""

import numpy as np

from ..runtime.launch import launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .rcm_leveled import NOT_MARKED

# Vertices of a batch (no more than threads of a block), threads of a worker, workers to a multiprocessor.
BATCH, BLOCK, WORKERS = 64, 256, 1
# Polls without progress after which the watchdog expires; one takes some hundred nanoseconds.
PATIENCE = 1 << 23

BATCH_TRAVERSAL = Struct(
    "BatchTraversal", "reordering/rcm_batch.cu",
    spans="P", neighbours="P", marks="P", order="P", ranges="P", signals="P", vertices="i", start_count="i",
    batch_size="I", patience="I",
)  # fmt: skip
# 64-bit words of the struct Signals: the offsets of `counted` and of `done` and `failed`, and its size.
COUNTED, ENDED, SIGNAL_WORDS = 1, 5, 6
# Of a batch that is not made, or of progress that no batch has published.
UNUSED = np.uint64(2**64 - 1)


def traverse(rows, starts, batch=None, block=None, workers=None, patience=PATIENCE):
    """The vertices in Cuthill-McKee order, with all components interleaved as in `rcm_leveled.traverse`."""
    n, count = rows.by_rank.size, starts.size
    batch, block = batch or BATCH, block or BLOCK
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    order.fill(-1)
    order[:count] = starts
    marks.fill(NOT_MARKED)
    marks[starts] = -1
    ranges, signals = _first_batches(n, count, batch)
    arguments = BATCH_TRAVERSAL(
        spans=rows.spans, neighbours=rows.neighbours, marks=marks, order=order, ranges=ranges,
        signals=signals, vertices=n, start_count=count, batch_size=batch, patience=patience,
    )  # fmt: skip
    workers = workers or WORKERS * cupy.cuda.Device().attributes["MultiProcessorCount"]
    program = kernels("reordering/rcm_batch", cooperative=True, **rows.macros)
    launch_blocks(program.traverse_batches, workers, (arguments,), block=block)
    done, failed = signals[ENDED:].view(np.uint32).tolist()  # stall: whether the traversal failed
    if failed or (count < n and not done):
        raise RuntimeError(f"The batches of the traversal came to a halt (done {done}, failed {failed})")
    return order


def _first_batches(n, count, batch):
    """The ranges of the batches of starts, and the initial signals."""
    made = -(-count // batch)
    begins = cupy.arange(made, dtype=np.uint64) * np.uint64(batch)
    ends = cupy.minimum(begins + np.uint64(batch), np.uint64(count))
    ranges = cupy.empty(n, np.uint64)
    ranges.fill(UNUSED)
    ranges[:made] = begins << np.uint64(32) | ends
    words = np.zeros(SIGNAL_WORDS, np.uint64)
    # What batch -1 publishes: all starts have positions and batches. See `publish` in rcm_batch.cu.
    words[COUNTED : COUNTED + 2] = UNUSED
    words[COUNTED + 2] = 15 << 60 | count << 30 | count
    words[COUNTED + 3] = 0xFFFFFFFF << 32 | made
    if count == n:
        words[ENDED] = 1
    return ranges, cupy.asarray(words)
