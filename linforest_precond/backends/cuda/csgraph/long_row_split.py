"""Long rows cut into pieces, which warps share."""

from typing import Any, NamedTuple

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address

# Entries of a piece: for searches, and for sums.
PIECE, SUMMED_PIECE = 256, 64
# The struct in long_row_split.cuh, as it is passed to `list_pieces`, and as a field of others.
LONG_ROWS = Struct("LongRows", "csgraph/long_row_split.cuh", rows="P", first="P", owners="P", counts="P")
LONG_ROWS_FIELD = "PPPP"


class LongRows(NamedTuple):
    """The rows that are cut, as long_row_split.cuh reads them; arrays are None where there are none."""

    rows: Any
    first: Any
    owners: Any
    counts: Any
    # There are no more than so many rows and pieces.
    most_rows: int
    most_pieces: int

    @property
    def field(self):
        """The struct's value as a field."""
        return [address(array) for array in self[:4]]

    def measured(self):
        """How many rows and pieces there are."""
        return (0, 0) if self.counts is None else self.counts.tolist()  # stall: to size what they need


def cut_long_rows(indptr, nnz, longest_row, piece):
    """Cut the rows of more than `piece` entries."""
    if longest_row <= piece:
        return LongRows(None, None, None, None, 0, 0)
    most_rows = nnz // piece
    most_pieces = nnz // piece + most_rows
    rows, first = cupy.empty(most_rows, np.int32), cupy.empty(most_rows, np.uint32)
    owners, counts = cupy.empty(most_pieces, np.uint32), cupy.zeros(2, np.uint32)
    found = LongRows(rows, first, owners, counts, most_rows, most_pieces)
    program = kernels("csgraph/long_row_split", INDEX=indptr.dtype.type, PIECE=piece)
    arguments = LONG_ROWS(rows=rows, first=first, owners=owners, counts=counts)
    launch(program.list_pieces, (indptr, indptr.size - 1, arguments))
    return found
