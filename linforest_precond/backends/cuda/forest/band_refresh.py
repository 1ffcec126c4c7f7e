"""New values for bands along a forest: one pass copies, checks and sums them, and hashes the pattern."""

import numpy as np

from linforest_precond.backends.returns import ValueScan

from ..matrix.entries import BAD_ROW, LARGEST, NONFINITE, SUMS, WORDS
from ..matrix.sums import CHUNK, tree_sum_on_device
from ..runtime.launch import BLOCK, launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct

PATHS = Struct("Paths", "forest/band_refresh.cu", slots="P", rank="P", lower="P", diagonal="P", upper="P")
# The words of a pattern's hash, at the end of the report.
DIGEST_WORDS = 2


def copy_values(indptr, indices, data, forest):
    """The bands along a forest whose slots are those of this CSR matrix, and the report for `read_report`.

    The index arrays may be any: where the report has another digest than that of the forest's matrix, the
    bands are void.
    """
    program = kernels("forest/band_refresh", VALUE=data.dtype.type, INDEX=indices.dtype.type)
    bands = lower, diagonal, upper = tuple(cupy.empty(indptr.size - 1, data.dtype) for _ in range(3))
    paths = PATHS(slots=forest.slots, rank=forest.rank, lower=lower, diagonal=diagonal, upper=upper)
    return bands, run_pass(program.begin_refresh, program.refresh_bands, indptr, indices, data, paths)


def run_pass(begin, refresh, indptr, indices, data, target):
    """Launch the kernels of one pass over a matrix, which write `target`; the report for `read_report`."""
    rows, entries = indptr.size - 1, indices.size
    report, chunks = cupy.zeros(WORDS + SUMS + DIGEST_WORDS, np.uint64), -(-entries // CHUNK)
    chunk_row, chunk_sums = cupy.empty(chunks, indices.dtype), cupy.empty((SUMS, chunks))
    launch(begin, (indptr, rows, entries, target, chunk_row, report), items=rows)
    arguments = indptr, _aligned(indices), data, rows, entries, target, chunk_row, chunk_sums, report
    launch(refresh, arguments, items=chunks * BLOCK)
    tree_sum_on_device(chunk_sums, report[WORDS : WORDS + SUMS].view(np.float64))
    return report


def read_report(report, dtype):
    """The `ValueScan` of a report of `copy_values`."""
    words = report.get()  # stall: decides whether the bands are used
    total, adjacent = words[WORDS : WORDS + SUMS].view(np.float64).tolist()
    return ValueScan(
        valid=not (words[BAD_ROW] or words[NONFINITE]),
        total=total,
        adjacent=adjacent,
        # The bits of a float, or the upper half of those of a double, above its mantissa.
        biased_exponent=int(words[LARGEST]) >> np.finfo(dtype).nmant % 32,
        digest=words[WORDS + SUMS :].tolist(),
    )


def _aligned(indices):
    """The indices, copied where their address does not allow vectorized loads."""
    return indices if indices.data.ptr % (4 * indices.itemsize) == 0 else indices.copy()
