"""Matrices over ranks at the edge of the number range are scaled by a power of two, as on one rank."""

from __future__ import annotations

import copy

import numpy as np

from linforest_precond.annotations import Array, DType
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.number_range import NO_EXPONENT, exponent_of, least_exponent_of, shifted
from linforest_precond.precond.scaled_matrix import exponent_down, safe_limit


def scaled_into_range(A: Matrix, stored: DType) -> tuple[Matrix, int]:
    """A 2**-exponent and the exponent: 0, and A itself, where its entries are in the safe range."""
    found = int(A.comm.allreduce(np.array([exponent_of(A.rows.data)]), "max")[0])
    limit = safe_limit(stored)
    if -limit <= found <= limit or found == NO_EXPONENT:
        return A, 0
    exponent = exponent_down(found, _least_exponent(A), stored) if found > limit else found
    return with_values(A, shifted(A.rows.data, -exponent)), exponent


def _least_exponent(A: Matrix) -> int:
    """Of the smallest magnitude of all ranks that is not 0."""
    own = least_exponent_of(A.rows.data)
    own = -NO_EXPONENT if own == NO_EXPONENT else own
    return int(A.comm.allreduce(np.array([own]), "min")[0])


def with_values(A: Matrix, data: Array) -> Matrix:
    """The same pattern with other values."""
    other = copy.copy(A)
    other.rows = type(A.rows)((data, A.rows.indices, A.rows.indptr), shape=A.rows.shape)
    return other
