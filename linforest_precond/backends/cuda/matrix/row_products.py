"""Launches of kernels that multiply by the functions of row_products.cuh."""

from ..runtime.column_sums import THREADS
from ..runtime.generated_headers import generate_header

# The products of longer rows are not summed by one thread in stored order, but in pieces.
LONGEST_ROW = 256
# Entries of a chunk: 32 rows of nine entries, or fewer that are wide.
CHUNK_ENTRIES, WIDE_CHUNK_ENTRIES = 32 * 9, 32 * 4
WARPS = THREADS // 32

generate_header(
    "matrix/row_limits.cuh",
    LONGEST_ROW=LONGEST_ROW,
    NARROW_CHUNK_ENTRIES=CHUNK_ENTRIES,
    WIDE_CHUNK_ENTRIES=WIDE_CHUNK_ENTRIES,
)


def chunk_memory(value, index):
    """The bytes of shared memory that the chunks of a block take: two for each warp."""
    entries = CHUNK_ENTRIES if value.itemsize <= 8 else WIDE_CHUNK_ENTRIES
    return 2 * WARPS * entries * (value.itemsize + index.itemsize)
