"""Permuted and scaled rows of matrices and vectors: B = P D_r A D_c, and the scalings around its inverse."""

import numpy as np

from ..runtime import INDICES, VALUES, Program, address, cupy, launch
from ..runtime.prefix_sum import add_up
from .long_row_split import lanes_to_a_row

PROGRAM = Program("matrix/row_scaling", VALUE=VALUES, INDEX=INDICES)


def scaled_matrix(indptr, indices, data, order, row, column):
    return _moved_rows(indptr, indices, data, order, None, row, column)


def permuted_matrix(indptr, indices, data, order, rank):
    return _moved_rows(indptr, indices, data, order, rank, None, None)


def _moved_rows(indptr, indices, data, order, rank, row, column):
    n = indptr.size - 1
    program = PROGRAM(VALUE=data, INDEX=indices)
    permuted, columns, values = indptr, indices, cupy.empty_like(data)
    if order is not None:
        permuted, columns = cupy.empty_like(indptr), cupy.empty_like(indices)
        launch(program.permuted_lengths, (indptr, order, n, permuted), items=n + 1)
        add_up(permuted)
    width = lanes_to_a_row(indices.size / max(n, 1))
    optional = map(address, (order, rank, row, column))
    launch(program.move_rows, (indptr, indices, data, *optional, n, width, permuted, columns, values))
    return permuted, columns, values


def gather_scaled(b, x, order, factors):
    _scale(b, x, order, factors, False)


def scatter_scaled(b, x, order, factors):
    _scale(b, x, order, factors, True)


def _scale(b, x, order, factors, scatter):
    if not b.size:
        return
    index = np.int32 if order is None else order.dtype.type
    strides = (stride // b.itemsize for stride in (*b.strides, *x.strides))
    arguments = b, x, address(order), factors, *b.shape, *strides, int(scatter)
    launch(PROGRAM(VALUE=b, INDEX=index).scale_vectors, arguments, items=b.size)
