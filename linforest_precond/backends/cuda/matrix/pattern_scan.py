"""The pattern of a matrix, checked in one pass without its values."""

import numpy as np

from linforest_precond.backends.returns import PatternScan

from ..runtime import INDICES, Program, cupy, launch
from .entries import BAD_ROW, LONGEST_ROW, OUT_OF_RANGE, SYMMETRY, UNSORTED, WORDS, first_place
from .sums import CHUNK

PROGRAM = Program("matrix/pattern_scan", INDEX=INDICES)


def scan_pattern(indptr, indices):
    rows, nnz = indptr.size - 1, indices.size
    program = PROGRAM(INDEX=indices.dtype.type)
    report, chunk_row = cupy.zeros(WORDS, np.uint64), cupy.empty(-(-nnz // CHUNK), indices.dtype)
    degrees = cupy.empty(rows, np.int32)
    launch(program.chunk_rows_of_pattern, (indptr, rows, nnz, chunk_row, degrees, report))
    launch(program.scan_pattern, (indptr, indices, rows, nnz, chunk_row, degrees, report))
    words = report.get()  # stall: indices must be valid before they are used
    return PatternScan(
        first_bad_row=first_place(words[BAD_ROW]),
        first_out_of_range=first_place(words[OUT_OF_RANGE]),
        sorted=not words[UNSORTED],
        symmetric=not words[SYMMETRY],
        longest_row=int(words[LONGEST_ROW]),
        degrees=degrees,
    )
