"""Rows of sparse approximate inverses: each minimizes a quadratic functional on a sparse pattern.

A row x with pattern J minimizes x N x^H + 2 Re(x s^H) for a Hermitian definite matrix N and a row s of a
matrix S, so that x N_JJ = -s_J. Two approximate inverses are of this form:

- FSAI: N = S = A, and J is below the diagonal. The functional plus a_ii is that of Kaporin's condition
  number, and the row of the factor is (x, 1) divided by its root.
- SPAI: N = A A^H and S = -A^H. The functional plus 1 is the squared norm of e_i - x A.

Patterns grow greedily. The gradient is x N + s, and a step along column k lowers the functional by
|gradient_k|^2 / n_kk at best: the gain of k. Each round takes the columns of the largest gains, the lowest of
equal ones, and minimizes anew with further rows of a Cholesky factor. All numbers are in double precision and
sums in a stated order, as on the GPU: same patterns, same bits.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import readonly, shell_sort
from ..runtime.jit import helper, kernel

# Columns with a gradient, at most: the first ones that are met, in the order of the pattern, then of columns.
CAPACITY = 512
# Columns that a round adds at most, and their least gain as a share of the round's largest one.
STEP, SHARE = 5, 0.3
# A pivot of the Cholesky factor of at most this share of its diagonal entry is that of a dependent column.
DEPENDENT = 1e-13
# The least value of a functional, as a share of its constant.
FLOOR = 1e-14
PARTS_PER_THREAD = 4  # for load balancing
NONE = -1  # a column without a slot, a slot that is not in the pattern
REJECTED = -2  # a slot whose column is dependent
DEPENDENT_ROWS, EMPTY_ROWS = 0, 1  # counts in reports


class Functional(NamedTuple):
    """CSR arrays of N and S, the diagonal of N, and whether patterns are below the diagonal."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    start_indptr: np.ndarray
    start_indices: np.ndarray
    start_data: np.ndarray
    diagonal: np.ndarray
    triangular: bool


class RowSystem(NamedTuple):
    """Work space of a row.

    `slots` has the slot of each column of the matrix; `columns`, `gradient`, `gains` and `places` are of each
    slot, the last its place in the pattern. `factor` is a Cholesky factor L of N_JJ, `inverse` the
    reciprocals of its diagonal, `right` is -L^-1 s_J.
    """

    slots: np.ndarray
    columns: np.ndarray
    gradient: np.ndarray
    gains: np.ndarray
    places: np.ndarray
    pattern: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    right: np.ndarray
    solution: np.ndarray


def grow(matrix, start, diagonal, triangular, entries, tolerance):
    """The CSR arrays of the rows, on patterns that grow to at most `entries` entries.

    `matrix` and `start` are the CSR arrays of N and S in double precision. Columns are added while their gain
    is above `tolerance` times the functional. Triangular rows end with the diagonal of FSAI; other rows
    without entries are those of the identity.

    The second result counts rows that left out dependent columns, and rows without entries.
    """
    arrays, flags = grow_with_flags(matrix, start, diagonal, triangular, entries, tolerance)
    return arrays, flags.sum(axis=0)


def grow_with_flags(matrix, start, diagonal, triangular, entries, tolerance):
    """The same with both properties of each row."""
    n, index = diagonal.size, matrix[1].dtype
    columns, values = np.zeros((n, entries), index), np.zeros((n, entries), matrix[2].dtype)
    counts, flags = np.zeros(n + 1, index), np.zeros((n, 2), np.bool_)
    functional = _functional(matrix, start, diagonal, triangular)
    grow_rows(functional, entries, tolerance, _parts(n), columns, values, counts, flags)
    stored = np.arange(entries) < counts[1:, None]
    return (np.cumsum(counts, dtype=index), columns[stored], values[stored]), flags


def refill(matrix, start, diagonal, triangular, indptr, indices):
    """The values of rows on given patterns, and the counts as above; dependent columns get 0."""
    data, flags = refill_with_flags(matrix, start, diagonal, triangular, indptr, indices)
    return data, flags.sum(axis=0)


def refill_with_flags(matrix, start, diagonal, triangular, indptr, indices):
    """The same with both properties of each row."""
    n = diagonal.size
    data, flags = np.zeros(indices.size, matrix[2].dtype), np.zeros((n, 2), np.bool_)
    entries = int(np.diff(indptr).max(initial=1))
    functional = _functional(matrix, start, diagonal, triangular)
    refill_rows(functional, entries, _parts(n), readonly(indptr), readonly(indices), data, flags)
    return data, flags


def row_squares(indptr, data):
    """The squared norm of each row."""
    squares = np.zeros(indptr.size - 1)
    add_squares(readonly(indptr), readonly(data), squares)
    return squares


def _functional(matrix, start, diagonal, triangular):
    return Functional(*map(readonly, (*matrix, *start, diagonal)), triangular)


def _parts(n):
    return max(1, min(n, PARTS_PER_THREAD * numba.get_num_threads()))


@kernel(parallel=True)
def grow_rows(functional, entries, tolerance, parts, columns, values, counts, flags):
    for part in prange(parts):
        grow_share(functional, entries, tolerance, part, parts, columns, values, counts, flags)


@helper
def grow_share(functional, entries, tolerance, part, parts, columns, values, counts, flags):
    n = flags.shape[0]
    system = row_system(n, entries, functional.data)
    for row in range(part * n // parts, (part + 1) * n // parts):
        used, size, dependent, left = grow_row(functional, entries, tolerance, row, system)
        for place in range(size):
            columns[row, place] = system.columns[system.pattern[place]]
            values[row, place] = system.solution[place]
        shell_sort(columns[row], values[row], size)
        counts[row + 1] = close_row(functional, row, left, size, columns[row], values[row])
        flags[row, DEPENDENT_ROWS] = dependent
        flags[row, EMPTY_ROWS] = size == 0 and not functional.triangular
        forget(system, used)


# Scales a row and adds its diagonal, or fills an empty one; its number of entries.
@helper
def close_row(functional, row, left, size, columns, values):
    if functional.triangular:
        scale = 1 / math.sqrt(left)
        for place in range(size):
            values[place] = values[place] * scale
        columns[size], values[size] = row, scale
        return size + 1
    if size == 0:
        columns[0], values[0] = row, 1
        return 1
    return size


@kernel(parallel=True)
def refill_rows(functional, entries, parts, indptr, indices, data, flags):
    for part in prange(parts):
        refill_share(functional, entries, part, parts, indptr, indices, data, flags)


@helper
def refill_share(functional, entries, part, parts, indptr, indices, data, flags):
    n = flags.shape[0]
    system = row_system(n, entries, functional.data)
    for row in range(part * n // parts, (part + 1) * n // parts):
        begin, end = np.int64(indptr[row]), np.int64(indptr[row + 1])
        used = end - begin - (1 if functional.triangular else 0)
        for slot in range(used):
            take_slot(system, slot, np.int64(indices[begin + slot]))
        size, left = solve_on_slots(functional, row, system, used)
        write_values(functional, row, system, used, size, left, data[begin:end])
        flags[row, DEPENDENT_ROWS] = size < used
        flags[row, EMPTY_ROWS] = size == 0 and not functional.triangular
        forget(system, used)


@helper
def write_values(functional, row, system, used, size, left, data):
    scale = 1 / math.sqrt(left) if functional.triangular else 1.0
    for slot in range(used):
        place = system.places[slot]
        if place >= 0:
            data[slot] = system.solution[place] * scale
        elif size == 0 and system.columns[slot] == row:
            data[slot] = 1
    if functional.triangular:
        data[used] = scale


@helper
def solve_on_slots(functional, row, system, used):
    size, left = 0, constant_of(functional, row)
    least = FLOOR * left
    for slot in range(used):
        gain = append(functional, row, system, slot, size, most_gain(functional, left, least))
        if gain >= 0:
            size, left = size + 1, left - gain
    solve(system, size)
    return size, left


@helper
def row_system(n, entries, data):
    value, capacity = data.dtype, max(CAPACITY, entries)
    return RowSystem(
        np.full(n, NONE, np.int32), np.empty(capacity, np.int64), np.empty(capacity, value),
        np.empty(capacity, np.float64), np.empty(capacity, np.int32), np.empty(entries, np.int64),
        np.empty((entries, entries), value), np.empty(entries, np.float64), np.empty(entries, value),
        np.empty(entries, value),
    )  # fmt: skip


@helper
def take_slot(system, slot, column):
    system.slots[column], system.columns[slot] = slot, column
    system.gradient[slot], system.places[slot] = 0, NONE


@helper
def forget(system, used):
    for slot in range(used):
        system.slots[system.columns[slot]] = NONE


@helper
def constant_of(functional, row):
    return functional.diagonal[row] if functional.triangular else 1.0


# The functionals of a definite matrix stay positive; those of least squares may vanish.
@helper
def most_gain(functional, left, least):
    return left - least if functional.triangular else math.inf


# The slots used, the size of the pattern, whether columns were dependent, and the functional's value.
@helper
def grow_row(functional, entries, tolerance, row, system):
    used, size, dependent = 0, 0, False
    left = constant_of(functional, row)
    least = FLOOR * left
    most = entries - 1 if functional.triangular else entries
    grown = True
    while grown and size < most and left > least:
        used = find_gradient(functional, row, system, used, size)
        find_gains(functional, system, used)
        grown, bound = False, tolerance * left
        for _ in range(min(STEP, most - size)):
            slot = best_slot(system, used, bound)
            if slot < 0:
                break
            bound = max(bound, SHARE * system.gains[slot])
            gain = append(functional, row, system, slot, size, most_gain(functional, left, least))
            dependent = dependent or gain < 0
            if gain >= 0:
                size, left, grown = size + 1, left - gain, True
        solve(system, size)
    return used, size, dependent, left


# gradient = s + x N, in the order of the pattern; columns that are met for the first time get slots.
@helper
def find_gradient(functional, row, system, used, size):
    for slot in range(used):
        system.gradient[slot] = 0
    most = row if functional.triangular else functional.diagonal.size
    used = add_row(
        functional.start_indptr, functional.start_indices, functional.start_data, functional.diagonal,
        row, functional.data.dtype.type(1), most, system, used,
    )  # fmt: skip
    for place in range(size):
        used = add_row(
            functional.indptr, functional.indices, functional.data, functional.diagonal,
            system.columns[system.pattern[place]], system.solution[place], most, system, used,
        )  # fmt: skip
    return used


@helper
def add_row(indptr, indices, data, diagonal, row, factor, most, system, used):
    for at in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
        column = np.int64(indices[at])
        if column >= most:
            break
        slot = system.slots[column]
        if slot == NONE:
            if used == CAPACITY or not diagonal[column] > 0:
                continue
            slot, used = used, used + 1
            take_slot(system, slot, column)
        system.gradient[slot] += factor * data[at]
    return used


@helper
def squared(value):
    return value.real * value.real + value.imag * value.imag


@helper
def find_gains(functional, system, used):
    for slot in range(used):
        system.gains[slot] = squared(system.gradient[slot]) / functional.diagonal[system.columns[slot]]


# The slot of the largest gain above a bound that is not in the pattern; of equal gains, of the lowest column.
@helper
def best_slot(system, used, bound):
    best = NONE
    for slot in range(used):
        gain = system.gains[slot]
        if system.places[slot] != NONE or not gain > bound:
            continue
        if best == NONE or gain > system.gains[best]:
            best = slot
        elif gain == system.gains[best] and system.columns[slot] < system.columns[best]:
            best = slot
    return best


# The next row of the Cholesky factor. Returns by how much the functional falls, or -1 where the column
# depends on those of the pattern, or where the functional would fall by `most`: the matrix is not definite.
@helper
def append(functional, row, system, slot, size, most):
    column = system.columns[slot]
    new, inverse, right = system.factor[size], system.inverse, system.right
    gather_couplings(functional, system, column, new, size)
    entry = find_slot(functional.start_indptr, functional.start_indices, row, column)
    rest = -functional.start_data[entry] if entry >= 0 else functional.data.dtype.type(0)
    diagonal = functional.diagonal[column]
    pivot = diagonal
    for place in range(size):
        value = new[place] * inverse[place]
        for after in range(place + 1, size):
            new[after] -= value * np.conj(system.factor[after, place])
        pivot -= squared(value)
        rest -= value * right[place]
        new[place] = value
    system.places[slot] = REJECTED
    if not pivot > DEPENDENT * diagonal:
        return -1.0
    scale = 1 / math.sqrt(pivot)
    value = rest * scale
    gain = squared(value)
    if not gain < most:
        return -1.0
    inverse[size], right[size] = scale, value
    system.pattern[size], system.places[slot] = slot, size
    return gain


# The entries of a row of N in the columns of the pattern, conjugated.
@helper
def gather_couplings(functional, system, column, new, size):
    for place in range(size):
        new[place] = 0
    for at in range(np.int64(functional.indptr[column]), np.int64(functional.indptr[column + 1])):
        other = system.slots[np.int64(functional.indices[at])]
        if other >= 0 and system.places[other] >= 0:
            new[system.places[other]] = np.conj(functional.data[at])


# x = L^-H right, by columns of L^H from the last one on.
@helper
def solve(system, size):
    solution = system.solution
    for place in range(size):
        solution[place] = system.right[place]
    for place in range(size - 1, -1, -1):
        value = solution[place] * system.inverse[place]
        for before in range(place):
            solution[before] -= np.conj(system.factor[place, before]) * value
        solution[place] = value


@kernel(parallel=True)
def add_squares(indptr, data, squares):
    for row in prange(squares.size):
        total = 0.0
        for at in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            total += squared(data[at])
        squares[row] = total
