"""Sorted neighbourhoods of an ordering, and sums of logarithms in fixed point.

A logarithm of a gap is an integer in units of 2**-32: sums and differences of logarithms have the same bits
in any order and on every backend (kernels/reordering/fixed_logarithm.cuh).
"""

import math

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

UNIT = 2**32
LOW_BITS = UNIT - 1
ROOT_HALF, LN2 = math.sqrt(0.5), math.log(2.0)


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
