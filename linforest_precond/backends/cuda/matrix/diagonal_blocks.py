"""The b x b diagonal blocks of a matrix: gathered, inverted, multiplied with vectors (block Jacobi)."""

import numpy as np

from ..runtime import INDICES, STORED_AND_APPLIED, Program, cupy, launch

WARP = 32
PROGRAM = Program("matrix/diagonal_blocks", STORED_AND_APPLIED, INDEX=INDICES)


def gather(csr, block_size):
    count = -(-csr.n // block_size)
    blocks = cupy.zeros((count, block_size, block_size), csr.data.dtype)
    arguments = csr.indptr, csr.indices, csr.data, csr.n, block_size, count, blocks
    launch(_program(csr.data.dtype, index=csr.indices.dtype.type).copy_diagonal_blocks, arguments)
    return blocks


def invert(blocks):
    """The inverses, with tiny pivots perturbed, and a report on the device."""
    count, block_size, _ = blocks.shape
    inverse, report = cupy.empty_like(blocks), cupy.zeros(2, np.int64)
    # Lanes of a warp per block, one row each, in shared memory.
    lanes = 1 << (block_size - 1).bit_length()
    shared_memory = WARP // lanes * 2 * block_size * block_size * blocks.dtype.itemsize
    program, arguments = _program(blocks.dtype), (blocks, count, block_size, lanes, inverse, report)
    launch(program.invert_blocks, arguments, shared_memory=shared_memory, block=WARP)
    return inverse, report


def apply(inverse, b, x, transpose):
    rows, columns = b.shape
    if not b.size:
        return
    strides = (stride // b.itemsize for stride in (*b.strides, *x.strides))
    arguments = inverse, inverse.shape[1], int(transpose), b, x, rows, columns, *strides
    launch(_program(inverse.dtype, result=b.dtype).multiply_blocks, arguments)


def _program(value, result=None, index=np.int32):
    return PROGRAM(VALUE=value, RESULT=(result or value).type, INDEX=index)
