"""Matrices at the edge of the number range are scaled by a power of two before they are factored."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import DType
from linforest_precond.number_range import exponent_outside, shifted
from linforest_precond.own_matrix import described_csr
from linforest_precond.records import CSR

# The safe range of the largest entry's exponent, as shares of the largest exponent of the type, by kind. Sums
# of magnitudes and reciprocals must not overflow; K-cycles square the entries of vectors.
SAFE_RANGE = -0.5, 0.75
SAFE_RANGES = {"multilevel": (-0.25, 0.25)}


def scaled_into_range(csr: CSR, stored: DType, kind: str) -> tuple[CSR, int]:
    """A 2**-exponent and the exponent: 0, and A itself, where its entries are in the safe range of a kind.

    A matrix of smaller entries is scaled up until the largest one is between 1/2 and 1, which is exact. One
    of larger entries is scaled down just as far as needed, so that few of its small entries underflow.
    """
    largest = np.finfo(stored).maxexp
    low, high = (int(share * largest) for share in SAFE_RANGES.get(kind, SAFE_RANGE))
    found = exponent_outside(csr, low, high)
    if found is None:
        return csr, 0
    exponent = found if found < low else found - high
    return described_csr(csr.indptr, csr.indices, shifted(csr.data, -exponent)), exponent
