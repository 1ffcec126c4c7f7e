"""Balanced dual solutions of a matching: rows and columns get off-diagonal entries of similar size.

The dual solution of a matching is not unique. With the matched entries on the diagonal, a change of the
prices multiplies the scaled matrix by a diagonal matrix from the right and by its inverse from the left. Half
of the difference between the largest off-diagonal entries of row j and column j, in logarithms, is subtracted
from price j, for all j at the same time: no entry exceeds the largest one before (matrix balancing, Osborne
1960, in the infinity norm).
"""

import numpy as np

from ..matrix.log_scaling import NO_WEIGHT
from ..runtime.arrays import readonly
from ..runtime.jit import kernel

# Below all weights: the maximum of no entries.
NONE = -(2**62)


def balance(indptr, indices, weights, matched, columns, prices, iterations):
    """Balance the prices of a perfect matching in place; `matched` are the weights of its entries."""
    arrays = [readonly(each) for each in (indptr, indices, weights, matched, columns)]
    balance_prices(*arrays, prices, iterations)


@kernel
def balance_prices(indptr, indices, weights, matched, columns, prices, iterations):
    n = prices.size
    of_rows, of_columns = np.empty(n, np.int64), np.empty(n, np.int64)
    for _ in range(iterations):
        of_columns[:] = NONE
        for i in range(n):
            own = columns[i]
            profit, largest = matched[i] - prices[own], np.int64(NONE)
            for slot in range(indptr[i], indptr[i + 1]):
                j = indices[slot]
                if j != own and weights[slot] != NO_WEIGHT:
                    size = weights[slot] - prices[j] - profit
                    largest = max(largest, size)
                    of_columns[j] = max(of_columns[j], size)
            of_rows[own] = largest
        for j in range(n):
            if of_rows[j] != NONE and of_columns[j] != NONE:
                prices[j] -= (of_rows[j] - of_columns[j]) >> 1
