"""Smoothed aggregation: aggregates of strongly coupled unknowns, and the smoothed prolongator."""

import numpy as np

from linforest_precond.backends.returns import StrongGraph

from ..csgraph.independent_set import independent_set
from ..matrix.entries import canonical, rows_of, symmetrized
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type
from ..runtime.structs import Struct, address

# As in row_teams.cuh: lanes per row, threads of a block.
TEAM, THREADS = 8, 128
# As in smoothed_aggregation.cu: terms of a row that a team merges.
MOST_TERMS = 128

_FILE = "multigrid/smoothed_aggregation.cu"
MATRIX_FIELD = "PPPPq"
MATRIX = Struct("Matrix", "multigrid/row_teams.cuh", indptr="P", indices="P", data="P", diagonal="P", n="q")
COUPLINGS = Struct(
    "Couplings", _FILE, matrix=MATRIX_FIELD, scales="P", strongest="P", threshold="d", is_signed="q"
)
STRONG_GRAPH = Struct("StrongGraph", _FILE, indptr="P", columns="P", degrees="P")
# The words that the host reads, and the barriers of both cooperative launches; those of `count_columns`.
COUNT, BALANCE, BARRIER, SECOND_BARRIER, WORDS = range(5)
SIZES = 2


def aggregate(csr, strength, seed, signed=True):
    """The number of each unknown's aggregate, -1 where it is in none, and the count of aggregates.

    The strength of a coupling is |a_ij|^2 / (|a_ii| |a_jj|) where a_ij has the opposite sign of a_ii (with
    `signed`; of real parts), and 0 where row i or j is dominant. A coupling is strong if it is at least
    `strength` squared times the strongest of either row.

    Roots are a MIS(2) of the graph of strong couplings, numbered in ascending order. Their neighbours join
    them, others with strong couplings the first neighbour that did. An unknown without strong couplings joins
    its strongest neighbour, if that has strong ones.
    """
    if not csr.n:
        return cupy.empty(0, csr.indices.dtype), 0
    words = cupy.zeros(WORDS, np.uint64)
    graph, couplings, kept = _strong_graph(csr, strength, signed, words)
    if not csr.symmetric:
        graph = _with_mirrors(csr, graph)
    numbers = _join(csr, couplings, graph, seed, words)
    # Strong couplings of a matrix with symmetric magnitudes are symmetric unless signs differ.
    count, balance = words[:BARRIER].tolist()  # stall: the size of the prolongator
    if csr.symmetric and balance:
        words[SECOND_BARRIER] = 0
        numbers = _join(csr, couplings, _with_mirrors(csr, graph), seed, words)
        count = words[COUNT].item()  # stall: the size of the prolongator
    return numbers, count


def smoothed_prolongator(csr, strength, numbers, count, signed=True):
    """The CSR arrays of P = (I - W F) T, columns ascending, for the tentative prolongator T of aggregates.

    F is A without its weak couplings, which are added to the diagonal in column order, unless that would
    leave at most a tenth of it. W is 4/3 divided by the sums of the magnitudes of F's rows. Each entry of P
    is a sum in double precision: the diagonal's term first, then those of strong couplings in column order.
    """
    index = csr.indices.dtype
    if not csr.n:
        return cupy.zeros(1, index), cupy.empty(0, index), cupy.empty(0, csr.data.dtype)
    words = cupy.zeros(WORDS + SIZES, np.uint64)
    graph, *_ = _strong_graph(csr, strength, signed, words)
    indptr = _row_pointers(csr, graph, numbers, True, words[WORDS:])
    most, entries = words[WORDS:].tolist()  # stall: the size of P
    if most > MOST_TERMS:
        return _merged_terms(csr, graph, numbers)
    indices, data = cupy.empty(entries, index), cupy.empty(entries, csr.data.dtype)
    arguments = graph.indices, graph.degrees, numbers, indptr, indices, data
    _launch(csr, "fill_columns", (_matrix(csr), *arguments))
    return indptr, indices, data


def l1_weights(csr, factor):
    """`factor` over the sum of each row's magnitudes, with the sign of the diagonal.

    Sums whose reciprocals overflow count as 1.
    """
    weights = cupy.empty(csr.n, csr.data.dtype)
    tiny = float(np.finfo(csr.data.dtype).tiny)
    _launch(csr, "weigh_rows", (_matrix(csr), float(factor), tiny, weights))
    return weights


def _launch(csr, name, arguments):
    program = kernels(
        "multigrid/smoothed_aggregation",
        cooperative=True,
        VALUE=csr.data.dtype.type,
        INDEX=csr.indices.dtype.type,
    )
    launch(getattr(program, name), arguments, block=THREADS, items=csr.n * TEAM)


def _matrix(csr):
    return MATRIX(indptr=csr.indptr, indices=csr.indices, data=csr.data, diagonal=csr.diagonal, n=csr.n)


def _strong_graph(csr, strength, signed, words):
    """The strong couplings of each row, the struct of all couplings, and the arrays that it refers to."""
    scales, strongest = kept = cupy.empty((2, csr.n))
    columns, degrees = cupy.empty(csr.nnz, np.int32), cupy.empty(csr.n, np.int32)
    matrix = [*map(address, (csr.indptr, csr.indices, csr.data, csr.diagonal)), csr.n]
    threshold = float(strength) * float(strength)
    couplings = COUPLINGS(
        matrix=matrix, scales=scales, strongest=strongest, threshold=threshold, is_signed=bool(signed)
    )
    _launch(csr, "find_strong", (couplings, columns, degrees, words))
    return StrongGraph(csr.indptr, columns, degrees, csr.longest_row), couplings, kept


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
    roots = cupy.minimum(independent_set(graph, 2, seed), graph.degrees)
    ranks, near = cupy.cumsum(roots, dtype=np.int32), cupy.empty(csr.n, np.int32)
    numbers = cupy.empty(csr.n, csr.indices.dtype)
    pattern = STRONG_GRAPH(indptr=graph.indptr, columns=graph.indices, degrees=graph.degrees)
    arguments = couplings, pattern, roots, ranks, near, numbers, words, words[SECOND_BARRIER:]
    _launch(csr, "join_aggregates", arguments)
    return numbers


def _row_pointers(csr, graph, numbers, distinct, sizes):
    """Where the rows of the prolongator begin; where their terms do, if they are not `distinct`."""
    counts = cupy.zeros(csr.n + 1, csr.indices.dtype)
    _launch(csr, "count_columns", (_matrix(csr), graph.indices, numbers, int(distinct), counts, sizes))
    return cupy.cumsum(counts, dtype=counts.dtype)


def _merged_terms(csr, graph, numbers):
    """The prolongator of a matrix with rows of many strong couplings: all terms are sorted and added up."""
    index, wide = csr.indices.dtype, np.dtype(wide_type(csr.data.dtype))
    sizes = cupy.zeros(SIZES, np.uint64)
    begins = _row_pointers(csr, graph, numbers, False, sizes)
    _, terms = sizes.tolist()  # stall: how many
    rows, columns = cupy.empty((2, terms), index)
    values = cupy.empty(terms, wide)
    arguments = graph.indices, graph.degrees, numbers, begins, rows, columns, values
    _launch(csr, "write_terms", (_matrix(csr), *arguments))
    indptr, indices, data = canonical(rows, columns, values, csr.n, index)
    return indptr, indices, data.astype(csr.data.dtype)
