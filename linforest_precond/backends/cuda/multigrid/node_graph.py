"""The matrix of nodes: one entry for each b x b block of a matrix with b unknowns per node."""

import numpy as np

from ..runtime import INDICES, VALUES, Program, cupy, launch

PROGRAM = Program("multigrid/node_graph", VALUE=VALUES, INDEX=INDICES)


def node_matrix(indptr, indices, data, block_size):
    nodes, index = (indptr.size - 1) // block_size, indices.dtype
    program = PROGRAM(VALUE=data, INDEX=index)
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
