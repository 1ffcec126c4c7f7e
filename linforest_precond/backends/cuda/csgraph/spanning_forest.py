"""Spanning forests by Borůvka's algorithm, or that of Awerbuch and Shiloach, all rounds in one launch."""

import numpy as np

from ..matrix.entries import rows_of
from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch, launch_blocks, resident_blocks

# The first one is the default.
METHODS = "boruvka", "awerbuch_shiloach"
# Large blocks: fewer arrivals at the grid barriers.
BLOCK = 512
# sizeof(Edge).
EDGE_BYTES = 16
GRAPH = Struct("Graph", "csgraph/weighted_edges.cuh")
TREES = Struct("Trees", "csgraph/spanning_forest.cu")
STARS = Struct("Stars", "csgraph/awerbuch_shiloach.cu")
# Every round at least halves the number of trees, and there are less than 2^30 vertices.
ROUNDS = 40
# 64-bit words of the struct SharedState.
STATE_WORDS = 3 + ROUNDS
BORUVKA = Program("csgraph/spanning_forest", cooperative=True, VALUE=WEIGHTS, INDEX=INDICES)
AWERBUCH_SHILOACH = Program("csgraph/awerbuch_shiloach", cooperative=True, VALUE=WEIGHTS, INDEX=INDICES)


def spanning_forest(csr, largest, method):
    if csr.nnz == 0:
        return csr.indptr.copy(), csr.indices.copy(), csr.data.copy()
    rows = rows_of(csr.indptr, csr.nnz)
    graph = GRAPH(
        indptr=csr.indptr, indices=csr.indices, rows=rows, data=csr.data, n=csr.n,
        largest=largest, symmetric=csr.symmetric, nnz=csr.nnz, longest_row=csr.longest_row,
    )  # fmt: skip
    find_forest = _boruvka if method == "boruvka" else _awerbuch_shiloach
    types = {"VALUE": csr.data, "INDEX": csr.indices}
    return _selected_entries(csr, find_forest(csr, graph, types), BORUVKA(**types))


def _boruvka(csr, graph, types):
    """A bit for every entry: whether it is in the forest."""
    n, nnz = csr.n, csr.nnz
    program = BORUVKA(**types)
    blocks = min(resident_blocks(program.boruvka, block=BLOCK), -(-nnz // BLOCK))
    # Each block has its own list of edges.
    capacity = -(-nnz // (blocks * BLOCK)) * BLOCK
    roots, parents = cupy.empty((2, n), np.int32)
    lightest, first_edges = cupy.empty((2, n), np.uint64)
    selected = cupy.zeros(-(-nnz // 32), np.uint32)
    edges = cupy.empty(EDGE_BYTES * blocks * capacity, np.uint8)
    trees = TREES(
        roots=roots, parents=parents, lightest=lightest, first_edges=first_edges, selected=selected,
        edges=edges, capacity=capacity,
    )  # fmt: skip
    launch_blocks(program.boruvka, blocks, (graph, trees, cupy.zeros(STATE_WORDS, np.uint64)), block=BLOCK)
    return selected


def _awerbuch_shiloach(csr, graph, types):
    """The same."""
    n = csr.n
    parents, hooked = cupy.empty((2, n), np.int32)
    is_star = cupy.empty(n, np.uint8)
    lightest, first_edges = cupy.empty((2, n), np.uint64)
    selected, words = cupy.zeros(-(-csr.nnz // 32), np.uint32), cupy.zeros(4, np.uint32)
    stars = STARS(
        parents=parents, hooked=hooked, is_star=is_star, lightest=lightest, first_edges=first_edges,
        selected=selected, changes=words[1:], barrier=words,
    )  # fmt: skip
    kernel = AWERBUCH_SHILOACH(**types).awerbuch_shiloach
    launch(kernel, (graph, stars), block=BLOCK, items=max(csr.nnz, n))
    return selected


def _selected_entries(csr, selected, program):
    """Row pointers, columns and values of the entries whose bits are set."""
    ends = cupy.cumsum(cupy.bitwise_count(selected), dtype=np.int64)
    count = int(ends[-1])  # stall: the forest's size
    indptr, indices = cupy.empty_like(csr.indptr), cupy.empty(count, csr.indices.dtype)
    data = cupy.empty(count, csr.data.dtype)
    launch(program.count_selected, (csr.indptr, csr.n + 1, selected, ends, indptr))
    launch(program.copy_selected, (selected, ends, selected.size, csr.indices, csr.data, indices, data))
    return indptr, indices, data
