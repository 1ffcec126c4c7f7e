"""Small dense matrices."""

import numpy as np

# Pivots of Cholesky's factors, beside the diagonal: below, a matrix may as well be singular.
SMALL_PIVOT = 1e-8


def definite_inverse(matrix):
    """The inverse of a Hermitian matrix that is clearly positive definite, else None."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrix)).real ** 2
    except np.linalg.LinAlgError:
        return None
    return np.linalg.inv(matrix) if (pivots > SMALL_PIVOT * np.diagonal(matrix).real).all() else None
