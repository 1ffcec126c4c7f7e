"""Sums by a tree of fixed shape: the same bits as on the CPU."""

import numpy as np

from ..runtime import WEIGHTS, Program, Struct, address, cupy, generate_header, launch_blocks

CHUNK = 2048
# Arrays of one launch.
MOST = 4
generate_header("matrix/sum_sizes.cuh", MOST_SUMS=MOST)
SUMMANDS = Struct("Summands", "matrix/sums.cu", values="P" * MOST, counts="q" * MOST, chunks="q" * MOST)
PROGRAM = Program("matrix/sums", VALUE=WEIGHTS, INDEX=np.int32)


def tree_sum(x, scale=1.0):
    return tree_sums((x,), scale)[0]


def tree_sums(arrays, scale=1.0):
    parts = [tree_sums_on_device(arrays[i : i + MOST], scale=scale) for i in range(0, len(arrays), MOST)]
    return [each for sums in parts for each in sums.tolist()]  # stall: the sums are wanted on the host


def tree_sums_on_device(arrays, out=None, scale=1.0):
    """The sums of at most `MOST` arrays, into the zeroed array or address `out` if there is one; no stall."""
    arrays = [cupy.ascontiguousarray(x) for x in arrays]
    missing = [0] * (MOST - len(arrays))
    chunks = [-(-x.size // CHUNK) for x in arrays]
    words = cupy.zeros(2 * MOST + sum(chunks))  # the sums, a counter for each array, and the chunk sums
    summands = SUMMANDS(
        values=[address(x) for x in arrays] + missing,
        counts=[x.size for x in arrays] + missing,
        chunks=chunks + missing,
    )
    place = address(words)
    arguments = summands, float(scale), place + 8 * MOST, place + 16 * MOST, place if out is None else out
    if any(chunks):
        launch_blocks(PROGRAM(VALUE=arrays[0]).tree_sums, sum(chunks), arguments)
    return words[: len(arrays)]
