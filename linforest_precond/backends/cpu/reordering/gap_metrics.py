"""Gap metrics of an ordering: sorted neighbourhoods, sums of logarithms in fixed point, and a refinement.

A logarithm of a gap is an integer in units of 2**-32: sums and differences of logarithms have the same bits
in any order and on every backend (kernels/reordering/fixed_logarithm.cuh).

The refinement by degree (Mandulak, Hu & Slota 2022) swaps vertices along edges where that lowers a gap
metric. The metric is a sum over rows, the sorted positions of the neighbours of a vertex. A swap of u and v
changes the rows of their neighbours alone, its scope.
"""

import math

import numpy as np
from numba import prange

from ..runtime.arrays import lower_bound, readonly
from ..runtime.jit import helper, kernel

UNIT = 2**32
LOW_BITS = UNIT - 1
ROOT_HALF, LN2 = math.sqrt(0.5), math.log(2.0)
# The partner of a vertex that no swap would improve.
NO_SWAP = -1


def sorted_positions(indptr, neighbours, order):
    """For each vertex the positions of its neighbours in an order, ascending; rows as in the pattern."""
    positions = np.empty(neighbours.size, np.int32)
    scatter_positions(readonly(indptr), readonly(neighbours), readonly(order), indptr[:-1].copy(), positions)
    return positions


def log_sum(numbers):
    """The sum of the natural logarithms of positive 32-bit integers, in units of 2**-32."""
    whole, fraction = sum_logarithms(readonly(numbers))
    return int(whole) * UNIT + int(fraction)


# Visits the vertices by position and appends it to the rows of their neighbours: all rows are sorted.
@kernel
def scatter_positions(indptr, neighbours, order, ends, positions):
    for position in range(order.size):
        vertex = order[position]
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            row = neighbours[slot]
            positions[ends[row]] = position
            ends[row] += 1


# ln by the series of the inverse hyperbolic tangent around sqrt(1/2); its error, 1e-12, is far below a unit.
@helper
def fixed_logarithm(number):
    fraction, exponent = math.frexp(np.float64(number))
    s = (fraction - ROOT_HALF) / (fraction + ROOT_HALF)
    z = s * s
    series = 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    series = series * z + 1.0
    return np.int64(np.rint(((exponent - 0.5) * LN2 + 2.0 * (s * series)) * UNIT))


# Whole parts and fractions are summed apart: their sum would overflow at 2**26 large gaps.
@kernel(parallel=True)
def sum_logarithms(numbers):
    whole, fraction = np.int64(0), np.int64(0)
    for i in prange(numbers.size):
        logarithm = fixed_logarithm(numbers[i])
        whole += logarithm >> 32
        fraction += logarithm & LOW_BITS
    return whole, fraction


def refine(indptr, neighbours, order, candidates, logarithmic, max_degree, max_rounds):
    """The refined order, and the number of swaps.

    Each candidate desires the swap with a neighbour of at most `max_degree` neighbours that lowers the metric
    most. Swaps are completed one after the other if they still lower it. The CUDA backend completes them in
    rounds of disjoint scopes with the same result; a swap of a later round than `max_rounds` is dropped.
    """
    order = order.copy()
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    positions = sorted_positions(indptr, neighbours, order)
    indptr, neighbours, candidates = readonly(indptr), readonly(neighbours), readonly(candidates)
    partners = np.empty(candidates.size, np.int32)
    desire_swaps(
        indptr, neighbours, readonly(positions), readonly(rank), candidates, logarithmic, max_degree, partners
    )
    depths = np.zeros(order.size, np.int64)
    swaps = complete_swaps(
        indptr, neighbours, positions, rank, order, candidates, partners, depths, logarithmic, max_rounds
    )
    return order, swaps


# Two consecutive positions of a row; nothing where one of them is missing (negative).
@helper
def gap(low, high, logarithmic):
    if low < 0 or high < 0:
        return np.int64(0)
    return fixed_logarithm(high - low) if logarithmic else np.int64(high - low)


# The change of a row's gaps when a neighbour moves from position `old` to `new`. A row that has both keeps
# its positions.
@helper
def change_of_row(positions, begin, end, old, new, logarithmic):
    place = lower_bound(positions, begin, end, new)
    if place < end and positions[place] == new:
        return np.int64(0)
    own = lower_bound(positions, begin, end, old)
    below = positions[own - 1] if own > begin else -1
    above = positions[own + 1] if own + 1 < end else -1
    left = positions[place - 1] if place > begin else -1
    right = positions[place] if place < end else -1
    if left == old:
        left = below
    if right == old:
        right = above
    removed = gap(below, above, logarithmic) - gap(below, old, logarithmic) - gap(old, above, logarithmic)
    added = gap(left, new, logarithmic) + gap(new, right, logarithmic) - gap(left, right, logarithmic)
    return removed + added


# The change of the metric when two vertices swap their positions.
@helper
def change_of_swap(indptr, neighbours, positions, rank, u, v, logarithmic):
    change = np.int64(0)
    for slot in range(indptr[u], indptr[u + 1]):
        row = neighbours[slot]
        change += change_of_row(positions, indptr[row], indptr[row + 1], rank[u], rank[v], logarithmic)
    for slot in range(indptr[v], indptr[v + 1]):
        row = neighbours[slot]
        change += change_of_row(positions, indptr[row], indptr[row + 1], rank[v], rank[u], logarithmic)
    return change


# Each candidate's swap of the largest decrease; a tie goes to the lower neighbour.
@kernel(parallel=True)
def desire_swaps(indptr, neighbours, positions, rank, candidates, logarithmic, max_degree, partners):
    for i in prange(candidates.size):
        u = candidates[i]
        best, partner = np.int64(0), NO_SWAP
        for slot in range(indptr[u], indptr[u + 1]):
            v = neighbours[slot]
            if indptr[v + 1] - indptr[v] <= max_degree:
                change = change_of_swap(indptr, neighbours, positions, rank, u, v, logarithmic)
                if change < best:
                    best, partner = change, v
        partners[i] = partner


@kernel
def complete_swaps(
    indptr, neighbours, positions, rank, order, candidates, partners, depths, logarithmic, max_rounds
):
    swaps = 0
    for i in range(candidates.size):
        u, v = candidates[i], partners[i]
        if v == NO_SWAP or round_of_swap(indptr, neighbours, depths, u, v) > max_rounds:
            continue
        if change_of_swap(indptr, neighbours, positions, rank, u, v, logarithmic) < 0:
            move_in_rows(indptr, neighbours, positions, u, rank[u], rank[v])
            move_in_rows(indptr, neighbours, positions, v, rank[v], rank[u])
            rank[u], rank[v] = rank[v], rank[u]
            order[rank[u]], order[rank[v]] = u, v
            swaps += 1
    return swaps


# The round in which a swap comes first in all rows of its scope: one more than the latest earlier swap there.
@helper
def round_of_swap(indptr, neighbours, depths, u, v):
    latest = 0
    for vertex in (u, v):
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            latest = max(latest, depths[neighbours[slot]])
    for vertex in (u, v):
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            depths[neighbours[slot]] = latest + 1
    return latest + 1


# Moves a vertex in the sorted rows of its neighbours, except where the new position is its partner's.
@helper
def move_in_rows(indptr, neighbours, positions, vertex, old, new):
    for slot in range(indptr[vertex], indptr[vertex + 1]):
        begin, end = indptr[neighbours[slot]], indptr[neighbours[slot] + 1]
        place = lower_bound(positions, begin, end, new)
        if place < end and positions[place] == new:
            continue
        own = lower_bound(positions, begin, end, old)
        while own + 1 < place:
            positions[own] = positions[own + 1]
            own += 1
        while own > place:
            positions[own] = positions[own - 1]
            own -= 1
        positions[own] = new
