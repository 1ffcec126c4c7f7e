"""Permuted and scaled rows of matrices and vectors: B = P D_r A D_c, and the scalings around its inverse."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.prefix_sum import add_up
from .row_staging import lanes_to_a_row


def scaled_matrix(indptr, indices, data, order, row, column):
    """CSR arrays of P D_r A D_c; row i is A's row order[i], or its own where order is None.

    An entry is multiplied by the product of its two factors, so that a symmetric matrix stays symmetric.
    """
    n = indptr.size - 1
    program = kernels("matrix/row_scaling", VALUE=data.dtype.type, INDEX=indices.dtype.type)
    permuted, columns, values = indptr, indices, cupy.empty_like(data)
    if order is not None:
        permuted, columns = cupy.empty_like(indptr), cupy.empty_like(indices)
        launch(program.permuted_lengths, (indptr, _address(order), n, permuted), items=n + 1)
        add_up(permuted)
    width = lanes_to_a_row(indices.size / max(n, 1))
    given = indptr, indices, data, _address(order), row, column
    launch(program.scale_rows, (*given, n, width, permuted, columns, values))
    return permuted, columns, values


def gather_scaled(b, x, order, factors):
    """x[i] = factors[p] b[p] for the row p = order[i], or i where order is None; x may then be b."""
    _scale(b, x, order, factors, False)


def scatter_scaled(b, x, order, factors):
    """x[p] = factors[p] b[i] for the row p = order[i], or i where order is None."""
    _scale(b, x, order, factors, True)


def _scale(b, x, order, factors, scatter):
    if not b.size:
        return
    index = np.int32 if order is None else order.dtype.type
    strides = (stride // b.itemsize for stride in (*b.strides, *x.strides))
    program = kernels("matrix/row_scaling", VALUE=b.dtype.type, INDEX=index)
    arguments = b, x, _address(order), factors, *b.shape, *strides, int(scatter)
    launch(program.scale_vectors, arguments, items=b.size)


def _address(order):
    """A null pointer for A's own order."""
    return np.uint64(0) if order is None else order
