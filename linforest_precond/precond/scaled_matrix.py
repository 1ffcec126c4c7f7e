"""Matrices at the edge of the number range are scaled by a power of two before they are factored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linforest_precond.annotations import DType
from linforest_precond.number_range import NO_EXPONENT, exponent_outside, least_exponent_of, shifted
from linforest_precond.own_matrix import described_csr
from linforest_precond.records import CSR

# The safe range of the largest entry's exponent, as a share of the largest exponent of the type: sums of
# magnitudes, reciprocals and squares of K-cycles do not overflow, and the pivot 1 of an empty row is not far
# from the other ones.
SAFE_SHARE = 0.25


def scaled_into_range(csr: CSR, stored: DType) -> tuple[CSR, int]:
    """A 2**-exponent and the exponent: 0, and A itself, where its entries are in the safe range.

    The largest entry is then between 1/2 and 1, like the pivot 1 of an empty row. A matrix is scaled down
    just into the safe range where its smallest entries would become subnormal otherwise.
    """
    limit = int(SAFE_SHARE * np.finfo(stored).maxexp)
    found = exponent_outside(csr, -limit, limit)
    if found is None:
        return csr, 0
    exponent = scaling_exponent(found, stored, lambda: least_exponent_of(csr.data))
    return described_csr(csr.indptr, csr.indices, shifted(csr.data, -exponent)), exponent


def scaling_exponent(largest: int, stored: DType, least: Callable[[], int]) -> int:
    """The exponent that a matrix is scaled by, from those of its largest and its least entry; 0 for zeros."""
    limit = int(SAFE_SHARE * np.finfo(stored).maxexp)
    if -limit <= largest <= limit or largest == NO_EXPONENT:
        return 0
    if largest < -limit:
        return largest
    return max(largest - limit, min(largest, least() - 1 - np.finfo(stored).minexp))
