"""Smoothed aggregation: aggregates of strongly coupled unknowns, the smoothed prolongator, its adjoint."""

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.returns import StrongGraph

from ..csgraph.independent_set import independent_set
from ..matrix.entries import SHORT_COLUMN, canonical, lanes_for, rows_of, symmetrized, transposed
from ..runtime import INDICES, VALUES, Program, Struct, address, cupy, launch, wide_type

# Lanes per row, for the given mean number of entries at most; else MOST_LANES.
TEAMS, MOST_LANES = {1: 10, 4: 24}, 8
# As in row_teams.cuh: threads of a block.
THREADS = 128
# As in smoothed_aggregation.cu: terms of a row that a team merges, for each of its lanes.
TERMS_PER_LANE = 16
# Entries of a row that are numbered from 1 in 15 bits, and of a prolongator whose places have 32 bits.
MOST_ENTRIES, MOST_PLACES = 2**15 - 1, 2**32 - 1
# Blocks of a grid, each of which has a total in grid_scan.
MOST_BLOCKS = 4096

MATRIX_FIELD = "PPPPq"
MATRIX = Struct("Matrix", "multigrid/row_teams.cuh")
COUPLINGS = Struct("Couplings", "multigrid/strong_couplings.cuh", matrix=MATRIX_FIELD)
FILTER = Struct("Filter", "multigrid/prolongator_rows.cuh", matrix=MATRIX_FIELD)
STRONG_GRAPH = Struct("StrongGraph", "multigrid/joined_neighbors.cuh")
ADJOINT = Struct("Adjoint", "multigrid/prolongator_adjoint.cuh")
# The words of a setup before the totals, in the order of `Word`; the host reads the first READ.
COUNT, BALANCE, MOST, ENTRIES, LONGEST, READ, TOTALS = *range(5), 5, 9
PROGRAM = Program(
    "multigrid/smoothed_aggregation", cooperative=True, VALUE=VALUES, INDEX=INDICES, TEAM=(*TEAMS, MOST_LANES)
)


class Measured(NamedTuple):
    """The strong couplings of a matrix, and what is known of the prolongator before it is filled."""

    least: Any  # the least magnitude of each row's strong couplings
    indptr: Any
    columns: Any  # the number of entries of each column, and room for more
    most: int  # terms of a row
    entries: int
    longest: int  # entries of a column
    words: Any


def aggregate(csr, strength, seed, signed=True):
    if not csr.n:
        return cupy.empty(0, csr.indices.dtype), 0, None
    words = _new_words(csr)
    graph, least, couplings, kept = _strong_graph(csr, strength, signed, words)
    if not csr.symmetric:
        graph = _with_mirrors(csr, graph)
    found = _joined_and_measured(csr, couplings, graph, least, signed, seed, words)
    # Strong couplings of a matrix with symmetric magnitudes are symmetric unless signs differ.
    if csr.symmetric and found[1]:
        graph = _with_mirrors(csr, graph)
        found = _joined_and_measured(csr, couplings, graph, least, signed, seed, _new_words(csr))
    numbers, _, count, measured = found
    return numbers, count, measured


def smoothed_prolongator(csr, strength, numbers, count, signed=True, strong=None):
    index, marks = csr.indices.dtype, cupy.zeros(csr.nnz, np.uint8)
    if not csr.n:
        empty = cupy.zeros(1, index), cupy.empty(0, index), cupy.empty(0, csr.data.dtype)
        return empty, empty, marks
    if strong is None:
        words = _new_words(csr)
        _, least, *_ = _strong_graph(csr, strength, signed, words)
        indptr, columns = _measure(csr, _filter(csr, least, signed), numbers, True, count, words)
        sizes = words[:READ].tolist()  # stall: the size of P
        strong = Measured(least, indptr, columns, *sizes[MOST:], words)
    filtered = _filter(csr, strong.least, signed, marks)
    if strong.most > TERMS_PER_LANE * _lanes(csr) or csr.longest_row > MOST_ENTRIES:
        P = _merged_terms(csr, filtered, numbers)
        return P, _adjoint(P, count), marks
    P = strong.indptr, cupy.empty(strong.entries, index), cupy.empty(strong.entries, csr.data.dtype)
    if strong.longest > SHORT_COLUMN or strong.entries > MOST_PLACES:
        absent = dict.fromkeys(ADJOINT.fields, 0)
        _launch(csr, "fill_columns", (filtered, numbers, *P, ADJOINT(**absent), strong.words))
        return P, _adjoint(P, count), marks
    slots, rows, indices = (cupy.empty(strong.entries, index) for _ in range(3))
    R = cupy.empty(count + 1, index), indices, cupy.empty(strong.entries, csr.data.dtype)
    adjoint = ADJOINT(
        indptr=R[0], indices=R[1], data=R[2], columns=strong.columns, slots=slots, rows=rows, count=count,
        entries=strong.entries, lanes=lanes_for(strong.entries, count),
    )  # fmt: skip
    _launch(csr, "fill_columns", (filtered, numbers, *P, adjoint, strong.words))
    return P, R, marks


def prolongator_values(csr, numbers, count, kept, indptr, indices):
    """The values of P = (I - W F) T on its known pattern, for other values of A: F keeps the same couplings.

    ValueError if the pattern is not that of P; where it is not noticed, other entries of it are 0.
    """
    if not csr.n:
        return cupy.empty(0, csr.data.dtype)
    filtered = FILTER(matrix=_matrix_field(csr), least=None, known=kept, marks=None, is_signed=False)
    if csr.longest_row > TERMS_PER_LANE * _lanes(csr):
        *_, data = _merged_terms(csr, filtered, numbers)
        if data.size != indices.size:
            raise ValueError("the prolongator's pattern is not that of its aggregates")
        return data
    data = cupy.empty(indices.size, csr.data.dtype)
    _launch(csr, "fill_values", (filtered, numbers, indptr, indices, data))
    return data


def l1_weights(csr, factor, stored):
    narrow = stored.itemsize < csr.data.dtype.itemsize
    weights = cupy.empty(csr.n, stored if narrow else csr.data.dtype)
    tiny = float(np.finfo(stored).tiny)
    matrix = MATRIX(indptr=csr.indptr, indices=csr.indices, data=csr.data, diagonal=csr.diagonal, n=csr.n)
    _launch(csr, "weigh_rows", (matrix, float(factor), tiny, int(narrow), weights))
    return weights.astype(stored, copy=False)


def _lanes(csr):
    """Lanes per row: few for short rows, and enough to merge the terms of the longest one, if any are."""
    for lanes, mean in TEAMS.items():
        if csr.nnz <= mean * csr.n and csr.longest_row < TERMS_PER_LANE * lanes:
            return lanes
    return MOST_LANES


def _launch(csr, name, arguments):
    lanes = _lanes(csr)
    kernel = getattr(program_of(csr, lanes), name)
    launch(kernel, arguments, block=THREADS, items=_items(csr, lanes))


def program_of(csr, lanes):
    """The program for teams of `lanes` lanes per row."""
    return PROGRAM(TEAM=lanes, VALUE=csr.data, INDEX=csr.indices)


def likely_lanes(csr):
    """Lanes per row for a matrix, and for coarse matrices where their rows are somewhat longer."""
    teams, own = [*TEAMS, MOST_LANES], _lanes(csr)
    return dict.fromkeys([own, teams[min(teams.index(own) + 1, len(teams) - 1)]])


def _items(csr, lanes):
    return min(csr.n * lanes, MOST_BLOCKS * THREADS)


def _new_words(csr):
    """The zeroed words of a setup: as many totals as a grid has blocks."""
    return cupy.zeros(TOTALS + -(-_items(csr, _lanes(csr)) // THREADS), np.uint64)


def _matrix_field(csr):
    return [*map(address, (csr.indptr, csr.indices, csr.data, csr.diagonal)), csr.n]


def _strong_graph(csr, strength, signed, words):
    """The strong couplings of each row, the least ones that the prolongator keeps, the struct of all
    couplings, and the arrays that it refers to.
    """
    scales, strongest, least = cupy.empty((3, csr.n))
    columns, degrees = cupy.empty(csr.nnz, np.int32), cupy.empty(csr.n, np.int32)
    couplings = COUPLINGS(
        matrix=_matrix_field(csr), scales=scales, strongest=strongest, strength=float(strength),
        is_signed=bool(signed),
    )  # fmt: skip
    _launch(csr, "find_strong", (couplings, columns, degrees, least, words))
    return StrongGraph(csr.indptr, columns, degrees, csr.longest_row), least, couplings, (scales, strongest)


def _with_mirrors(csr, graph):
    """The union of a graph and its mirror image."""
    strong = (graph.indices != rows_of(csr.indptr, csr.nnz)).astype(np.float32)
    indptr, indices, found, _ = symmetrized(csr.indptr, csr.indices, strong)
    columns, degrees = cupy.empty(indices.size, np.int32), cupy.empty(csr.n, np.int32)
    _launch(csr, "mask_columns", (indptr, indices, found, csr.n, columns, degrees))
    longest_row = int((indptr[1:] - indptr[:-1]).max())  # stall: decides whether rows are split
    return StrongGraph(indptr, columns, degrees, longest_row)


def _joined_and_measured(csr, couplings, graph, least, signed, seed, words):
    """The numbers of the aggregates, the asymmetry of the couplings, the count, and `Measured`."""
    numbers = _join(csr, couplings, graph, seed, words)
    indptr, columns = _measure(csr, _filter(csr, least, signed), numbers, True, csr.n, words)
    count, balance, *sizes = words[:READ].tolist()  # stall: the sizes of the aggregates and the prolongator
    return numbers, balance, count, Measured(least, indptr, columns, *sizes, words)


def _join(csr, couplings, graph, seed, words):
    """The numbers of the aggregates; their count is written to `words`."""
    members = independent_set(graph, 2, seed)
    ranks, near, numbers = *cupy.empty((2, csr.n), np.int32), cupy.empty(csr.n, csr.indices.dtype)
    pattern = STRONG_GRAPH(indptr=graph.indptr, columns=graph.indices, degrees=graph.degrees)
    _launch(csr, "join_aggregates", (couplings, pattern, members, ranks, near, numbers, words))
    return numbers


def _filter(csr, least, signed, marks=None):
    return FILTER(matrix=_matrix_field(csr), least=least, known=None, marks=marks, is_signed=bool(signed))


def _measure(csr, filtered, numbers, distinct, width, words):
    """Where the rows of the prolongator begin, and the entries of its columns, `width` at most.

    Where the rows' terms begin, if they are not `distinct`.
    """
    indptr, columns = cupy.empty(csr.n + 1, csr.indices.dtype), cupy.empty(width, np.uint32)
    _launch(csr, "count_columns", (filtered, numbers, int(distinct), indptr, columns, width, words))
    return indptr, columns


def _adjoint(P, count):
    indptr, indices, data = P
    return transposed(indptr, indices, data.conj(), count)


def _merged_terms(csr, filtered, numbers):
    """The prolongator of a matrix with rows of many strong couplings: all terms are sorted and added up."""
    index, wide = csr.indices.dtype, np.dtype(wide_type(csr.data.dtype))
    words = _new_words(csr)
    begins, _ = _measure(csr, filtered, numbers, False, 0, words)
    terms = words[ENTRIES].item()  # stall: how many
    rows, columns = cupy.empty((2, terms), index)
    values = cupy.empty(terms, wide)
    _launch(csr, "write_terms", (filtered, numbers, begins, rows, columns, values))
    indptr, indices, data = canonical(rows, columns, values, csr.n, index)
    return indptr, indices, data.astype(csr.data.dtype)
