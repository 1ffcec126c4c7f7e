"""Balanced dual solutions of a matching: rows and columns get off-diagonal entries of similar size."""

import numpy as np

from ..matrix.long_row_split import lanes_to_a_row
from ..runtime import INDICES, Program, cupy, launch

# As in the CPU backend, and in balancing.cu.
NONE = -(2**62)
PROGRAM = Program("matching/balancing", cooperative=True, INDEX=INDICES)


def balance(indptr, indices, weights, matched, columns, prices, iterations):
    n = prices.size
    of_rows, of_columns = cupy.full((2, n), NONE, np.int64)
    width, barrier = lanes_to_a_row(indices.size / max(n, 1)), cupy.zeros(1, np.uint32)
    given = indptr, indices, weights, matched, columns, n, width, iterations
    launch(PROGRAM(INDEX=indices).balance_prices, (*given, prices, of_rows, of_columns, barrier))
