"""Sums of products as integers, which do not depend on the order of summation.

Each product is cut into digits to the base 2**32 at fixed positions, so that a digit does not depend on other
products; digits of one position are integers and are summed without rounding. Of a block of products, the
leading position and those after it are kept, `DIGITS` in all. This is the indexed format of Demmel & Nguyen,
"Parallel reproducible summation", IEEE Trans. Comput. 64 (2015), doi:10.1109/TC.2014.2345391, with integers
as bins.
"""

import numpy as np

from linforest_precond.backends.host_numbers import BITS, DIGITS, LEAST, NONFINITE, leading_position

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

LANES = 64  # summed side by side, for vectorization
BLOCK = 64 * LANES  # products whose digits are found together
_MAGNITUDE = np.int64(2**63 - 1)  # all bits but that of the sign
_MANTISSA = np.int64(52)
_BASE = 2.0**BITS
_ROUNDING = 1.5 * 2.0**52  # added and subtracted again, it rounds to an integer


def add_products(u, v, sign, digits, leading, nonfinite):
    """Add the products of two real vectors, or subtract them (`sign`), to a sum of digits.

    `leading` counts the blocks with their leading digit at a position, `nonfinite` the products that are NaN,
    infinite and minus infinite, which have no digits.
    """
    u, v = (readonly(np.ascontiguousarray(each, np.float64)) for each in (u, v))
    _add_products(u, v, sign, digits, leading, nonfinite)


_leading_position = helper(leading_position)


@kernel(nogil=True)
def _add_products(u, v, sign, digits, leading, nonfinite):
    block, sums = np.empty(BLOCK), np.zeros((DIGITS, LANES))
    for first in range(0, u.size, BLOCK):
        # A multiple of the lanes.
        products = block[: min(BLOCK, -(-(u.size - first) // LANES) * LANES)]
        largest = fill_block(u[first : first + BLOCK], v[first : first + BLOCK], products)
        if largest >> _MANTISSA == NONFINITE:
            largest = remove_nonfinite(products, sign, nonfinite)
        if largest:
            position = _leading_position(largest >> _MANTISSA)
            sum_digits(products, position, sums)
            for i in range(DIGITS):
                for lane in range(LANES):
                    digits[position - LEAST - i] += sign * np.int64(sums[i, lane])
            leading[position - LEAST] += 1


# The products of a block, and the bits of the largest magnitude: exponents are above mantissas, so that
# magnitudes are in the order of their bits as integers.
@helper
def fill_block(u, v, products):
    for i in range(u.size):
        products[i] = u[i] * v[i]
    for i in range(u.size, products.size):
        products[i] = 0.0
    largest = np.int64(0)
    for bits in products.view(np.int64):
        largest = max(largest, bits & _MAGNITUDE)
    return largest


# Replaces NaN and infinities by 0, and counts them; the bits of the largest magnitude that is left.
@helper
def remove_nonfinite(products, sign, counts):
    largest, all_bits = np.int64(0), products.view(np.int64)
    for i in range(products.size):
        bits = all_bits[i] & _MAGNITUDE
        if bits >> _MANTISSA == NONFINITE:
            counts[0 if products[i] != products[i] else 1 if sign * products[i] > 0 else 2] += 1
            products[i] = 0.0
        else:
            largest = max(largest, bits)
    return largest


# Sums of a block's digits, lane by lane: exact, because they are of fewer than 2**7 digits of 32 bits.
@helper
def sum_digits(products, position, sums):
    before = 2.0 ** (-position * BITS // 2)  # the square root: 2**(-position * BITS) itself may overflow
    sums[:] = 0
    for first in range(0, products.size, LANES):
        rest = products[first : first + LANES]
        for lane in range(LANES):
            rest[lane] = rest[lane] * before * before
        for i in range(DIGITS):
            for lane in range(LANES):
                digit = (rest[lane] + _ROUNDING) - _ROUNDING
                sums[i, lane] += digit
                rest[lane] = (rest[lane] - digit) * _BASE  # exact
