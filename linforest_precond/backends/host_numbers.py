"""Numbers that the host computes alike for both backends: positions of digits, batch ends, distinct ones."""

from __future__ import annotations

from typing import Any

import numpy as np

# The largest number up to which float64 holds all integers.
LARGEST_EXACT_FLOAT = 2**53
# Of the digits in exact sums (`cpu/krylov/exact_digits.py`).
BITS = 32  # of a digit
DIGITS = 4  # that are kept; the leading one may have few bits
# Exponents of doubles: the biased one of NaN and infinity, and what it is biased by for numbers below 2**e.
NONFINITE, BIAS = 2047, 1022
LEAST = -(BIAS // BITS) - DIGITS - 1  # the position of the last digit of the least double
POSITIONS = 1024 // BITS + 1 - LEAST


def leading_position(biased: Any) -> Any:
    """The position of the leading digit of numbers up to a biased exponent.

    They are less than half a unit of the position above, so that their digit there is 0.
    """
    return -(-(max(biased, 1) - BIAS + 1) // BITS) - 1


def batch_ends(indptr: Any, batches: int) -> Any:
    """The ends of at most `batches` ranges of vertices with about equal numbers of entries."""
    if indptr.size < 2:
        return np.zeros(0, np.int64)
    shares = np.arange(1, batches + 1) * (int(indptr[-1]) / batches)
    ends = np.searchsorted(indptr[1:], shares) + 1
    ends[-1] = indptr.size - 1
    return np.unique(np.minimum(ends, indptr.size - 1))


def sorted_distinct(numbers: Any) -> Any:
    """The distinct ones of a 1-D array of integers, ascending.

    ``np.unique`` hashes integers, which takes thirty times as long as sorting millions of different ones.
    """
    found = np.sort(numbers)
    return found[np.concatenate([np.ones(min(found.size, 1), bool), found[1:] != found[:-1]])]
