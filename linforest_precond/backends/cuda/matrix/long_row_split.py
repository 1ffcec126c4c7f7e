"""Load balancing of rows: long ones split into pieces, short ones staged in shared memory."""

from typing import Any, NamedTuple

import numpy as np

from ..runtime import BLOCK, INDICES, Program, Struct, address, cupy, generate_header, launch

# Entries of a piece: for searches, for sums, and all lengths that callers choose.
PIECE, SUMMED_PIECE = 256, 64
PIECES = (SUMMED_PIECE, PIECE, 2048, 4096)
# The struct in long_row_split.cuh, as a kernel's argument, and as a field of other structs.
LONG_ROWS = Struct("LongRows", "matrix/long_row_split.cuh")
LONG_ROWS_FIELD = "PPPP"
# The products of longer rows are not summed by one thread in stored order, but in pieces (row_products.cuh).
LONGEST_ROW = 256
generate_header("matrix/row_limits.cuh", LONGEST_ROW=LONGEST_ROW)
# Up to this mean length, rows are staged in shared memory where they fit, a thread per row.
STAGED_MEAN = 16
STAGED_BYTES = 40 * 1024
PROGRAM = Program("matrix/long_row_split", INDEX=INDICES, PIECE=PIECES)


class LongRows(NamedTuple):
    """The arrays of the struct LongRows, all None where no row is long."""

    rows: Any
    first: Any
    owners: Any
    counts: Any
    # Upper bounds of the numbers of rows and pieces.
    most_rows: int
    most_pieces: int

    @property
    def field(self):
        """The struct's value as a field of another struct."""
        return [address(array) for array in self[:4]]

    @property
    def struct(self):
        """The struct as a kernel's argument."""
        return LONG_ROWS(rows=self.rows, first=self.first, owners=self.owners, counts=self.counts)

    def measured(self):
        """The numbers of rows and pieces."""
        return (0, 0) if self.counts is None else self.counts.tolist()  # stall: to size what they need


def split_long_rows(indptr, nnz, longest_row, piece, longest_whole=None):
    """Split rows longer than `longest_whole` (default: `piece`) into pieces of `piece` entries."""
    longest_whole = piece if longest_whole is None else longest_whole
    if longest_row <= longest_whole:
        return LongRows(None, None, None, None, 0, 0)
    most_rows = nnz // longest_whole
    most_pieces = nnz // piece + most_rows
    rows, first = cupy.empty(most_rows, np.int32), cupy.empty(most_rows, np.uint32)
    owners, counts = cupy.empty(most_pieces, np.uint32), cupy.zeros(2, np.uint32)
    found = LongRows(rows, first, owners, counts, most_rows, most_pieces)
    program = PROGRAM(INDEX=indptr, PIECE=piece)
    launch(program.list_pieces, (indptr, indptr.size - 1, longest_whole, found.struct))
    return found


def staged_entries(mean, entry_bytes):
    """Entries that a block stages: those of BLOCK rows of mean length, and a tenth more; 0 where it does not.

    A multiple of 32, so that 64-bit indices stored behind 32-bit weights are aligned. A thread would read its
    row uncoalesced where the rows of most blocks did not fit.
    """
    capacity = 32 * min(STAGED_BYTES // entry_bytes // 32, int(np.ceil(BLOCK * mean * 1.1 / 32)) + 1)
    return capacity if mean <= STAGED_MEAN and BLOCK * mean <= capacity else 0


def lanes_to_a_row(mean):
    """Lanes per row that is not staged."""
    return next(width for width in (8, 16, 32) if width == 32 or 2.5 * width >= mean)
