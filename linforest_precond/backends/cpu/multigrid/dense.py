"""The dense inverse on the coarsest level."""

import numpy as np

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8


def definite_inverse(matrix):
    """The inverse of a Hermitian matrix, None if it is not positive definite or nearly singular."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrix)).real ** 2
    except np.linalg.LinAlgError:
        return None
    return np.linalg.inv(matrix) if (pivots > SMALL_PIVOT * np.diagonal(matrix).real).all() else None
