"""Strength of connection between unknowns, facts of a matrix's rows, and their sums; the matrix of nodes."""

from dataclasses import replace

import numpy as np

from linforest_precond.backends.returns import RowFacts

from ..runtime import BLOCK, INDICES, VALUES, Program, cupy, launch, launch_blocks, resident_blocks

# As in strength.cu: lanes per row, and the words before the blocks' sums.
WIDTH = 8
NOT_HERMITIAN, NOT_POSITIVE, NOT_CENTERED, DOMINANT, LARGEST, SMALLEST, RATIOS = range(7)
# The flags of `weigh`, as in strength.cu.
FLAGS = 3
PROGRAM = Program("multigrid/strength", VALUE=VALUES, INDEX=INDICES)
NODE_GRAPH = Program("multigrid/node_graph", VALUE=VALUES, INDEX=INDICES)


def row_facts(csr, tolerance, tiny):
    """What all rows show, in one launch and one stall; see `RowFacts`."""
    kernel = _program(csr).find_facts
    blocks = max(1, min(resident_blocks(kernel), -(-csr.n * WIDTH // BLOCK)))
    facts = cupy.zeros(RATIOS + blocks, np.uint64)
    matrix = csr.indptr, csr.indices, csr.data, csr.diagonal, csr.n
    mirrors = csr.symmetric and not csr.to_rounding  # values without rounding are mirrored already
    launch_blocks(kernel, blocks, (*matrix, int(mirrors), float(tolerance), float(tiny), facts))
    words = facts.get()  # stall: chooses options
    smallest, largest = np.array([~words[SMALLEST], words[LARGEST]]).view(np.float64).tolist()
    rows = max(csr.n, 1)
    return RowFacts(
        hermitian=bool(csr.symmetric and not words[NOT_HERMITIAN]),
        positive=not words[NOT_POSITIVE],
        centered=not words[NOT_CENTERED],
        dominant_share=int(words[DOMINANT]) / rows,
        mean_ratio=float(words[RATIOS:].view(np.float64).sum()) / rows,
        smallest_diagonal=smallest,
        largest_diagonal=largest,
    )


def row_sums(csr):
    sizes, sums = cupy.empty(csr.n), cupy.empty(csr.n)
    launch(_program(csr).add_rows, (csr.indptr, csr.data, csr.n, sizes, sums))
    return sizes, sums


def coupling_sums(csr):
    data, diagonal = (abs(array).astype(np.float64) for array in (csr.data, csr.diagonal))
    positive = replace(csr, data=-data, diagonal=diagonal)
    weights, largest, _ = weigh(positive, 0.0)
    totals, _ = row_sums(replace(positive, data=weights))
    return totals, largest


def weigh(csr, strength):
    program, matrix = _program(csr), (csr.indptr, csr.indices, csr.data, csr.diagonal, csr.n)
    strongest, weights, flags = cupy.empty(csr.n), cupy.empty(csr.nnz), cupy.zeros(FLAGS, np.uint8)
    launch(program.find_strongest, (*matrix, strongest, flags), items=csr.n * WIDTH)
    launch(program.weigh_entries, (*matrix, strongest, float(strength), weights), items=csr.n * WIDTH)
    return weights, strongest, flags


def _program(csr):
    return PROGRAM(VALUE=csr.data, INDEX=csr.indices)


def node_matrix(indptr, indices, data, block_size):
    nodes, index = (indptr.size - 1) // block_size, indices.dtype
    program = NODE_GRAPH(VALUE=data, INDEX=index)
    width = 1 << (block_size - 1).bit_length()  # lanes of a node: one per row
    shape = nodes, np.int32(block_size), np.int32(width)
    counts = cupy.zeros(nodes + 1, index)
    launch(program.count_blocks, (indptr, indices, *shape, counts[1:]), items=nodes * width)
    starts = cupy.cumsum(counts, dtype=index)
    blocks = int(starts[-1])  # stall: how many
    columns, norms = cupy.empty(blocks, index), cupy.empty(blocks, np.float64)
    arguments = indptr, indices, data, *shape, starts, columns, norms
    launch(program.find_block_norms, arguments, items=nodes * width)
    return starts, columns, norms
