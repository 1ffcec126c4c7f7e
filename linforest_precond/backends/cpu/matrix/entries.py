"""The stored entries of a matrix: scanned in one pass, sorted, transposed, symmetrized, their magnitudes."""

import math

import numpy as np
import scipy.sparse
from numba import prange

from linforest_precond.backends.returns import EntryScan, IndexScan

from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.hashing import symmetry_hash
from ..runtime.jit import helper, kernel
from .sums import CHUNK, fold, tree_sums

SINGLE_MAX = float(np.finfo(np.float32).max)
DOUBLE_MAX = float(np.finfo(np.float64).max)


def wide_pattern(pattern):
    """Pointers, indices and degrees of a pattern for kernels that are compiled for 64-bit pointers alone."""
    indptr = pattern.indptr.astype(np.int64, copy=False)
    return readonly(indptr), readonly(pattern.indices), readonly(pattern.degrees)


def scan(indptr, indices, data, scale=1.0, meanwhile=None):
    """One pass over the entries: finite, symmetric? Also the diagonal and the weights.

    The columns are checked alone before: where one is out of range, or out of order, no value is read.
    `meanwhile` is called where the caller has to wait for the report of the scan, and with that: not here.
    """
    columns = scan_indices(indptr, indices)
    if not columns.valid:
        return EntryScan(*columns, NOT_FOUND, False, 0.0, 0.0, 0, None)
    # Nonfinite complex entries have nonfinite magnitudes, so one real scan serves both.
    weights = magnitudes(data) if data.dtype.kind == "c" else data
    words, without_sign = words_of(weights)
    sums = np.empty((2, -(-indices.size // CHUNK)))
    diagonal_slots = np.full(indptr.size - 1, NOT_FOUND, np.int64)
    arrays = (readonly(array) for array in (indptr, indices, weights, words))
    balance, largest, nonfinite = scan_chunks(*arrays, without_sign, scale, sums, diagonal_slots)
    return EntryScan(
        *columns,
        nonfinite if nonfinite < indices.size else NOT_FOUND,
        balance == 0,
        *tree_sums(sums),
        largest >> np.finfo(weights.dtype).nmant,
        gathered(data, diagonal_slots),
    )


def scan_indices(indptr, indices):
    """The check of pointers and columns, before anything follows them."""
    rows = indptr.size - 1
    bad_row, longest_row = check_rows(readonly(indptr), indices.size)
    if bad_row != NOT_FOUND:
        return IndexScan(bad_row, NOT_FOUND, False, longest_row)
    outside, descents = check_columns(readonly(indptr), readonly(indices))
    first = int(((indices < 0) | (indices >= rows)).argmax()) if outside else NOT_FOUND
    return IndexScan(NOT_FOUND, first, descents == 0, longest_row)


def words_of(weights):
    """The bits of reals as integers, and the mask of all bits but the sign's."""
    word = np.uint32 if weights.dtype == np.float32 else np.uint64
    return weights.view(word), np.uint64(np.iinfo(word).max >> 1)


def gathered(values, slots):
    """The values at the slots, 0 where a slot is -1."""
    if values.size == 0:
        return np.zeros(slots.shape, values.dtype)
    out = values.take(slots, mode="clip")
    np.copyto(out, 0, where=slots < 0)
    return out


def sort_entries(rows, cols, n):
    """The stable order of entries by (row, column), and the row pointers."""
    by_column, _ = _stable_order(cols, n)
    by_row, indptr = _stable_order(rows[by_column], n)
    return by_column[by_row], indptr


def canonical(rows, cols, data, n, index_dtype):
    """The CSR arrays of triplets: stably sorted by (row, column), duplicates summed left to right."""
    order, indptr = sort_entries(rows, cols, n)
    rows, cols, data = rows[order], cols[order], data[order]
    again = np.zeros(rows.size, bool)
    again[1:] = (rows[1:] == rows[:-1]) & (cols[1:] == cols[:-1])
    if again.any():
        first = ~again
        entry = np.cumsum(first) - 1
        rows, cols, repeated, data = rows[first], cols[first], data[again], data[first]
        with np.errstate(over="ignore", invalid="ignore"):  # overflows are found by the scan
            np.add.at(data, entry[again], repeated)  # unbuffered: one at a time, in order
        indptr = np.searchsorted(rows, np.arange(n + 1))
    return indptr.astype(index_dtype), cols.astype(index_dtype), data


def row_of(indptr, slot):
    """The row that entry `slot` lies in."""
    return int(np.searchsorted(indptr, slot, side="right")) - 1


def rows_of(indptr, count):
    """The row of each of the `count` entries."""
    return np.repeat(np.arange(indptr.size - 1, dtype=indptr.dtype), np.diff(indptr))


def expanded_rows(indptr, rows):
    """For each entry of some rows the place of its row among them, and its slot.

    The loops over rows and over their entries are collapsed by a prefix sum of the lengths.
    """
    begins = indptr[rows].astype(np.int64)
    lengths = indptr[rows + 1] - begins
    places = np.repeat(np.arange(rows.size), lengths)
    before = np.cumsum(lengths) - lengths
    return places, np.arange(places.size) + (begins - before)[places]


def transposed(indptr, indices, data, width=None):
    """The CSR arrays of the transpose; `width` is that of a matrix that is not square."""
    rows = indptr.size - 1
    shape = rows, rows if width is None else width
    columns = scipy.sparse.csr_array((data, indices, indptr), shape=shape).tocsc()
    return columns.indptr.astype(indptr.dtype), columns.indices.astype(indices.dtype), columns.data


def transposed_values(indptr, indices, data, width, pattern):
    """The values of `transposed`, whose pointers and indices are known."""
    return transposed(indptr, indices, data, width)[2]


def magnitudes(data):
    """Magnitudes by one explicit IEEE formula on every backend; those of finite entries are finite."""
    if data.dtype.kind != "c":
        return np.abs(data)
    out = np.empty(data.size, data.real.dtype)
    compute = single_magnitudes if data.dtype == np.complex64 else double_magnitudes
    compute(readonly(data), out)
    return out


def symmetrized(indptr, indices, weights):
    """|A| + |A|^T as CSR arrays, and whether its pattern is A's own; else sums that are 0 are dropped."""
    weights = np.abs(weights)
    mirrored = transposed(indptr, indices, weights)
    largest = np.finfo(weights.dtype).max
    if np.array_equal(mirrored[0], indptr) and np.array_equal(mirrored[1], indices):
        with np.errstate(over="ignore"):
            return indptr, indices, np.minimum(weights + mirrored[2], largest), True
    starts, ends = indptr.astype(np.int64) + mirrored[0], np.zeros(indptr.size, np.int64)
    sums = np.empty(starts[-1], indices.dtype), np.empty(starts[-1], weights.dtype)
    arrays = map(readonly, (indptr, indices, weights, *mirrored, starts))
    add_mirrored_rows(*arrays, largest, *sums, ends)
    np.cumsum(ends, out=ends)
    return ends.astype(indptr.dtype), *packed(starts, ends, *sums), False


def packed(starts, ends, columns, values):
    """Rows of entries moved together: a row begins at its place in `starts`, and gets that in `ends`."""
    moved = np.empty(ends[-1], columns.dtype), np.empty(ends[-1], values.dtype)
    pack_rows(*map(readonly, (starts, ends, columns, values)), *moved)
    return moved


def _stable_order(keys, n):
    """The stable order of keys in [0, n) by counting sort, and where each key begins."""
    begins, order = np.zeros(n + 1, np.int64), np.empty(keys.size, np.int64)
    sort_by_counting(readonly(keys), begins, order)
    return order, begins


# Stable counting sort; `begins` is zero at first.
@kernel(parallel=False)
def sort_by_counting(keys, begins, order):
    for key in keys:
        begins[key + 1] += 1
    for key in range(1, begins.size):
        begins[key] += begins[key - 1]
    places = begins[:-1].copy()
    for i in range(keys.size):
        order[places[keys[i]]] = i
        places[keys[i]] += 1


# Where the entry (row, col) is stored, by binary search.
@helper
def find_slot(indptr, indices, row, col):
    low, high = np.int64(indptr[row]), np.int64(indptr[row + 1])
    end = high
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < col:
            low = middle + 1
        else:
            high = middle
    return low if low < end and indices[low] == col else NOT_FOUND


# Binary search for the row of an entry: the last one that starts at or before it.
@helper
def find_row(indptr, slot):
    low, high = 0, indptr.size - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if indptr[middle] <= slot:
            low = middle
        else:
            high = middle
    return low


# The first row that ends before it starts, or the first or last one where the pointers have a wrong end; and
# the length of the longest row.
@kernel(parallel=False)
def check_rows(indptr, entries):
    rows, longest = indptr.size - 1, 0
    if indptr[0] != 0:
        return 0, longest
    for row in range(rows):
        length = np.int64(indptr[row + 1]) - np.int64(indptr[row])
        if length < 0:
            return row, longest
        longest = max(longest, length)
    return NOT_FOUND if indptr[rows] == entries else max(rows - 1, 0), longest


# The number of columns out of range, and of those that are not above the one before in their row: of all that
# descend from one entry to the next, without those where a row begins.
@kernel(parallel=True)
def check_columns(indptr, indices):
    outside = descents = 0
    for chunk in prange((indices.size + CHUNK - 1) // CHUNK):
        found = check_chunk(chunk * CHUNK, indptr.size - 1, indices)
        outside += found[0]
        descents += found[1]
    for row in prange(indptr.size - 1):
        begin = np.uint64(indptr[row])
        if 0 < begin < np.uint64(indptr[row + 1]):
            descents -= indices[begin] <= indices[begin - np.uint64(1)]
    return outside, descents


@helper
def check_chunk(first, n, indices):
    outside = descents = 0
    end = min(first + CHUNK, indices.size)
    # Unsigned: Numba does not wrap it around.
    for slot in range(np.uint64(first), np.uint64(end)):
        outside += (indices[slot] < 0) | (indices[slot] >= n)
    for slot in range(np.uint64(max(first, 1)), np.uint64(end)):
        descents += indices[slot] <= indices[slot - np.uint64(1)]
    return outside, descents


# Each chunk writes its sums of weights: all, and those on the sub- and superdiagonal. Returns the symmetry
# balance (hashes above the diagonal minus those below), the bits of the largest magnitude, and the first
# nonfinite entry, or the number of entries where there is none.
@kernel(parallel=True)
def scan_chunks(indptr, indices, weights, words, without_sign, scale, sums, diagonal_slots):
    all_balances = all_bits = np.uint64(0)
    first_nonfinite = indices.size
    for chunk in prange(sums.shape[1]):
        balance, largest, nonfinite = scan_chunk(
            chunk, indptr, indices, weights, words, without_sign, scale, sums, diagonal_slots
        )
        all_balances += balance
        all_bits = max(all_bits, largest)
        first_nonfinite = min(first_nonfinite, nonfinite)
    return all_balances, all_bits, first_nonfinite


@helper
def scan_chunk(chunk, indptr, indices, weights, words, without_sign, scale, sums, diagonal_slots):
    values, beside = np.zeros(CHUNK), np.zeros(CHUNK)
    start = chunk * CHUNK
    row = find_row(indptr, start)
    row_end = indptr[row + 1]
    balance = largest = np.uint64(0)
    nonfinite = indices.size
    for slot in range(start, min(start + CHUNK, indices.size)):
        while slot >= row_end:
            row += 1
            row_end = indptr[row + 1]
        col = np.int64(indices[slot])
        weight = abs(weights[slot])
        if not math.isfinite(weight):
            nonfinite = min(nonfinite, slot)
        bits = np.uint64(words[slot]) & without_sign
        largest = max(largest, bits)
        if col == row:
            diagonal_slots[row] = slot
        elif weight > 0:
            word = symmetry_hash(row, col, bits)
            balance = balance + word if col > row else balance - word
            values[slot - start] = np.float64(weight) * scale
            if abs(col - row) == 1:
                beside[slot - start] = values[slot - start]
    sums[0, chunk] = fold(values)
    sums[1, chunk] = fold(beside)
    return balance, largest, nonfinite


# Merges each row of a matrix with that of its transpose, whose columns both ascend, and sums their values.
# The nonzero sums are written from starts[row] on, their number to counts[row + 1].
@kernel(parallel=True)
def add_mirrored_rows(
    indptr, indices, weights, mirrored_indptr, mirrored_indices, mirrored_weights, starts, largest, columns,
    sums, counts,
):  # fmt: skip
    for row in prange(starts.size - 1):
        i, end = np.int64(indptr[row]), np.int64(indptr[row + 1])
        j, mirrored_end = np.int64(mirrored_indptr[row]), np.int64(mirrored_indptr[row + 1])
        place = np.int64(starts[row])
        while i < end or j < mirrored_end:
            column = starts.size if i == end else np.int64(indices[i])
            mirrored_column = starts.size if j == mirrored_end else np.int64(mirrored_indices[j])
            total = weights.dtype.type(0)
            if column <= mirrored_column:
                total += weights[i]
                i += 1
            if mirrored_column <= column:
                total += mirrored_weights[j]
                j += 1
            columns[place], sums[place] = min(column, mirrored_column), min(total, largest)
            place += total != 0
        counts[row + 1] = place - starts[row]


# Stream compaction: closes the gaps between the rows.
@kernel(parallel=True)
def pack_rows(starts, ends, columns, weights, packed_columns, packed_weights):
    for row in prange(ends.size - 1):
        gap = starts[row] - ends[row]
        for slot in range(ends[row], ends[row + 1]):
            packed_columns[slot], packed_weights[slot] = columns[slot + gap], weights[slot + gap]


# complex64: the squares are exact in float64, and their root is rounded once to float32.
@kernel(parallel=True)
def single_magnitudes(data, out):
    for i in prange(data.size):
        real, imag = np.float64(data[i].real), np.float64(data[i].imag)
        length = math.sqrt(real * real + imag * imag)
        if math.isfinite(length):
            length = min(length, SINGLE_MAX)
        out[i] = length


# complex128: NaN where a part is not finite.
@kernel(parallel=True)
def double_magnitudes(data, out):
    for i in prange(data.size):
        real, imag = abs(data[i].real), abs(data[i].imag)
        if not math.isfinite(real) or not math.isfinite(imag):
            out[i] = math.nan
            continue
        out[i] = modulus(real, imag)


# The modulus of a finite number with these nonnegative parts. They are scaled by a power of two, which is
# exact, so that no square overflows or underflows.
@helper
def modulus(real, imag):
    _, exponent = math.frexp(max(real, imag))
    x, y = math.ldexp(real, -exponent), math.ldexp(imag, -exponent)
    return min(math.ldexp(math.sqrt(x * x + y * y), exponent), DOUBLE_MAX)


# Rows over ranks, whose columns have global ids, the own ones first: writes the weights of the entries off
# the diagonal, and of those next to it. Returns the symmetry balance as above.
@kernel(parallel=True)
def weigh_rows(ids, indptr, columns, weights, words, without_sign, off_diagonal, beside):
    balance = np.uint64(0)
    for row in prange(indptr.size - 1):
        balance += weigh_row(row, ids, indptr, columns, weights, words, without_sign, off_diagonal, beside)
    return balance


@helper
def weigh_row(row, ids, indptr, columns, weights, words, without_sign, off_diagonal, beside):
    own, balance = ids[row], np.uint64(0)
    for slot in range(indptr[row], indptr[row + 1]):
        other, weight = ids[columns[slot]], abs(weights[slot])
        off_diagonal[slot] = weight if other != own else 0
        beside[slot] = weight if abs(other - own) == 1 else 0
        bits = np.uint64(words[slot]) & without_sign
        if other != own and bits != 0:
            word = symmetry_hash(own, other, bits)
            balance = balance + word if other > own else balance - word
    return balance
