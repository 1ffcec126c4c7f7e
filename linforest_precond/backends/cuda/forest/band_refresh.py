"""New values for bands whose entries have known slots, and what one pass finds in the matrix."""

import numpy as np

from linforest_precond.backends.returns import BandSlots, ValueScan

from ..matrix.sums import CHUNK, tree_sum_on_device
from ..runtime import cupy
from ..runtime.launch import BLOCK, launch
from ..runtime.loader import INDICES, VALUES, Program

# The words of a report, in the order of `ValueReport` in band_refresh.cu.
NOT_FINITE, LARGEST, SUMS = range(3)
DIGEST = SUMS + 2
WORDS = DIGEST + 2
PROGRAM = Program("forest/band_refresh", VALUE=VALUES, INDEX=INDICES)


def find_slots(csr, neighbors, order):
    """The slots of the bands' entries in a matrix."""
    program = PROGRAM(VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
    places = cupy.empty((3, csr.n), csr.indices.dtype)
    launch(program.find_band_slots, (csr.indptr, csr.indices, csr.n, neighbors, order, places), items=csr.n)
    return with_places(csr, places)


def with_places(csr, places):
    """Known slots of a matrix, with the entries that are on the diagonal or next to it."""
    program = PROGRAM(VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
    kinds = cupy.zeros(-(-csr.nnz // CHUNK) * BLOCK, np.uint16)
    launch(program.mark_kinds, (csr.indptr, csr.indices, csr.n, kinds), items=csr.n)
    return BandSlots(places, kinds, csr.nnz)


def describe(indptr, indices, data, slots):
    """The report for `read_report` of CSR arrays that should have the pattern of the slots; no stall.

    The index arrays may be any of the right lengths: none is followed.
    """
    program = PROGRAM(VALUE=data.dtype.type, INDEX=indices.dtype.type)
    entries, chunks = indices.size, -(-indices.size // CHUNK)
    report, chunk_sums = cupy.zeros(WORDS, np.uint64), cupy.empty((DIGEST - SUMS, chunks))
    arguments = indptr, indices, data, indptr.size - 1, entries, slots.kinds, chunk_sums, report
    launch(program.describe_values, arguments, items=chunks * BLOCK)
    tree_sum_on_device(chunk_sums, report[SUMS:DIGEST].view(np.float64))
    return report


def read_report(report, dtype):
    """The `ValueScan` of a report."""
    words = report.get()  # stall: decides whether the bands are used
    total, adjacent = words[SUMS:DIGEST].view(np.float64).tolist()
    return ValueScan(
        finite=not words[NOT_FINITE],
        total=total,
        adjacent=adjacent,
        # The bits of a float, or the upper half of those of a double, above its mantissa.
        biased_exponent=int(words[LARGEST]) >> np.finfo(dtype).nmant % 32,
        digest=words[DIGEST:].tolist(),
    )


def gather(data, slots):
    """The bands: the entries at the slots, 0 where there is none; no stall."""
    places, one = slots.places, data.dtype.type(1)
    program = PROGRAM(VALUE=data.dtype.type, INDEX=places.dtype.type)
    bands = tuple(cupy.empty(places.shape[1:], data.dtype) for _ in range(3))
    count = bands[0].size
    launch(program.gather_bands, (data, places, count, one, *bands), items=count)
    return bands
