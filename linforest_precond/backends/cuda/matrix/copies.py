"""Copies of matrices with permuted and scaled rows, B = P D_r A D_c, and of arrays in another precision.

And the scalings of vectors around the inverse of B.
"""

import itertools

import numpy as np

from ..runtime import INDICES, VALUES, Program, Struct, address, cupy, launch
from ..runtime.grid_sums import add_up
from .long_row_split import lanes_to_a_row

ROW_SCALING = Program("matrix/row_scaling", VALUE=VALUES, INDEX=INDICES)
# The struct in conversion.cu.
MOST_ARRAYS = 8
CONVERSION = Struct(
    "Conversion",
    "matrix/conversion.cu",
    **{"from": "P" * MOST_ARRAYS, "to": "P" * MOST_ARRAYS, "ends": "q" * MOST_ARRAYS},
)
NARROWING = Program("matrix/conversion", INDEX=np.int32)


def scaled_matrix(indptr, indices, data, order, row, column):
    return _moved_rows(indptr, indices, data, order, None, row, column)


def permuted_matrix(indptr, indices, data, order, rank):
    return _moved_rows(indptr, indices, data, order, rank, None, None)


def _moved_rows(indptr, indices, data, order, rank, row, column):
    n = indptr.size - 1
    program = ROW_SCALING(VALUE=data, INDEX=indices)
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
    launch(ROW_SCALING(VALUE=b, INDEX=index).scale_vectors, arguments, items=b.size)


def converted(arrays, dtype):
    """Arrays in another type; in one launch where all are to be rounded to single precision."""
    if any(array.dtype.itemsize != 2 * dtype.itemsize for array in arrays):
        return [array.astype(dtype, copy=False) for array in arrays]
    results = [cupy.empty(array.shape, dtype) for array in arrays]
    for first in range(0, len(arrays), MOST_ARRAYS):
        some = slice(first, first + MOST_ARRAYS)
        _narrow(arrays[some], results[some])
    return results


def _narrow(arrays, results):
    """Complex numbers are two real ones each."""
    unused = [0] * (MOST_ARRAYS - len(arrays))
    ends = list(itertools.accumulate(array.nbytes // 8 for array in arrays))
    conversion = CONVERSION(
        **{
            "from": [*map(address, arrays), *unused],
            "to": [*map(address, results), *unused],
            "ends": [*ends, *unused],
        }
    )
    launch(NARROWING().narrow_arrays, (conversion, ends[-1]), items=ends[-1])
