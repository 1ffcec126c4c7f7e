"""Weights of matchings and upper bounds on them, one for each pair of sets.

Sums are taken from the first row or column to the last.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import helper, kernel


def largest_weight_bounds(weights, pairs):
    """The sum of each row's largest weight or of each column's, whichever is less."""
    bounds = np.empty(pairs.starts.size)
    sum_largest_weights(weights, pairs.starts, pairs.rows, pairs.columns, bounds)
    return bounds


def overlaps(weights, pairs, mates):
    """The weights of matchings."""
    sums = np.empty(pairs.starts.size)
    sum_matched_weights(weights, pairs.starts, pairs.rows, pairs.columns, pairs.row_starts, mates, sums)
    return sums


def dual_bounds(weights, pairs, row_duals, column_duals):
    """The sums of feasible duals, after each dual has been reduced, in place, as far as its edges allow."""
    bounds = np.empty(pairs.starts.size)
    arrays = pairs.starts, pairs.rows, pairs.columns, pairs.row_starts, pairs.column_starts
    reduce_duals(weights, *arrays, row_duals, column_duals, bounds)
    return bounds


@kernel(parallel=True)
def sum_largest_weights(weights, starts, rows, columns, bounds):
    for pair in prange(starts.size):
        bounds[pair] = sum_largest(weights, starts[pair], rows[pair], columns[pair])


@helper
def sum_largest(weights, start, rows, columns):
    largest = np.zeros(columns)
    of_rows = of_columns = 0.0
    for row in range(rows):
        most = 0.0
        for column in range(columns):
            weight = weights[start + row * columns + column]
            if weight > 0.0:  # few are
                most = max(most, weight)
                largest[column] = max(largest[column], weight)
        of_rows += most
    for column in range(columns):
        of_columns += largest[column]
    return min(of_rows, of_columns)


@kernel(parallel=True)
def sum_matched_weights(weights, starts, rows, columns, row_starts, mates, sums):
    for pair in prange(starts.size):
        total = 0.0
        for row in range(rows[pair]):
            column = mates[row_starts[pair] + row]
            if column != NO_VERTEX:
                total += weights[starts[pair] + row * columns[pair] + column]
        sums[pair] = total


@kernel(parallel=True)
def reduce_duals(weights, starts, rows, columns, row_starts, column_starts, row_duals, column_duals, bounds):
    for pair in prange(starts.size):
        bounds[pair] = reduce_duals_of_pair(
            weights[starts[pair] : starts[pair] + rows[pair] * columns[pair]],
            row_duals[row_starts[pair] : row_starts[pair] + rows[pair]],
            column_duals[column_starts[pair] : column_starts[pair] + columns[pair]],
        )


@helper
def reduce_duals_of_pair(block, row_duals, column_duals):
    """First the rows' duals, then the columns'; feasible duals do not grow."""
    width = column_duals.size
    reduced = np.zeros(width)
    total = 0.0
    for row in range(row_duals.size):
        most = 0.0
        for column in range(width):
            most = max(most, block[row * width + column] - column_duals[column])
        row_duals[row] = most
        total += most
        for column in range(width):
            reduced[column] = max(reduced[column], block[row * width + column] - most)
    for column in range(width):
        column_duals[column] = reduced[column]
        total += reduced[column]
    return total
