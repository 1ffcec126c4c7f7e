"""The pattern of a matrix: checked in one pass without its values, and hashed to 128 bits.

The hash is the same on every backend. Groups of four numbers are packed into two 64-bit words, which are
combined with a hash of the group's position and multiplied; both halves of the 128-bit product enter two sums
modulo 2**64. Integer sums do not depend on the order of additions, so groups are hashed in parallel, while
each number's position counts.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import PatternScan

from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.hashing import GOLDEN, mix64
from ..runtime.jit import helper, kernel
from .entries import check_rows

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
    """One pass over the indices: are they in range, sorted, symmetric; the degrees and the longest row."""
    rows = indptr.size - 1
    chunks = -(-rows // ROW_CHUNK)
    broken, unsorted = np.zeros((2, chunks), bool)
    balances, longest = np.zeros(chunks, np.uint64), np.zeros(chunks, np.int64)
    degrees = np.zeros(rows, np.int32)
    scan_rows(readonly(indptr), readonly(indices), broken, unsorted, balances, longest, degrees)
    bad_row = outside = NOT_FOUND
    if broken.any() or indptr[0] != 0 or indptr[-1] != indices.size:
        bad_row, _ = check_rows(readonly(indptr), indices.size)
        is_outside = (indices < 0) | (indices >= rows)
        outside = int(is_outside.argmax()) if is_outside.any() else NOT_FOUND
    return PatternScan(
        first_bad_row=bad_row,
        first_out_of_range=outside,
        sorted=not unsorted.any(),
        symmetric=int(balances.sum(dtype=np.uint64)) == 0,
        longest_row=int(longest.max(initial=0)),
        degrees=degrees,
    )


# Each chunk of rows reports indices out of range, unsorted rows, its longest row and its symmetry balance:
# hashes of edges, which are the same from both ends, above the diagonal minus those below.
@kernel(parallel=True)
def scan_rows(indptr, indices, broken, unsorted, balances, longest, degrees):
    n = indptr.size - 1
    for chunk in prange(balances.size):
        balance, most = np.uint64(0), np.int64(0)
        outside = disordered = False
        for row in range(chunk * ROW_CHUNK, min((chunk + 1) * ROW_CHUNK, n)):
            begin, end = np.int64(indptr[row]), np.int64(indptr[row + 1])
            if begin < 0 or end < begin or end > indices.size:
                outside = True
                continue
            most = max(most, end - begin)
            degrees[row] = end - begin
            # Unsigned: a negative column is too large, and Numba does not wrap it around.
            here, next_col = np.uint64(row), np.uint64(0)
            for slot in range(np.uint64(begin), np.uint64(end)):
                col = np.uint64(indices[slot])
                outside |= col >= np.uint64(n)
                disordered |= col < next_col
                next_col = col + np.uint64(1)
                word = mix64((min(here, col) << SHIFT_32) + max(here, col))
                # Without a branch, which would be mispredicted on shuffled matrices.
                balance += word * (np.uint64(col > here) - np.uint64(col < here))
                degrees[here] -= col == here
        broken[chunk], unsorted[chunk] = outside, disordered
        balances[chunk], longest[chunk] = balance, most


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
