"""Auction algorithm for the bipartite matching of rows and columns (Bertsekas 1988); balanced prices."""

import numpy as np

from ..matrix.long_row_split import lanes_to_a_row
from ..runtime import INDICES, Program, cupy, launch

PROGRAM = Program("matching/auction", cooperative=True, INDEX=INDICES)
# As in the CPU backend, and in balancing.cu.
NONE = -(2**62)
BALANCING = Program("matching/balancing", cooperative=True, INDEX=INDICES)


def bid(indptr, indices, weights, prices, columns, rows, step, stop):
    n = prices.size
    lists, bids = cupy.empty((3, n), columns.dtype), cupy.zeros(n, np.uint64)
    progress, words = cupy.zeros(3, np.int64), cupy.zeros(4, np.uint64)
    width = lanes_to_a_row(indices.size / max(n, 1))
    state = prices, columns, rows, lists, bids, progress, words, words[3:]
    launch(PROGRAM(INDEX=indices).run_auction, (indptr, indices, weights, n, width, step, stop, *state))
    return progress


def balance(indptr, indices, weights, matched, columns, prices, iterations):
    n = prices.size
    of_rows, of_columns = cupy.full((2, n), NONE, np.int64)
    width, barrier = lanes_to_a_row(indices.size / max(n, 1)), cupy.zeros(1, np.uint32)
    given = indptr, indices, weights, matched, columns, n, width, iterations
    launch(BALANCING(INDEX=indices).balance_prices, (*given, prices, of_rows, of_columns, barrier))
