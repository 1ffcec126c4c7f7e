"""Residuals b - A x in twice the working precision, on the CPU.

Each row is a compensated dot product in double precision (Dot2 of Ogita, Rump & Oishi, "Accurate sum and dot
product", SIAM J. Sci. Comput. 26 (2005), doi:10.1137/030601818), which begins with b and is rounded once. The
order of summation is that of the entries; rows of more than `LONGEST_ROW_OF_LANE` are summed by 32 lanes.

Numbers are real here: a complex one is two of them.
"""

import numpy as np
from numba import prange, types
from numba.extending import intrinsic

from linforest_precond.backends.krylov_codes import LONGEST_ROW_OF_LANE

from ..matrix.sparse_products import row_shares
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel, serial_version

LANES = 32


class Entries:
    """The entries of A as residuals read them: CSR arrays.

    The indices of row i begin at i * `period` before those of `indptr`: n for a dense matrix, whose rows
    share their indices, and 0 for a sparse one.
    """

    def __init__(self, indptr, indices, data, period=0):
        self._indptr, self._indices, self._data, self._period = indptr, indices, data, period
        starts, values = row_shares(indptr), data.view(data.real.dtype)
        self._arrays = tuple(readonly(each) for each in (starts, indptr, indices, values))
        self._parts = 2 if data.dtype.kind == "c" else 1
        self._subtract = serial_version(subtract_products) if starts.size == 2 else subtract_products

    @classmethod
    def of_dense(cls, A):
        """Of an (n, n) array."""
        n, dtype = A.shape[0], np.result_type(A.dtype, np.float32)
        return cls(np.arange(n + 1) * n, np.arange(n), np.ascontiguousarray(A, dtype).reshape(-1), n)

    def residual(self, b, x, target):
        """Write b - A x into `target`; all are arrays of k columns and one type, the latter contiguous."""
        real = target.real.dtype
        b, x = (readonly(each.astype(target.dtype, "C", copy=False).ravel().view(real)) for each in (b, x))
        result = target.reshape(-1).view(real)
        columns = result.size // max(1, target.shape[0])
        self._subtract(*self._arrays, self._period, self._parts, b, x, columns, result)

    def magnitudes(self, x):
        """|A| |x|, in double precision."""
        sizes, x = (np.abs(each).astype(np.float64, copy=False) for each in (self._data, x))
        result = np.zeros((self._indptr.size - 1, x.shape[1]))
        Entries(self._indptr, self._indices, sizes, self._period).residual(result, x, result)
        return -result


# The rows are split among threads by their entries (`row_shares`).
@kernel(parallel=True)
def subtract_products(starts, indptr, indices, data, period, parts, b, x, columns, target):
    for part in prange(starts.size - 1):
        subtract_rows(
            starts[part], starts[part + 1], indptr, indices, data, period, parts, b, x, columns, target
        )


# The lanes of a row are summed one after the other. The parts of a complex number are neighbours: the
# imaginary part of A is multiplied with the other part of x.
@helper
def subtract_rows(first, last, indptr, indices, data, period, parts, b, x, columns, target):
    width = np.uint64(columns)
    for row in range(first, last):
        begin, end, offset = np.int64(indptr[row]), np.int64(indptr[row + 1]), row * period
        lanes = 1 if end - begin <= LONGEST_ROW_OF_LANE else LANES
        for column in range(columns):
            own, other = np.uint64(column), np.uint64(column ^ 1)
            total, rest = np.float64(b[row * columns + column]), 0.0
            for lane in range(lanes):
                before, before_rest = total, rest
                if lane:
                    total, rest = 0.0, 0.0
                entry = begin + lane
                while entry < end:
                    at = np.uint64(indices[np.uint64(entry - offset)]) * width
                    total, rest = add_product(total, rest, -data[np.uint64(entry * parts)], x[at + own])
                    if parts == 2:
                        a = data[np.uint64(2 * entry + 1)]
                        total, rest = add_product(total, rest, -a if column % 2 else a, x[at + other])
                    entry += lanes
                if lane:
                    total, error = two_sum(before, total)
                    rest = before_rest + (error + rest)
            target[row * columns + column] = total + rest


@intrinsic
def fma(context, a, x, c):
    """a x + c, rounded once; Python has it from 3.13 on."""
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, arguments: builder.fma(*arguments)


@helper
def add_product(total, rest, a, x):
    a, x = np.float64(a), np.float64(x)
    product = a * x
    total, error = two_sum(total, product)
    return total, rest + (error + fma(a, x, -product))


# The rounded sum and its rounding error: Knuth's TwoSum.
@helper
def two_sum(a, b):
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)
