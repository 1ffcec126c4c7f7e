"""The three block bands of the permuted matrix: copies of its entries along paths of blocks."""

from ..runtime import INDICES, VALUES, Program, cupy, launch

PROGRAM = Program("forest/block_bands", VALUE=VALUES, INDEX=INDICES)


def extract(csr, members, starts_path):
    blocks, b = members.shape
    bands = [cupy.empty((blocks, b, b), csr.data.dtype) for _ in range(3)]
    program = PROGRAM(VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
    matrix = csr.indptr, csr.indices, csr.data, csr.diagonal, csr.data.dtype.type(1)
    launch(program.copy_blocks, (*matrix, members, starts_path, blocks, b.bit_length() - 1, *bands))
    return tuple(bands)
