"""Symmetric permutation of a matrix."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged, xp_of
from linforest_precond.backends.flags import all_set
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.interop.dlpack import native_matrix
from linforest_precond.matrix.checks import check_device
from linforest_precond.matrix.conversion import sparse_like
from linforest_precond.matrix.doors import as_stored
from linforest_precond.records.forest import Ordering


@renamed_arguments(order="ordering")
def permute(A: MatrixLike, ordering: npt.ArrayLike) -> Any:
    """Permute the rows and columns of a matrix symmetrically.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy, with values of any type.
    ordering : permutation, Ordering or Forest
        ``ordering[new] = old``, as `linforest_precond.graph.reverse_cuthill_mckee` gives it.

    Returns
    -------
    sparse matrix or dense array
        ``A[ordering][:, ordering]``, of A's library, kind, format and types, on its device. Explicit zeros
        stay.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((10, 100))
    >>> B = lf.permute(A, lf.graph.reverse_cuthill_mckee(A))
    >>> lf.graph.bandwidth(B)
    10
    """
    A = native_matrix("A", A)
    backend = backend_of(A)
    stored = as_stored(A)
    if isinstance(stored, backend.xp.ndarray):
        order = checked_order(ordering, stored.shape[0], backend).order
        return stored[order][:, order]
    rows, cols, values = stored
    n, index = cast(Any, A).shape[0], cols.dtype
    rank = checked_order(ordering, n, backend).rank
    rows, cols = rank[rows], rank[cols]
    entries, indptr = backend.matrix.entries.sort_entries(rows, cols, n)
    indices, indptr = cols[entries].astype(index, copy=False), indptr.astype(index)
    return sparse_like(A, values[entries], indices, indptr, (n, n))


def checked_order(
    order: npt.ArrayLike, n: int, backend: Backend, name: str = "ordering", dtype: npt.DTypeLike = np.int32
) -> Ordering:
    """A permutation given as an array, or by an object that has it, copied to the matrix's device."""
    xp, order = backend.xp, getattr(order, "order", order)
    if xp is np:
        check_device(name, order, backend)
    refuse_masked_or_ragged(name, order)
    given: Array = order if isinstance(order, xp.ndarray) else np.asarray(order)
    if given.dtype.kind not in "iu" and given.size:
        found = given.dtype if given.ndim else repr(order)
        wanted = f": pass lf.graph.order(A, {order!r})" if isinstance(order, str) else ""
        raise TypeError(f"{name} must be an array of integers, got {found}{wanted}")
    if given.shape != (n,):
        raise ValueError(f"{name} must have one number for each row of A, ({n},), got shape {given.shape}")
    given = xp.array(given)  # copied before it is checked: the user's may change
    # stall: validation, before they are used as indices
    if n and not all_set((given >= 0) & (given < n)):
        raise ValueError(f"{name} must be a permutation of 0 to {n - 1}, got {given.min()} to {given.max()}")
    given = given.astype(dtype, copy=False)
    rank = _inverse(given)
    if n and int(rank.min()) < 0:  # stall: validation, no row may be missing
        raise ValueError(f"{name} must be a permutation of 0 to {n - 1}, got some numbers twice")
    return Ordering(given, rank)


def given_or_own_order(order: npt.ArrayLike | None, n: int, backend: Backend) -> Ordering:
    """A given permutation; A's own order for None."""
    return checked_order(np.arange(n) if order is None else order, n, backend)


def ordering_of(order: Array) -> Ordering:
    """A valid permutation with its inverse."""
    return Ordering(order, _inverse(order))


def _inverse(order: Array) -> Array:
    """The inverse permutation, -1 where a number is missing."""
    xp = xp_of(order)
    rank: Array = xp.full(order.size, -1, order.dtype)
    rank[order] = xp.arange(order.size, dtype=order.dtype)
    return rank
