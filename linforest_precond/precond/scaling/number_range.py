"""Matrices at the edge of the floating-point range are scaled by a power of two before the setup."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import DType
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.matrix.value_range import least_exponent_of, shifted

# The safe range of the largest entry's exponent, as a share of the largest exponent of the type: sums of
# magnitudes, reciprocals and squares of K-cycles do not overflow, and the pivot 1 of an empty row is not far
# from the other ones.
SAFE_SHARE = 0.25


def scaled_into_range(csr: CheckedMatrix, stored: DType) -> tuple[CheckedMatrix, int]:
    """A 2**-exponent and the exponent: 0, and A itself, where its entries are in the safe range.

    The largest entry is then between 1/2 and 1, like the pivot 1 of an empty row. A matrix is scaled down
    just into the safe range where its smallest entries would become subnormal otherwise.
    """
    limit = safe_limit(stored)
    found = csr.exponent_outside(-limit, limit)
    if found is None:
        return csr, 0
    exponent = found
    if found > limit:
        exponent = exponent_down(found, least_exponent_of(csr.data), stored)
    return described(csr.indptr, csr.indices, shifted(csr.data, -exponent)), exponent


def safe_limit(stored: DType) -> int:
    """The largest magnitude of exponents in the safe range."""
    return int(SAFE_SHARE * np.finfo(stored).maxexp)


def exponent_down(largest: int, least: int, stored: DType) -> int:
    """The exponent of the scaling of large matrices, from those of the largest and smallest entries."""
    return int(max(largest - safe_limit(stored), min(largest, least - 1 - np.finfo(stored).minexp)))
