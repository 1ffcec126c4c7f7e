"""Matchings of complete bipartite graphs with weights in [0, 1], one for each pair of sets, and their bounds.

The total order of the edges is (-weight, row, column). A matching is the column that each row is matched
with (or NO_VERTEX), and feasible duals: every edge weighs at most the sum of the duals of its ends, so the
sum of all duals bounds the weight of every matching. Sums are taken from the first row or column to the last.
"""

import numpy as np
from numba import prange
from scipy.optimize import linear_sum_assignment

from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import helper, kernel

# A pointer that has to be searched again.
STALE = -2


def greedy(weights, pairs):
    """The edges in their total order, each taken if both ends are free (Avis 1983)."""
    return _match(match_greedily, weights, pairs)


def locally_dominant(weights, pairs):
    """Edges that each end points at as its first are taken (Preis 1999): the same matching as greedy's."""
    return _match(match_pointers, weights, pairs)


def paz_schwartzman(weights, pairs, epsilon):
    """The semi-streaming algorithm by local ratios (Paz & Schwartzman 2018); edges come row by row.

    The sum of the duals is at most 2 + epsilon times the weight of the matching.
    """
    return _match(match_stream, weights, pairs, 1.0 + 0.5 * epsilon)


def exact(weights, pairs):
    """The weights of heaviest matchings, by SciPy's `linear_sum_assignment`."""
    found = np.empty(pairs.starts.size)
    for number, (start, rows, columns) in enumerate(zip(pairs.starts, pairs.rows, pairs.columns)):
        block = weights[start : start + rows * columns].reshape(rows, columns)
        found[number] = block[linear_sum_assignment(block, maximize=True)].sum()
    return found


def _match(matching_kernel, weights, pairs, *options):
    mates = np.full(pairs.all_rows, NO_VERTEX, np.int32)
    row_duals, column_duals = np.zeros(pairs.all_rows), np.zeros(pairs.all_columns)
    arrays = pairs.starts, pairs.rows, pairs.columns, pairs.row_starts, pairs.column_starts
    matching_kernel(weights, *arrays, *options, mates, row_duals, column_duals)
    return mates, row_duals, column_duals


@kernel(parallel=True)
def match_greedily(weights, starts, rows, columns, row_starts, column_starts, mates, row_duals, column_duals):
    for pair in prange(starts.size):
        take_heaviest(
            weights[starts[pair] : starts[pair] + rows[pair] * columns[pair]],
            mates[row_starts[pair] : row_starts[pair] + rows[pair]],
            row_duals[row_starts[pair] : row_starts[pair] + rows[pair]],
            column_duals[column_starts[pair] : column_starts[pair] + columns[pair]],
        )


@helper
def take_heaviest(block, mates, row_duals, column_duals):
    """Edges leave a heap, which costs less than a sort: often few of them are needed."""
    width = column_duals.size
    owners = np.full(width, NO_VERTEX, np.int32)
    heap = np.empty(block.size, np.int32)
    size = take_full_weights(block, mates, owners, row_duals, column_duals, heap)
    for place in range(size // 2 - 1, -1, -1):
        sift_down(heap, place, size, block)
    while size > 0:
        row, column = heap[0] // width, heap[0] % width
        if mates[row] == NO_VERTEX and owners[column] == NO_VERTEX:
            match(row, column, block[heap[0]], mates, owners, row_duals, column_duals)
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, 0, size, block)


@helper
def take_full_weights(block, mates, owners, row_duals, column_duals, heap):
    """Edges of weight 1, equal elements, come first in the total order; the others go to the heap."""
    width, size = owners.size, 0
    for row in range(mates.size):
        for column in range(width):
            weight = block[row * width + column]
            if weight > 0.0 and owners[column] == NO_VERTEX:
                if weight == 1.0:
                    match(row, column, weight, mates, owners, row_duals, column_duals)
                    break
                heap[size] = row * width + column
                size += 1
    return size


@helper
def sift_down(heap, place, size, block):
    """Restore the order of a heap below a place: heavier edges first, then lower ones."""
    edge = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and precedes(heap[child + 1], heap[child], block):
            child += 1
        if precedes(edge, heap[child], block):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = edge


@helper
def precedes(edge, other, block):
    return block[edge] > block[other] or (block[edge] == block[other] and edge < other)


@helper
def match(row, column, weight, mates, owners, row_duals, column_duals):
    mates[row], owners[column] = column, row
    row_duals[row] = column_duals[column] = weight


@kernel(parallel=True)
def match_pointers(weights, starts, rows, columns, row_starts, column_starts, mates, row_duals, column_duals):
    for pair in prange(starts.size):
        chase_pointers(
            weights[starts[pair] : starts[pair] + rows[pair] * columns[pair]],
            mates[row_starts[pair] : row_starts[pair] + rows[pair]],
            row_duals[row_starts[pair] : row_starts[pair] + rows[pair]],
            column_duals[column_starts[pair] : column_starts[pair] + columns[pair]],
        )


@helper
def chase_pointers(block, mates, row_duals, column_duals):
    """Rounds: free vertices point at their first free neighbour, and mutual pointers become edges."""
    width = column_duals.size
    owners = np.full(width, NO_VERTEX, np.int32)
    pointers = np.full(mates.size, STALE, np.int32)
    back_pointers = np.full(width, STALE, np.int32)
    found = True
    while found:
        point(block, width, 1, pointers, mates, owners)
        point(block, 1, width, back_pointers, owners, mates)
        found = False
        for row in range(mates.size):
            column = pointers[row]
            if mates[row] == NO_VERTEX and column >= 0 and back_pointers[column] == row:
                found = True
                match(row, column, block[row * width + column], mates, owners, row_duals, column_duals)


@helper
def point(block, stride, step, pointers, mates, other_mates):
    """Free vertices on one side whose pointer was lost point at their first free neighbour."""
    for vertex in range(pointers.size):
        old = pointers[vertex]
        lost = old == STALE or (old >= 0 and other_mates[old] != NO_VERTEX)
        if mates[vertex] != NO_VERTEX or not lost:
            continue
        best, pointers[vertex] = 0.0, NO_VERTEX
        for other in range(other_mates.size):
            weight = block[vertex * stride + other * step]
            if weight > best and other_mates[other] == NO_VERTEX:
                best, pointers[vertex] = weight, other


@kernel(parallel=True)
def match_stream(
    weights, starts, rows, columns, row_starts, column_starts, factor, mates, row_duals, column_duals
):
    for pair in prange(starts.size):
        stream_edges(
            weights[starts[pair] : starts[pair] + rows[pair] * columns[pair]],
            factor,
            mates[row_starts[pair] : row_starts[pair] + rows[pair]],
            row_duals[row_starts[pair] : row_starts[pair] + rows[pair]],
            column_duals[column_starts[pair] : column_starts[pair] + columns[pair]],
        )


@helper
def stream_edges(block, factor, mates, row_duals, column_duals):
    """Edges heavier than the duals of their ends are pushed; both duals gain what is left of the weight."""
    width = column_duals.size
    stack = np.empty(block.size, np.int32)
    top = 0
    for row in range(row_duals.size):
        for column in range(width):
            held = row_duals[row] + column_duals[column]
            gain = block[row * width + column] - held
            if block[row * width + column] > factor * held:
                row_duals[row] += gain
                column_duals[column] += gain
                stack[top] = row * width + column
                top += 1
    owners = unwind(stack, top, mates, width)
    add_free_edges(block, mates, owners)
    for row in range(row_duals.size):
        row_duals[row] *= factor
    for column in range(width):
        column_duals[column] *= factor


@helper
def unwind(stack, top, mates, width):
    """Edges in the reverse order of their arrival are taken if both ends are free."""
    owners = np.full(width, NO_VERTEX, np.int32)
    while top > 0:
        top -= 1
        row, column = stack[top] // width, stack[top] % width
        if mates[row] == NO_VERTEX and owners[column] == NO_VERTEX:
            mates[row], owners[column] = column, row
    return owners


@helper
def add_free_edges(block, mates, owners):
    """Row by row, the first edge between vertices that are still free: the stack need not be maximal."""
    for row in range(mates.size):
        best = 0.0
        if mates[row] != NO_VERTEX:
            continue
        for column in range(owners.size):
            weight = block[row * owners.size + column]
            if weight > best and owners[column] == NO_VERTEX:
                best, mates[row] = weight, column
        if mates[row] != NO_VERTEX:
            owners[mates[row]] = row


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
