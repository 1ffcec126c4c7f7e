"""Auction algorithm for the bipartite matching of rows and columns of largest weight (Bertsekas 1988).

Rows bid for columns. The profit of row i with column j is its weight minus the column's price; a row bids
for the column of largest profit, and raises its price by the lead over its second largest profit plus `step`.
All unmatched rows bid in each round, and each column goes to the largest bid, then to the lowest row:
integers and a total order make the result the same on every backend. Each matched row is within `step` of
its largest profit (epsilon-complementary slackness).

The prices, a dual solution, are not unique, and are balanced at last: rows and columns get off-diagonal
entries of similar size. With the matched entries on the diagonal, a change of the prices multiplies the
scaled matrix by a diagonal matrix from the right and by its inverse from the left. Half of the difference
between the largest off-diagonal entries of row j and column j, in logarithms, is subtracted from price j, for
all j at the same time: no entry exceeds the largest one before (matrix balancing, Osborne 1960, in the
infinity norm).
"""

import numpy as np

from ..matrix.log_scaling import NO_WEIGHT
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

# Limits of a call: rounds, and bids per row. Rows that are left may have no column, or a price war ahead.
MOST_ROUNDS = 100_000
BIDS_PER_ROW = 64
# The same for the last rows: then a search for a shortest augmenting path costs less than a price war.
LAST_BIDS_PER_ROW = 2
# The largest increment of a price, 4 in logarithms: a smaller one keeps complementary slackness too, and
# prices, the logarithms of column factors, stay small where rows have no rivals.
LARGEST_INCREMENT = 2**22
NO_PROFIT = -(2**62)
LOW_HALF, SHIFT_32 = np.uint64(2**32 - 1), np.uint64(32)
NO_BID = np.uint64(0)
# Below all weights: the maximum of no entries.
NONE = -(2**62)


def bid(indptr, indices, weights, prices, columns, rows, step, stop):
    """Match rows until at most `stop` are unmatched, or a limit is reached; in place.

    `prices`, and the matched `columns` of rows and `rows` of columns, -1 for none, may come from a call with
    a larger step: rows that are too far from their largest profit are unmatched first. Returns an array:
    rounds, bids, and the rows left that have entries.
    """
    arrays = [readonly(each) for each in (indptr, indices, weights)]
    unmatch_distant(*arrays, prices, columns, rows, step)
    return run_auction(*arrays, prices, columns, rows, step, stop, MOST_ROUNDS, BIDS_PER_ROW * prices.size)


def bid_last(indptr, indices, weights, prices, columns, rows, step):
    """Go on with the few rows that `bid` left, until all are matched or a limit is reached; in place.

    Thousands of rounds with a few bids each are latency-bound: every backend runs them on the host.
    """
    arrays = [readonly(each) for each in (indptr, indices, weights)]
    most = LAST_BIDS_PER_ROW * prices.size
    return run_auction(*arrays, prices, columns, rows, step, 0, most, most)


@kernel
def unmatch_distant(indptr, indices, weights, prices, columns, rows, step):
    for i in range(prices.size):
        if columns[i] != NO_VERTEX and is_too_far(indptr, indices, weights, prices, i, columns[i], step):
            rows[columns[i]] = NO_VERTEX
            columns[i] = NO_VERTEX


@kernel
def run_auction(indptr, indices, weights, prices, columns, rows, step, stop, most_rounds, most_bids):
    n = prices.size
    active, following = np.empty(n, columns.dtype), np.empty(n, columns.dtype)
    wanted, bids = np.empty(n, columns.dtype), np.zeros(n, np.uint64)
    count = 0
    for i in range(n):
        if columns[i] == NO_VERTEX and has_entries(indptr, weights, i):
            active[count] = i
            count += 1
    rounds = total = 0
    while count > stop and rounds < most_rounds and total < most_bids:
        rounds += 1
        total += count
        for a in range(count):
            row = active[a]
            column, increment = best_offer(indptr, indices, weights, prices, row, step)
            wanted[row] = column
            offer = (np.uint64(increment) << SHIFT_32) | (LOW_HALF - np.uint64(row))
            bids[column] = max(bids[column], offer)
        left = 0
        for a in range(count):
            row = active[a]
            column = wanted[row]
            if LOW_HALF - (bids[column] & LOW_HALF) != np.uint64(row):
                following[left] = row
                left += 1
                continue
            if rows[column] != NO_VERTEX:
                columns[rows[column]] = NO_VERTEX
                following[left] = rows[column]
                left += 1
            rows[column], columns[row] = row, column
            prices[column] += np.int64(bids[column] >> SHIFT_32)
            bids[column] = NO_BID
        active, following = following, active
        count = left
    return np.array([rounds, total, count])


@helper
def has_entries(indptr, weights, row):
    for slot in range(indptr[row], indptr[row + 1]):
        if weights[slot] != NO_WEIGHT:
            return True
    return False


# Whether a matched row is further than `step` from its largest profit.
@helper
def is_too_far(indptr, indices, weights, prices, row, column, step):
    best = own = np.int64(NO_PROFIT)
    for slot in range(indptr[row], indptr[row + 1]):
        if weights[slot] != NO_WEIGHT:
            profit = np.int64(weights[slot]) - prices[indices[slot]]
            best = max(best, profit)
            if indices[slot] == column:
                own = profit
    return own < best - step


# The column of largest profit, equal ones by the larger hash, then the lower column; and the bid's increment.
@helper
def best_offer(indptr, indices, weights, prices, row, step):
    first = second = np.int64(NO_PROFIT)
    column, tie = np.int64(NO_VERTEX), np.uint32(0)
    for slot in range(indptr[row], indptr[row + 1]):
        if weights[slot] == NO_WEIGHT:
            continue
        other = np.int64(indices[slot])
        profit = np.int64(weights[slot]) - prices[other]
        if profit < first:
            second = max(second, profit)
            continue
        hashed = edge_hash(row, other, np.uint32(0))
        if profit > first or hashed > tie:
            column, tie = other, hashed
        second, first = first, profit
    return column, min(first - second + step, np.int64(LARGEST_INCREMENT))


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
