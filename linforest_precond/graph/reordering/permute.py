"""A matrix in another order of its rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_stored
from linforest_precond.records import Ordering
from linforest_precond.sparse_output import sparse_like


def permute(A: Any, order: Any) -> Any:
    """Put the rows and the columns of a matrix into a new order.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy, with values of any type.
    order : permutation
        ``order[new] = old``, as `linforest_precond.graph.reverse_cuthill_mckee` gives it.

    Returns
    -------
    sparse matrix or dense array
        ``A[order][:, order]``, of A's library, kind, format and types, on its device. Explicit zeros stay.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((10, 100))
    >>> B = lf.permute(A, lf.graph.reverse_cuthill_mckee(A))
    >>> lf.graph.bandwidth(B)
    10
    """
    backend = backend_of(A)
    stored = as_stored(A)
    n = stored.shape[0]
    ordering = checked_order(order, n, backend)
    if isinstance(stored, backend.xp.ndarray):
        return stored[ordering.order][:, ordering.order]
    rows = ordering.rank[backend.matrix.entries.rows_of(stored.indptr, stored.indices.size)]
    cols = ordering.rank[stored.indices]
    entries, indptr = backend.matrix.entries.sort_entries(rows, cols, n)
    index = stored.indices.dtype
    indices, indptr = cols[entries].astype(index, copy=False), indptr.astype(index)
    return sparse_like(A, stored.data[entries], indices, indptr, stored.shape)


def checked_order(order: Any, n: int, backend: Any, name: str = "order", dtype: Any = np.int32) -> Ordering:
    """A permutation given as an array, on the matrix's device."""
    xp = backend.xp
    if xp is np and backend_of(order) is not backend:
        raise TypeError(f"{name} must be on {backend.name} like A, got a {type(order).__name__}")
    order = order if isinstance(order, xp.ndarray) else np.asarray(order)
    if order.dtype.kind not in "iu" and order.size:
        raise TypeError(f"{name} must be an array of integers, got {order.dtype}")
    order = xp.asarray(order)
    if order.shape != (n,):
        raise ValueError(f"{name} must have one number for each row of A, ({n},), got shape {order.shape}")
    # stall: before they are used as addresses
    if n and not bool(((order >= 0) & (order < n)).all()):
        raise ValueError(f"{name} must be a permutation of 0 to {n - 1}, got {order.min()} to {order.max()}")
    order = order.astype(dtype)
    rank = _inverse(order)
    if n and int(rank.min()) < 0:  # stall: a row left out would get no value
        raise ValueError(f"{name} must be a permutation of 0 to {n - 1}, got some numbers twice")
    return Ordering(order, rank)


def ordering_of(order: Array) -> Ordering:
    """A permutation known to be one, with its inverse."""
    return Ordering(order, _inverse(order))


def _inverse(order: Array) -> Array:
    """The place of each number, -1 where one is missing."""
    xp = backend_of(order).xp
    rank = xp.full(order.size, -1, order.dtype)
    rank[order] = xp.arange(order.size, dtype=order.dtype)
    return rank
