"""Shortest augmenting paths that complete a matching of rows and columns (Duff & Koster 2001).

The reduced cost of an entry is profit of its row + price of its column - weight. The matching to complete
comes from an auction, whose matched entries have costs of up to its step. Weights that exceed profit + price
are cut to that sum: costs are then nonnegative, and 0 on matched entries, and each weight is lowered by the
step at most.
"""

import numpy as np

from ..matrix.log_scaling import NO_WEIGHT
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel

FAR = np.int64(2**62)


def complete(indptr, indices, weights, prices, columns, rows):
    """Match all rows, in place; returns the number of rows that cannot be matched together with the others.

    Then every row is within the auction's step of its largest profit again.
    """
    arrays = [readonly(each) for each in (indptr, indices, weights)]
    return int(augment_all(*arrays, prices, columns, rows))


@kernel
def augment_all(indptr, indices, weights, prices, columns, rows):
    n = prices.size
    first_prices, first_profits = prices.copy(), np.empty(n, np.int64)
    for i in range(n):
        first_profits[i] = profit_of(indptr, indices, weights, prices, columns[i], i)
    profits = first_profits.copy()
    distances, before = np.full(n, FAR), np.full(n, np.int64(NO_VERTEX))
    settled, reached = np.zeros(n, np.bool_), np.empty(n, np.int64)
    keys, places = np.empty(indices.size + 1, np.int64), np.empty(indices.size + 1, np.int64)
    failed = 0
    for start in range(n):
        if columns[start] != NO_VERTEX:
            continue
        size = met = 0
        row, distance = np.int64(start), np.int64(0)
        end = np.int64(NO_VERTEX)
        while True:
            for slot in range(indptr[row], indptr[row + 1]):
                column = np.int64(indices[slot])
                if weights[slot] == NO_WEIGHT or settled[column]:
                    continue
                weight = min(np.int64(weights[slot]), first_profits[row] + first_prices[column])
                found = distance + profits[row] + prices[column] - weight
                if found < distances[column]:
                    if distances[column] == FAR:
                        reached[met] = column
                        met += 1
                    distances[column], before[column] = found, row
                    push(keys, places, size, found, column)
                    size += 1
            column = np.int64(NO_VERTEX)
            while size > 0 and column == NO_VERTEX:
                nearest, key = places[0], keys[0]
                pop(keys, places, size)
                size -= 1
                if not settled[nearest] and key == distances[nearest]:
                    column = nearest
            if column == NO_VERTEX:
                break
            settled[column] = True
            distance = distances[column]
            if rows[column] == NO_VERTEX:
                end = column
                break
            row = np.int64(rows[column])
        if end == NO_VERTEX:
            # No path leaves the settled columns, ever: they stay settled, and later searches skip them.
            failed += 1
            continue
        profits[start] -= distance
        for k in range(met):
            column = reached[k]
            if settled[column] and column != end:
                prices[column] += distance - distances[column]
                profits[rows[column]] -= distance - distances[column]
            distances[column], settled[column] = FAR, False
        column = end
        while True:
            row = before[column]
            following = np.int64(columns[row])
            columns[row], rows[column] = column, row
            if row == start:
                break
            column = following
    return failed


# The profit of a row with its matched column, the largest one of an unmatched row.
@helper
def profit_of(indptr, indices, weights, prices, matched, row):
    largest = -FAR
    for slot in range(indptr[row], indptr[row + 1]):
        if weights[slot] != NO_WEIGHT:
            profit = np.int64(weights[slot]) - prices[indices[slot]]
            if indices[slot] == matched:
                return profit
            largest = max(largest, profit)
    return largest


# Binary heap of (key, place), the least first; equal keys by place.
@helper
def push(keys, places, size, key, place):
    i = size
    while i > 0:
        above = (i - 1) >> 1
        if keys[above] < key or (keys[above] == key and places[above] <= place):
            break
        keys[i], places[i] = keys[above], places[above]
        i = above
    keys[i], places[i] = key, place


# Remove the least of `size` items.
@helper
def pop(keys, places, size):
    key, place = keys[size - 1], places[size - 1]
    i = 0
    while 2 * i + 1 < size - 1:
        below = 2 * i + 1
        right = below + 1
        if right < size - 1 and (keys[right], places[right]) < (keys[below], places[below]):
            below = right
        if (key, place) <= (keys[below], places[below]):
            break
        keys[i], places[i] = keys[below], places[below]
        i = below
    keys[i], places[i] = key, place
