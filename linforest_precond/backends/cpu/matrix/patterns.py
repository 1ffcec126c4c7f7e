"""The pattern of a matrix: checked in one pass without its values, and hashed to 128 bits.

The hash is the same on every backend. Groups of four numbers are packed into two 64-bit words, which are
combined with a hash of the group's position and multiplied; both halves of the 128-bit product enter two sums
modulo 2**64. Integer sums do not depend on the order of additions, so groups are hashed in parallel, while
each number's position counts.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import PatternScan

from ..runtime.arrays import readonly
from ..runtime.hashing import GOLDEN, mix64
from ..runtime.jit import helper, kernel
from .entries import scan_indices

# Rows of a thread's share.
ROW_CHUNK = 4096
SHIFT_32 = np.uint64(32)

GROUPS_AT_ONCE = 4096

# Odd multipliers of an array's position in the list and of the upper half of a 64-bit number.
ARRAY_STRIDE = np.uint64(0xC2B2AE3D27D4EB4F)
UPPER_STRIDE = np.uint64(0xAF251AF3B0F025B5)
LOW_HALF, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
NONE, ONE = np.uint64(0), np.uint64(1)


def scan_pattern(indptr, indices):
    """Symmetric? Also the degrees; nothing where the columns, checked before, are out of range or order."""
    columns, degrees = scan_indices(indptr, indices), np.empty(indptr.size - 1, np.int32)
    balance = scan_rows(readonly(indptr), readonly(indices), degrees) if columns.valid else 1
    return PatternScan(*columns, balance == 0, degrees)


# The symmetry balance: hashes of edges, which are the same from both ends, above the diagonal minus those
# below.
@kernel(parallel=True)
def scan_rows(indptr, indices, degrees):
    balance = np.uint64(0)
    for chunk in prange((degrees.size + ROW_CHUNK - 1) // ROW_CHUNK):
        balance += scan_rows_of_chunk(chunk * ROW_CHUNK, indptr, indices, degrees)
    return balance


@helper
def scan_rows_of_chunk(first, indptr, indices, degrees):
    balance = np.uint64(0)
    for row in range(first, min(first + ROW_CHUNK, degrees.size)):
        begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        degrees[row] = end - begin
        here = np.uint64(row)
        for slot in range(begin, end):
            col = np.uint64(indices[slot])
            word = mix64((min(here, col) << SHIFT_32) + max(here, col))
            # Without a branch, which would be mispredicted on shuffled matrices.
            balance += word * (np.uint64(col > here) - np.uint64(col < here))
            degrees[row] -= col == here
    return balance


def digest(arrays):
    """The two words of the hash."""
    words = np.zeros(2, np.uint64)
    for number, array in enumerate(arrays):
        sum_groups(readonly(np.ascontiguousarray(array)), np.uint64(number), words)
    return words


@helper
def halves_swapped(word):
    return word << HALF | word >> HALF


# Packs two numbers, 0 beyond the array's end, into a word; injective for numbers below 2**32.
@helper
def two_numbers(numbers, i):
    low = np.uint64(numbers[i]) if i < numbers.size else NONE
    high = np.uint64(numbers[i + 1]) if i + 1 < numbers.size else NONE
    return low + (high << HALF) + (high >> HALF) * UPPER_STRIDE


# The upper 64 bits of the product of two words.
@helper
def upper_product(a, b):
    a_low, a_high, b_low, b_high = a & LOW_HALF, a >> HALF, b & LOW_HALF, b >> HALF
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)


# Adds the sums over all groups of an array to two words.
@kernel(parallel=True)
def sum_groups(numbers, array_number, words):
    groups = (numbers.size + 3) // 4
    first_total, second_total = NONE, NONE
    for chunk in prange((groups + GROUPS_AT_ONCE - 1) // GROUPS_AT_ONCE):
        first = chunk * GROUPS_AT_ONCE
        sums = sums_of_groups(numbers, array_number, first, min(first + GROUPS_AT_ONCE, groups))
        first_total += sums[0]
        second_total += sums[1]
    words[0] += first_total
    words[1] += second_total


@helper
def sums_of_groups(numbers, array_number, begin, end):
    first_sum, second_sum = NONE, NONE
    for group in range(begin, end):
        # splitmix64, seeded by the array's position.
        key = mix64((array_number + ONE) * ARRAY_STRIDE + np.uint64(group) * GOLDEN)
        a = two_numbers(numbers, 4 * group) ^ key
        b = two_numbers(numbers, 4 * group + 2) ^ halves_swapped(key)
        low, high = a * b, upper_product(a, b)
        first_sum += low ^ high
        second_sum += mix64(low + halves_swapped(high))
    return first_sum, second_sum
