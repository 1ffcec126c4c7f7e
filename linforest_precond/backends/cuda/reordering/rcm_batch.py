"""The order of Cuthill and McKee by workers that take batches of vertices in turn."""

import numpy as np

from ..runtime.launch import launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .rcm_leveled import NOT_MARKED

# Vertices of a batch (no more than threads of a block), threads of a worker, workers to a multiprocessor.
BATCH, BLOCK, WORKERS = 64, 256, 1
# Polls without a move in the chain of batches that prove an error; one takes some hundred nanoseconds.
PATIENCE = 1 << 23

# The struct in batch.cu; the words of its chain, and the most of them.
BATCHES = Struct(
    "Batches", "reordering/rcm_batch.cu",
    spans="P", neighbours="P", marks="P", order="P", records="P", chain="P", vertices="i", start_count="i",
    batch_size="I", patience="I",
)  # fmt: skip
TAKEN, COUNTED, ENDED, CHAIN_WORDS = 0, 1, 5, 6
UNUSED = np.uint64(2**64 - 1)


def traverse(rows, starts, batch=None, block=None, workers=None, patience=PATIENCE):
    """The vertices in the order of all components' queues, as `leveled.traverse` gives them."""
    n, count = rows.by_rank.size, starts.size
    batch, block = batch or BATCH, block or BLOCK
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    order.fill(-1)
    order[:count] = starts
    marks.fill(NOT_MARKED)
    marks[starts] = -1
    records, chain = _first_batches(n, count, batch)
    arguments = BATCHES(
        spans=rows.spans, neighbours=rows.neighbours, marks=marks, order=order, records=records, chain=chain,
        vertices=n, start_count=count, batch_size=batch, patience=patience,
    )  # fmt: skip
    workers = workers or WORKERS * cupy.cuda.Device().attributes["MultiProcessorCount"]
    program = kernels("reordering/rcm_batch", cooperative=True, **rows.macros)
    launch_blocks(program.traverse_batches, workers, (arguments,), block=block)
    done, failed = chain[ENDED:].view(np.uint32).tolist()  # stall: an error must not pass for an answer
    if failed or (count < n and not done):
        raise RuntimeError(f"The batches of the traversal came to a halt (done {done}, failed {failed})")
    return order


def _first_batches(n, count, batch):
    """The records of the batches of starts, and the chain of those who work on them."""
    made = -(-count // batch)
    begins = cupy.arange(made, dtype=np.uint64) * np.uint64(batch)
    ends = cupy.minimum(begins + np.uint64(batch), np.uint64(count))
    records = cupy.empty(n, np.uint64)
    records.fill(UNUSED)
    records[:made] = begins << np.uint64(32) | ends
    words = np.zeros(CHAIN_WORDS, np.uint64)
    # What the batch before the first leaves: all starts have positions and batches. See `leave` in batch.cu.
    words[COUNTED : COUNTED + 2] = UNUSED
    words[COUNTED + 2] = 15 << 60 | count << 30 | count
    words[COUNTED + 3] = 0xFFFFFFFF << 32 | made
    if count == n:
        words[ENDED] = 1
    return records, cupy.asarray(words)
