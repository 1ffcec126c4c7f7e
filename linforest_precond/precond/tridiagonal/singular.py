"""Singular segments of scalar tridiagonal systems: their last diagonal entries are perturbed."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of


def perturb_singular(lower: Array, diagonal: Array, upper: Array, inverse: Array) -> tuple[Array, int]:
    """Perturb the last diagonal entries of singular segments; the diagonal, and how many were perturbed.

    A segment is singular where elimination without pivoting ends with a zero pivot. A segment of an odd
    number of rows that are coupled both ways is structurally singular where the diagonal entries of its
    first, third, fifth ... rows are zero.
    """
    xp = xp_of(diagonal)
    sizes = xp.maximum(xp.maximum(abs(lower), abs(diagonal)), abs(upper))
    pivots = diagonal.copy()
    pivots[1:] -= lower[1:] * inverse[:-1] * upper[:-1]
    epsilon = np.finfo(diagonal.dtype).eps
    singular = (upper == 0) & (abs(pivots) <= epsilon * sizes)
    singular[_ends_of_odd_segments(lower, diagonal, upper)] = True
    singular[1:-1] &= ~_insides_of_chains(lower, diagonal, upper)
    count = int(singular.sum())  # stall: reported to the user
    small = xp.where(sizes > 0, np.sqrt(epsilon) * sizes, 1)
    small = xp.where(diagonal.real < 0, -small, small)
    return (diagonal + xp.where(singular, small, 0)).astype(diagonal.dtype) if count else diagonal, count


def _insides_of_chains(lower: Array, diagonal: Array, upper: Array) -> Array:
    """Whether each row but the first and the last, and both its neighbours, has only a lower entry.

    Such a row is the only equation of the unknown before it. If all rows of such a chain were perturbed, the
    solution would grow from each to the next.
    """
    single: Array = (lower != 0) & (diagonal == 0) & (upper == 0)
    return single[:-2] & single[1:-1] & single[2:]


def _ends_of_odd_segments(lower: Array, diagonal: Array, upper: Array) -> Array:
    """Last rows of segments of odd length, coupled both ways, whose even positions have zero diagonals."""
    xp = xp_of(diagonal)
    n = diagonal.size
    first = xp.ones(n, bool)
    first[1:] = (lower[1:] == 0) | (upper[:-1] == 0)
    starts = xp.flatnonzero(first)  # stall: the number of segments
    ends = xp.append(starts[1:], n)[: starts.size] - 1
    place = xp.arange(n) - starts[xp.cumsum(first) - 1]
    useful = xp.cumsum((place % 2 == 0) & (diagonal != 0))
    before = xp.where(starts > 0, useful[starts - 1], 0)
    return ends[(place[ends] % 2 == 0) & (useful[ends] == before)]
