"""Small dense matrices."""

import numpy as np

from ..runtime.lazy_cupy import cupy

# Pivots of Cholesky's factors, beside the diagonal: below, a matrix may as well be singular.
SMALL_PIVOT = 1e-8


def definite_inverse(matrix):
    """The inverse of a Hermitian matrix that is clearly positive definite, else None."""
    import cupyx

    try:
        with cupyx.errstate(linalg="raise"):
            pivots = cupy.diagonal(cupy.linalg.cholesky(matrix)).real ** 2
    except np.linalg.LinAlgError:
        return None
    good = (pivots > SMALL_PIVOT * cupy.diagonal(matrix).real).all()
    return cupy.linalg.inv(matrix) if good else None  # stall: decides how to invert
