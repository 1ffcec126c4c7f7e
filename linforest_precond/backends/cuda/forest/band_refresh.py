"""New values for bands whose entries have known slots, and what one pass finds in the matrix."""

import numpy as np

from linforest_precond.backends.returns import BandSlots, ValueScan

from ..matrix.sums import CHUNK, tree_sums_on_device
from ..runtime import BLOCK, INDICES, VALUES, Program, cupy, launch
from ..runtime.reports import Report

# The words of a report, in the order of `ValueReport` in band_refresh.cu.
NOT_FINITE, LARGEST, SUMS = range(3)
DIGEST = SUMS + 2
BLOCKS_DONE = DIGEST + 2
WORDS = BLOCKS_DONE + 1
PROGRAM = Program("forest/band_refresh", VALUE=VALUES, INDEX=INDICES)


def find_slots(csr, neighbors, order):
    program = PROGRAM(VALUE=csr.data, INDEX=csr.indices)
    places = cupy.empty((3, csr.n), csr.indices.dtype)
    launch(program.find_band_slots, (csr.indptr, csr.indices, csr.n, neighbors, order, places), items=csr.n)
    return with_places(csr, places)


def with_places(csr, places):
    """Known slots of a matrix, with the entries that are on the diagonal or next to it."""
    program = PROGRAM(VALUE=csr.data, INDEX=csr.indices)
    kinds = cupy.zeros(-(-csr.nnz // CHUNK) * BLOCK, np.uint16)
    launch(program.mark_kinds, (csr.indptr, csr.indices, csr.n, kinds), items=csr.n)
    return BandSlots(places, kinds, csr.nnz)


def refresh(indptr, indices, data, slots):
    """No stall, and no index is followed. The report of a factorization may be read with this one."""
    program = PROGRAM(VALUE=data, INDEX=indices)
    entries, chunks, places = indices.size, -(-indices.size // CHUNK), slots.places
    report, chunk_sums = Report().take(WORDS), cupy.empty((DIGEST - SUMS, chunks))
    bands = tuple(cupy.empty(places.shape[1:], data.dtype) for _ in range(3))
    matrix = indptr, indices, data, indptr.size - 1, entries, slots.kinds, chunk_sums, report.address
    wide, one = np.int32(places.dtype == np.int64), data.dtype.type(1)
    arguments = *matrix, places, wide, bands[0].size, one, *bands
    launch(program.refresh_bands, arguments, items=max(chunks * BLOCK, bands[0].size))
    if chunks > CHUNK:
        tree_sums_on_device(chunk_sums, report.address + 8 * SUMS)
    return report, bands


def read_report(report, dtype):
    words = report.get()  # stall: decides whether the bands are used
    total, adjacent = words[SUMS:DIGEST].view(np.float64).tolist()
    return ValueScan(
        finite=not words[NOT_FINITE],
        total=total,
        adjacent=adjacent,
        # The bits of a float, or the upper half of those of a double, above its mantissa.
        biased_exponent=int(words[LARGEST]) >> np.finfo(dtype).nmant % 32,
        digest=words[DIGEST:BLOCKS_DONE].tolist(),
    )
