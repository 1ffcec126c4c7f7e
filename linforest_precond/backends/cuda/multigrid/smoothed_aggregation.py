"""Smoothed aggregation: aggregates of strongly coupled unknowns, and the smoothed prolongator."""

import numpy as np

from linforest_precond.backends.returns import StrongGraph

from ..csgraph.independent_set import independent_set
from ..matrix.entries import canonical, rows_of, symmetrized
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type
from ..runtime.structs import Struct, address

# Lanes per row, for the given mean number of entries at most; else MOST_LANES.
TEAMS, MOST_LANES = {1: 10, 4: 24}, 8
# As in row_teams.cuh: threads of a block.
THREADS = 128
# As in smoothed_aggregation.cu: terms of a row that a team merges, for each of its lanes.
TERMS_PER_LANE = 16
# Entries of a row that are numbered from 1 in 15 bits.
MOST_ENTRIES = 2**15 - 1

_FILE = "multigrid/smoothed_aggregation.cu"
MATRIX_FIELD = "PPPPq"
MATRIX = Struct("Matrix", "multigrid/row_teams.cuh", indptr="P", indices="P", data="P", diagonal="P", n="q")
COUPLINGS = Struct(
    "Couplings", "multigrid/strong_couplings.cuh",
    matrix=MATRIX_FIELD, scales="P", strongest="P", strength="d", is_signed="q",
)  # fmt: skip
FILTER = Struct("Filter", _FILE, matrix=MATRIX_FIELD, least="P", known="P", marks="P", is_signed="q")
STRONG_GRAPH = Struct("StrongGraph", _FILE, indptr="P", columns="P", degrees="P")
# The words that the host reads, and the barriers of both cooperative launches; those of `count_columns`.
COUNT, BALANCE, BARRIER, SECOND_BARRIER, WORDS = range(5)
SIZES = 2


def aggregate(csr, strength, seed, signed=True):
    """The number of each unknown's aggregate, the count of aggregates, and what the prolongator needs.

    The strength of a coupling is |a_ij|^2 / (|a_ii| |a_jj|) where a_ij has the opposite sign of a_ii (with
    `signed`; of real parts), and 0 where row i or j is dominant. A coupling is strong if it is at least
    `strength` squared times the strongest of either row.

    Roots are a MIS(2) of the graph of strong couplings. Their neighbours join them, others with strong
    couplings the first neighbour that did. An unknown without strong couplings has the number -1 if its row
    is dominant. Else it joins the neighbour of its largest coupling, if that has strong ones and the coupling
    is a quarter of the diagonal; otherwise it is a root, too. Roots are numbered in ascending order.

    The third result is for `smoothed_prolongator`: the least magnitudes of each row's strong couplings.
    """
    if not csr.n:
        return cupy.empty(0, csr.indices.dtype), 0, cupy.empty(0)
    words = cupy.zeros(WORDS, np.uint64)
    graph, least, couplings, kept = _strong_graph(csr, strength, signed, words)
    if not csr.symmetric:
        graph = _with_mirrors(csr, graph)
    numbers = _join(csr, couplings, graph, seed, words)
    # Strong couplings of a matrix with symmetric magnitudes are symmetric unless signs differ.
    count, balance = words[:BARRIER].tolist()  # stall: the size of the prolongator
    if csr.symmetric and balance:
        words[SECOND_BARRIER] = 0
        numbers = _join(csr, couplings, _with_mirrors(csr, graph), seed, words)
        count = words[COUNT].item()  # stall: the size of the prolongator
    return numbers, count, least


def smoothed_prolongator(csr, strength, numbers, count, signed=True, strong=None):
    """The CSR arrays of P = (I - W F) T, columns ascending, for the tentative prolongator T of aggregates.

    F is A without its weak couplings, which are added to the diagonal in column order, unless that would
    leave at most a tenth of it. Here a coupling is weak if it is below `strength` times the largest of its
    row, whatever those of the other row are: rows next to a jump of the coefficients keep all that matters to
    them. W is 4/3 divided by the sums of the magnitudes of F's rows, and 0 for rows without strong couplings
    in the sense of `aggregate`. Each entry of P is a sum in double precision: the diagonal's term first, then
    those of strong couplings in column order.

    `strong` is the third result of `aggregate` for the same matrix, if there is one. The fourth result is 1
    for the couplings that F keeps, 0 for all other entries of A: see `prolongator_values`.
    """
    index, marks = csr.indices.dtype, cupy.zeros(csr.nnz, np.uint8)
    if not csr.n:
        return cupy.zeros(1, index), cupy.empty(0, index), cupy.empty(0, csr.data.dtype), marks
    if strong is None:
        _, strong, *_ = _strong_graph(csr, strength, signed, cupy.zeros(WORDS, np.uint64))
    filtered = FILTER(
        matrix=_matrix_field(csr), least=strong, known=None, marks=marks, is_signed=bool(signed)
    )
    indptr, sizes = _row_pointers(csr, filtered, numbers, True)
    most, entries = sizes.tolist()  # stall: the size of P
    if most > TERMS_PER_LANE * _lanes(csr) or csr.longest_row > MOST_ENTRIES:
        return *_merged_terms(csr, filtered, numbers), marks
    indices, data = cupy.empty(entries, index), cupy.empty(entries, csr.data.dtype)
    _launch(csr, "fill_columns", (filtered, numbers, indptr, indices, data))
    return indptr, indices, data, marks


def prolongator_values(csr, numbers, count, kept, indptr, indices):
    """The values of P = (I - W F) T on its known pattern, for other values of A: F keeps the same couplings.

    Raises
    ------
    ValueError
        If the pattern is not that of P; where it is not noticed, other entries of it are 0.
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
    """`factor` over the sum of each row's magnitudes, with the sign of the diagonal, in the type `stored`.

    Sums whose reciprocals overflow count as 1.
    """
    weights = cupy.empty(csr.n, csr.data.dtype)
    tiny = float(np.finfo(stored).tiny)
    matrix = MATRIX(indptr=csr.indptr, indices=csr.indices, data=csr.data, diagonal=csr.diagonal, n=csr.n)
    _launch(csr, "weigh_rows", (matrix, float(factor), tiny, weights))
    return weights.astype(stored, copy=False)


def _lanes(csr):
    """Lanes per row: few for short rows, and enough to merge the terms of the longest one, if any are."""
    for lanes, mean in TEAMS.items():
        if csr.nnz <= mean * csr.n and csr.longest_row < TERMS_PER_LANE * lanes:
            return lanes
    return MOST_LANES


def _launch(csr, name, arguments):
    lanes = _lanes(csr)
    program = kernels(
        "multigrid/smoothed_aggregation",
        cooperative=True,
        VALUE=csr.data.dtype.type,
        INDEX=csr.indices.dtype.type,
        TEAM=lanes,
    )
    launch(getattr(program, name), arguments, block=THREADS, items=csr.n * lanes)


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


def _join(csr, couplings, graph, seed, words):
    """The numbers of the aggregates; their count is written to `words`."""
    roots = independent_set(graph, 2, seed)
    _launch(csr, "mark_roots", (couplings, graph.degrees, roots))
    ranks, near = cupy.cumsum(roots, dtype=np.int32), cupy.empty(csr.n, np.int32)
    numbers = cupy.empty(csr.n, csr.indices.dtype)
    pattern = STRONG_GRAPH(indptr=graph.indptr, columns=graph.indices, degrees=graph.degrees)
    arguments = couplings, pattern, roots, ranks, near, numbers, words, words[SECOND_BARRIER:]
    _launch(csr, "join_aggregates", arguments)
    return numbers


def _row_pointers(csr, filtered, numbers, distinct):
    """Where the rows of the prolongator begin; where their terms do, if they are not `distinct`."""
    counts, sizes = cupy.empty(csr.n + 1, csr.indices.dtype), cupy.zeros(SIZES, np.uint64)
    _launch(csr, "count_columns", (filtered, numbers, int(distinct), counts, sizes))
    return cupy.cumsum(counts, dtype=counts.dtype), sizes


def _merged_terms(csr, filtered, numbers):
    """The prolongator of a matrix with rows of many strong couplings: all terms are sorted and added up."""
    index, wide = csr.indices.dtype, np.dtype(wide_type(csr.data.dtype))
    begins, sizes = _row_pointers(csr, filtered, numbers, False)
    _, terms = sizes.tolist()  # stall: how many
    rows, columns = cupy.empty((2, terms), index)
    values = cupy.empty(terms, wide)
    _launch(csr, "write_terms", (filtered, numbers, begins, rows, columns, values))
    indptr, indices, data = canonical(rows, columns, values, csr.n, index)
    return indptr, indices, data.astype(csr.data.dtype)
