"""The three (block) bands of the permuted matrix: copies of its entries along the paths of a forest."""

from ..runtime import INDICES, VALUES, Program, address, cupy, launch

PROGRAM = Program("forest/bands", VALUE=VALUES, INDEX=INDICES)
BLOCK_PROGRAM = Program("forest/block_bands", VALUE=VALUES, INDEX=INDICES)


def extract(csr, neighbors, order, values, slots):
    lower, diagonal, upper = bands = [cupy.empty(csr.n, csr.data.dtype) for _ in range(3)]
    program = PROGRAM(VALUE=csr.data, INDEX=csr.indices)
    matrix = csr.indptr, csr.indices, csr.data, csr.diagonal, csr.n, csr.nnz
    launch(program.copy_bands, (*matrix, neighbors, address(values), address(slots), order, *bands))
    return lower, diagonal, upper


def without_edges(graph, neighbors):
    values = graph.values.copy()
    arguments = graph.indptr, graph.indices, graph.n, graph.indices.size, neighbors, values
    launch(PROGRAM(VALUE=values, INDEX=graph.indices).clear_edges, arguments, items=2 * graph.n)
    return values


def extract_blocks(csr, members, starts_path):
    blocks, b = members.shape
    bands = [cupy.empty((blocks, b, b), csr.data.dtype) for _ in range(3)]
    program = BLOCK_PROGRAM(VALUE=csr.data, INDEX=csr.indices)
    matrix = csr.indptr, csr.indices, csr.data, csr.diagonal, csr.data.dtype.type(1)
    launch(program.copy_blocks, (*matrix, members, starts_path, blocks, b.bit_length() - 1, *bands))
    return tuple(bands)
