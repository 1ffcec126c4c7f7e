"""Bandwidth, profile and wavefront of a matrix, in its own order or another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.graph.reordering.permute import checked_order
from linforest_precond.matrix.doors import as_pattern


class Wavefront(NamedTuple):
    """The largest wavefront of a matrix, and the root mean square of all."""

    maximum: int
    root_mean_square: float


@renamed_arguments(order="ordering")
def bandwidth(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> int:
    """The largest distance of a stored entry from the diagonal.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy; values do not matter.
    ordering : permutation, optional
        ``ordering[new] = old``; A's own order by default.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.graph.bandwidth(lf.matrices.poisson((7, 5)))
    5
    """
    rows, cols, _ = _coordinates(A, ordering)
    return int(abs(rows - cols).max()) if rows.size else 0  # stall: the answer


@renamed_arguments(order="ordering")
def profile(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> int:
    """The size of the envelope: the sum over all rows of the distance from the first entry to the diagonal.

    What an envelope (skyline) factorization of A + A.T stores below the diagonal.

    Parameters
    ----------
    A, ordering
        As in `bandwidth`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.graph.profile(lf.matrices.poisson((7, 5)))
    154
    """
    first = _first_columns(A, ordering)
    return int((_row_numbers(first) - first).sum())  # stall: the answer


@renamed_arguments(order="ordering")
def wavefront(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> Wavefront:
    """The largest wavefront and the root mean square of all.

    The wavefront at row i is the number of rows from i on that have an entry in the columns up to i, row i
    included: the size of the front of a frontal factorization of A + A.T.

    Parameters
    ----------
    A, ordering
        As in `bandwidth`.

    Returns
    -------
    Wavefront
        A named tuple (maximum, root_mean_square).

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.graph.wavefront(lf.matrices.poisson((7, 5))).maximum
    6
    """
    first = _first_columns(A, ordering)
    if not first.size:
        return Wavefront(0, 0.0)
    xp = xp_of(first)
    # Row i is in the front from its first column to row i.
    entered = xp.cumsum(xp.bincount(first, minlength=first.size))
    fronts = entered - _row_numbers(first)
    mean_square = float((fronts.astype(np.float64) ** 2).mean())
    return Wavefront(int(fronts.max()), mean_square**0.5)  # stall: the answer


def _first_columns(A: MatrixLike, ordering: npt.ArrayLike | None) -> Array:
    """The first column of each row of A + A.T in the new order, the diagonal included."""
    rows, cols, n = _coordinates(A, ordering)
    xp = xp_of(rows)
    first: Array = xp.arange(n, dtype=np.int32)  # CuPy has no minimum.at of int64
    xp.minimum.at(first, xp.maximum(rows, cols), xp.minimum(rows, cols))
    return first


def _coordinates(A: MatrixLike, ordering: npt.ArrayLike | None) -> tuple[Array, Array, int]:
    """Row and column of each stored entry in the new order, and the number of rows."""
    pattern = as_pattern(A, directed=True)
    backend = pattern.backend
    rows = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz)
    cols = pattern.indices
    if ordering is not None:
        rank = checked_order(ordering, pattern.n, backend).rank
        rows, cols = rank[rows], rank[cols]
    return rows.astype(np.int32, copy=False), cols.astype(np.int32, copy=False), pattern.n


def _row_numbers(first: Array) -> Array:
    return xp_of(first).arange(first.size)
