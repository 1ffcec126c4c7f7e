"""Logarithms of magnitudes in fixed point, on which scalings and matchings are computed exactly."""

import numpy as np

from ..runtime import INDICES, WEIGHTS, Program, cupy, launch
from .long_row_split import lanes_to_a_row

# As in the CPU backend, and in log_scaling.cu.
UNIT = 2**20
NO_WEIGHT = -(2**31)
LOGARITHMS = Program("matrix/logarithms", WEIGHT=WEIGHTS)
SCALING = Program("matrix/log_scaling", cooperative=True, INDEX=INDICES)


def fixed_logarithms(magnitudes):
    weights = cupy.empty(magnitudes.size, np.int32)
    program = LOGARITHMS(WEIGHT=magnitudes)
    launch(program.take_logarithms, (magnitudes, magnitudes.size, weights), items=magnitudes.size)
    return weights


def powers(exponents):
    factors = cupy.empty(exponents.size, np.float64)
    program = LOGARITHMS(WEIGHT=np.float64)
    launch(program.raise_to_powers, (exponents, exponents.size, factors), items=exponents.size)
    return factors


def maxima(indptr, indices, weights):
    n = indptr.size - 1
    rows, columns = cupy.full((2, n), NO_WEIGHT, np.int64)
    arguments = indptr, indices, weights, n, _width(n, indices), rows, columns
    launch(SCALING(INDEX=indices).find_maxima, arguments)
    return rows, columns


def equilibrated(indptr, indices, weights, iterations):
    n = indptr.size - 1
    row_shifts, column_shifts = cupy.zeros((2, n), np.int64)
    columns, barrier = cupy.full(n, NO_WEIGHT, np.int64), cupy.zeros(1, np.uint32)
    shifts = row_shifts, column_shifts, columns, barrier
    arguments = indptr, indices, weights, n, _width(n, indices), iterations, *shifts
    launch(SCALING(INDEX=indices).equilibrate_rows, arguments)
    return row_shifts, column_shifts


def _width(n, indices):
    return lanes_to_a_row(indices.size / max(n, 1))
