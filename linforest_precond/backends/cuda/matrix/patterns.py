"""The pattern of a matrix: checked in one pass without its values, and hashed to 128 bits."""

import numpy as np

from linforest_precond.backends.returns import PatternScan

from ..runtime import INDICES, Program, cupy, launch
from .entries import SYMMETRY, WORDS, index_scan
from .sums import CHUNK

SCAN = Program("matrix/pattern_scan", INDEX=INDICES)
DIGEST = Program("matrix/pattern_digest", INDEX=INDICES)


def scan_pattern(indptr, indices):
    rows, nnz = indptr.size - 1, indices.size
    program = SCAN(INDEX=indices)
    report, chunk_row = cupy.zeros(WORDS, np.uint64), cupy.empty(-(-nnz // CHUNK), indices.dtype)
    degrees = cupy.empty(rows, np.int32)
    launch(program.chunk_rows_of_pattern, (indptr, indices, rows, nnz, chunk_row, degrees, report))
    launch(program.scan_pattern, (indptr, indices, rows, nnz, chunk_row, degrees, report))
    words = report.get()  # stall: indices must be valid before they are used
    return PatternScan(*index_scan(words), not words[SYMMETRY], degrees)


def digest(arrays):
    """The two words of the hash, on the device."""
    words, first = cupy.zeros(2, np.uint64), 0
    arrays = [cupy.ascontiguousarray(array) for array in arrays]
    while first < len(arrays):
        own, *others = arrays[first : first + 2]
        others = [other for other in others if other.dtype == own.dtype]
        both = own, own.size, *((others[0], others[0].size) if others else (0, 0))
        launch(DIGEST(INDEX=own).sum_groups, (*both, np.uint64(first), words))
        first += 1 + len(others)
    return words
