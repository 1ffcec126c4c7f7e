"""Logarithms of magnitudes in fixed point, on which scalings and matchings are computed exactly.

A weight is log2 of a magnitude in units of 2**-20, a 32-bit integer: maxima, sums and differences of weights
have the same bits in any order and on every backend.
"""

import math

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

UNIT = 2**20
# The weight of an entry that is 0.
NO_WEIGHT = -(2**31)
# Larger exponents would leave the range of float64.
LARGEST_POWER = 1000
ROOT_HALF, TWO_OVER_LN2, LN2 = math.sqrt(0.5), 2.0 / math.log(2.0), math.log(2.0)


def fixed_logarithms(magnitudes):
    """The weights of magnitudes, `NO_WEIGHT` for 0."""
    weights = np.empty(magnitudes.size, np.int32)
    take_logarithms(readonly(magnitudes), weights)
    return weights


def powers(exponents):
    """2**(exponent / UNIT) in float64 for 64-bit integers, clamped to the range of float64."""
    factors = np.empty(exponents.size, np.float64)
    raise_to_powers(readonly(exponents), factors)
    return factors


def maxima(indptr, indices, weights):
    """The largest weight of each row and of each column."""
    rows, columns = np.full((2, indptr.size - 1), NO_WEIGHT, np.int64)
    shifts = np.zeros(indptr.size - 1, np.int64)
    find_maxima(*map(readonly, (indptr, indices, weights, shifts, shifts)), rows, columns)
    return rows, columns


def equilibrated(indptr, indices, weights, iterations):
    """Shifts of rows and columns after Ruiz iterations: the largest sums of each tend to 0."""
    row_shifts, column_shifts = np.zeros((2, indptr.size - 1), np.int64)
    arrays = [readonly(each) for each in (indptr, indices, weights)]
    for _ in range(iterations):
        rows, columns = np.full((2, indptr.size - 1), NO_WEIGHT, np.int64)
        find_maxima(*arrays, readonly(row_shifts), readonly(column_shifts), rows, columns)
        row_shifts -= np.where(rows == NO_WEIGHT, 0, rows) >> 1
        column_shifts -= np.where(columns == NO_WEIGHT, 0, columns) >> 1
    return row_shifts, column_shifts


# log2 by the series of the inverse hyperbolic tangent around sqrt(1/2); its error is far below a unit.
@helper
def fixed_logarithm(magnitude):
    fraction, exponent = math.frexp(magnitude)
    s = (fraction - ROOT_HALF) / (fraction + ROOT_HALF)
    z = s * s
    series = 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    series = series * z + 1.0
    logarithm = (exponent - 0.5) + TWO_OVER_LN2 * (s * series)
    return np.int32(np.rint(logarithm * UNIT))


@kernel
def take_logarithms(magnitudes, weights):
    for i in range(magnitudes.size):
        magnitude = np.float64(magnitudes[i])
        weights[i] = fixed_logarithm(magnitude) if magnitude > 0.0 else NO_WEIGHT


# The fraction by the Taylor series of the exponential, which is 1 for whole exponents.
@helper
def power(exponent):
    exponent = max(min(exponent, LARGEST_POWER * UNIT), -LARGEST_POWER * UNIT)
    whole = exponent >> 20
    x = (exponent - (whole << 20)) * (LN2 / UNIT)
    series = 1.0
    for k in range(14, 0, -1):
        series = 1.0 + series * x / k
    return math.ldexp(series, whole)


@kernel
def raise_to_powers(exponents, factors):
    for i in range(exponents.size):
        factors[i] = power(exponents[i])


# The largest weight of each row and column after its shifts.
@kernel
def find_maxima(indptr, indices, weights, row_shifts, column_shifts, rows, columns):
    for i in range(rows.size):
        largest = np.int64(NO_WEIGHT)
        for slot in range(indptr[i], indptr[i + 1]):
            if weights[slot] != NO_WEIGHT:
                j = indices[slot]
                weight = np.int64(weights[slot]) + row_shifts[i] + column_shifts[j]
                largest = max(largest, weight)
                columns[j] = max(columns[j], weight)
        rows[i] = largest
