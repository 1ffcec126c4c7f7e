"""The 128-bit sum that tells one pattern of stored entries from another, the same on every backend.

Four numbers of an array at a time become two words of 64 bits, each changed by a random number that belongs
to the place of the four. Both halves of the words' 128-bit product go into both sums, modulo 2**64: integers,
so the order of the additions does not matter, while the order of the numbers does.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.hashing import GOLDEN, mix64
from ..runtime.jit import helper, kernel

GROUPS_AT_ONCE = 4096

# What the number of an array, and the upper half of a wide number, are multiplied by.
ARRAY_STRIDE = np.uint64(0xC2B2AE3D27D4EB4F)
UPPER_STRIDE = np.uint64(0xAF251AF3B0F025B5)
LOW_HALF, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
NONE, ONE = np.uint64(0), np.uint64(1)


def digest(arrays):
    """Two words that sum up the numbers in `arrays` and their places."""
    words = np.zeros(2, np.uint64)
    for number, array in enumerate(arrays):
        chunks = -(-array.size // (4 * GROUPS_AT_ONCE))
        sums = np.zeros((chunks, 2), np.uint64)
        sum_groups(readonly(np.ascontiguousarray(array)), np.uint64(number), sums)
        words += sums.sum(axis=0, dtype=np.uint64)
    return words


@helper
def halves_swapped(word):
    return word << HALF | word >> HALF


# Two numbers, 0 beyond the array's end, as one word: of numbers below 2**32 nothing is lost.
@helper
def two_numbers(numbers, i):
    low = np.uint64(numbers[i]) if i < numbers.size else NONE
    high = np.uint64(numbers[i + 1]) if i + 1 < numbers.size else NONE
    return low + (high << HALF) + (high >> HALF) * UPPER_STRIDE


# The upper half of a product of two words.
@helper
def upper_product(a, b):
    a_low, a_high, b_low, b_high = a & LOW_HALF, a >> HALF, b & LOW_HALF, b >> HALF
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)


# Each chunk of groups adds up its own two words.
@kernel(parallel=True)
def sum_groups(numbers, array_number, sums):
    groups = (numbers.size + 3) // 4
    for chunk in prange(sums.shape[0]):
        first_sum, second_sum = NONE, NONE
        for group in range(chunk * GROUPS_AT_ONCE, min((chunk + 1) * GROUPS_AT_ONCE, groups)):
            # The group's number in the sequence of splitmix64 that belongs to the array.
            key = mix64((array_number + ONE) * ARRAY_STRIDE + np.uint64(group) * GOLDEN)
            a = two_numbers(numbers, 4 * group) ^ key
            b = two_numbers(numbers, 4 * group + 2) ^ halves_swapped(key)
            low, high = a * b, upper_product(a, b)
            first_sum += low ^ high
            second_sum += mix64(low + halves_swapped(high))
        sums[chunk, 0], sums[chunk, 1] = first_sum, second_sum
