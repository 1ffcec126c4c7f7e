"""Products of a rank's rows, on the device: the order of each row's sum is that of its entries."""

import numpy as np

from ..runtime import INDICES, VALUES, Program, cupy, launch

PROGRAM = Program("krylov/ordered_rows", VALUE=VALUES, BLOCK=1, INDEX=INDICES)


def multiply(rows, x):
    """The product of a CSR matrix, which need not be square, with the columns of x.

    cuSPARSE would choose the order of a sum by the shape of the whole matrix.
    """
    dtype = np.result_type(rows.dtype, x.dtype)
    x = cupy.ascontiguousarray(x, dtype)
    y = cupy.empty((rows.shape[0], *x.shape[1:]), dtype)
    program = PROGRAM(VALUE=dtype.type, INDEX=rows.indices.dtype.type)
    data = rows.data.astype(dtype, copy=False)
    columns = x.size // max(x.shape[0], 1)
    arrays = rows.indptr, rows.indices, data, x, columns, y.size, y
    launch(program.multiply_rows, arrays, items=y.size)
    return y
