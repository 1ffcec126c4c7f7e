"""Rows of neighbours, sorted once by (degree, index) so that the traversals need not sort."""

from typing import Any, NamedTuple

import numpy as np

from ..matrix.entries import WIDTHS, lanes_for, rows_of
from ..runtime import INDICES, Program, cupy, launch

# Rank sort in each row if none is longer than this multiple of its lanes, else one sort of all entries.
COUNTED = 8
PROGRAM = Program("csgraph/sorted_neighbors", INDEX=INDICES, WIDTH=WIDTHS)


class NeighbourRows(NamedTuple):
    """Rows of neighbours as sorted_neighbors.cuh reads them."""

    # Offset and length of each row, and the neighbour words.
    spans: Any
    neighbours: Any
    # Each vertex's rank by (degree, index), and the inverse permutation.
    ranks: Any
    by_rank: Any
    # Lanes per row, and a bound on the number of items of `width` entries in all rows.
    width: int
    most_items: int
    # Types as macros for the programs that read them.
    macros: dict


def sorted_rows(pattern, width=None):
    """The rows of a symmetric pattern by (degree, index), without the diagonal."""
    n, nnz = pattern.n, pattern.nnz
    width = width or lanes_for(nnz, n)
    macros = {"INDEX": pattern.indptr.dtype.type, "WIDTH": width}
    program = PROGRAM(**macros)
    by_rank = cupy.argsort(pattern.degrees, kind="stable").astype(np.int32)
    ranks = cupy.empty_like(by_rank)
    ranks[by_rank] = cupy.arange(n, dtype=np.int32)
    neighbours = cupy.empty(nnz, np.uint32)
    if pattern.longest_row <= COUNTED * width:
        arguments = pattern.indptr, pattern.indices, pattern.degrees, ranks, n, neighbours
        launch(program.sort_short_rows, arguments)
    else:
        _sort_all(program, pattern, ranks, by_rank, neighbours)
    spans = _spans(program, pattern.indptr, pattern.degrees)
    return NeighbourRows(spans, neighbours, ranks, by_rank, width, n + nnz // width + 1, macros)


def plain_rows(pattern):
    """The rows of a pattern as stored, for breadth-first searches."""
    n, nnz = pattern.n, pattern.nnz
    width = lanes_for(nnz, n)
    macros = {"INDEX": pattern.indptr.dtype.type, "WIDTH": width}
    spans = _spans(PROGRAM(**macros), pattern.indptr)
    return NeighbourRows(spans, pattern.indices, None, None, width, n + nnz // width + 1, macros)


def _spans(program, indptr, lengths=None):
    """Offset and length of each row; by default all stored entries."""
    n = indptr.size - 1
    spans = cupy.empty((n, 2), indptr.dtype)
    launch(program.find_spans, (indptr, 0 if lengths is None else lengths, n, spans))
    return spans


def _sort_all(program, pattern, ranks, by_rank, neighbours):
    """Sort all entries at once by (row, rank)."""
    nnz = pattern.nnz
    keys = cupy.empty(nnz, np.uint64)
    rows = rows_of(pattern.indptr, nnz)
    launch(program.make_keys, (rows, pattern.indices, ranks, nnz, keys))
    keys.sort()
    launch(program.from_keys, (keys, by_rank, pattern.degrees, nnz, neighbours))
