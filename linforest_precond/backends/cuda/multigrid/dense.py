"""The dense inverse on the coarsest level."""

import numpy as np

from ..runtime.lazy_cupy import cupy

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8


def definite_inverse(matrix):
    """The inverse of a Hermitian matrix, None if it is not positive definite or nearly singular."""
    import cupyx

    try:
        with cupyx.errstate(linalg="raise"):
            pivots = cupy.diagonal(cupy.linalg.cholesky(matrix)).real ** 2
    except np.linalg.LinAlgError:
        return None
    good = (pivots > SMALL_PIVOT * cupy.diagonal(matrix).real).all()
    return cupy.linalg.inv(matrix) if good else None  # stall: decides how to invert
