"""Sums of products as integers, which do not depend on the order of summation, on the device.

The digits are those of the CPU backend; the sums of a block are exact, so CuPy may sum in any order.
"""

import numpy as np

from linforest_precond.backends.flags import any_set, count_set
from linforest_precond.backends.host_numbers import BITS, DIGITS, LEAST, NONFINITE, leading_position

from ..runtime import cupy

# Products whose digits are found together; the sum of BLOCK digits of 32 bits is exact in double precision.
BLOCK = 2**21


def add_products(u, v, sign, digits, leading, nonfinite):
    """Add the products of two real vectors, or subtract them (`sign`), to a sum, which is on the host."""
    for first in range(0, u.size, BLOCK):
        products = cupy.multiply(u[first : first + BLOCK], v[first : first + BLOCK], dtype=np.float64)
        biased = _largest_exponent(products)
        if biased == NONFINITE:
            kinds = cupy.isnan(products), products == sign * np.inf, products == -sign * np.inf
            nonfinite += [count_set(kind) for kind in kinds]  # stall: three numbers
            products = cupy.where(cupy.isfinite(products), products, 0.0)
            biased = _largest_exponent(products)
        if not any_set(products != 0):  # stall: zeros have no position
            continue
        position = leading_position(biased)
        found = cupy.stack(_digit_sums(products, position)).get()  # stall: four numbers
        digits[position - LEAST - DIGITS + 1 : position - LEAST + 1] += sign * found[::-1].astype(np.int64)
        leading[position - LEAST] += 1


def _largest_exponent(products):
    """The largest biased exponent."""
    bits = products.view(np.int64) & np.int64(2**63 - 1)
    return int(bits.max()) >> 52  # stall: positions of digits follow from it


def _digit_sums(products, position):
    """The sums of the digits at a position and at those below it."""
    before = 2.0 ** (-position * BITS // 2)  # the square root: 2**(-position * BITS) itself may overflow
    rest, sums = products * before * before, []
    for _ in range(DIGITS):
        digits = cupy.rint(rest)
        sums.append(digits.sum())
        rest = (rest - digits) * 2.0**BITS  # exact
    return sums
