"""The minimum degree order, and the fill-in of a factorization in any order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments, renamed_arguments
from linforest_precond.graph.reordering.permute import given_or_own_order, ordering_of
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.records.fill import Fill
from linforest_precond.records.forest import Ordering


@named_arguments
def minimum_degree(A: MatrixLike) -> Array:
    """Order a matrix so that its triangular factors have little fill-in: approximate minimum degree (AMD).

    The vertex of the least degree is eliminated next, where degrees are upper bounds that are cheap to update
    [1]_. Rows of more than 10 √n entries (and more than 16) are ordered last. The order is a postorder of the
    assembly tree. It is computed by one thread of the host, also for a matrix on the GPU.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The pattern of A + A.T is ordered: stored entries count, whatever
        their values are.

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device.

    See Also
    --------
    fill : the entries of the factors, and the operations, in an order.
    linforest_precond.permute : put a matrix into this order.

    References
    ----------
    .. [1] P. R. Amestoy, T. A. Davis, I. S. Duff, "An Approximate Minimum Degree Ordering Algorithm", SIAM J.
       Matrix Anal. Appl. 17 (1996), https://doi.org/10.1137/S0895479894278952

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((50, 50))
    >>> for order in (None, lf.graph.reverse_cuthill_mckee(A), lf.graph.minimum_degree(A)):
    ...     print(lf.graph.fill(A, order).entries)
    125049
    87025
    35913
    """
    return order_by_degree(as_pattern(A))


def order_by_degree(pattern: Pattern) -> Array:
    """The minimum degree order of a checked symmetric pattern."""
    return pattern.backend.xp.asarray(_host().minimum_degree.order(_on_host(pattern)))


@renamed_arguments(order="ordering")
def fill(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> Fill:
    """Predict the fill-in of a factorization: the entries of each column of L, without computing L.

    The Cholesky factor of a matrix with the pattern of A + A.T is counted, in nearly linear time [1]_. For a
    nonsymmetric A these are the factors of an LU factorization with pivots on the diagonal; row exchanges can
    give more.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries count, whatever their values are.
    ordering : permutation, optional
        The order of elimination, ``ordering[new] = old``; A's own by default.

    Returns
    -------
    Fill
        The counts, and what follows from them: entries, operations, memory, the largest front.

    References
    ----------
    .. [1] J. R. Gilbert, E. G. Ng, B. W. Peyton, "An Efficient Algorithm to Compute Row and Column Counts for
       Sparse Cholesky Factorization", SIAM J. Matrix Anal. Appl. 15 (1994),
       https://doi.org/10.1137/S0895479892236921

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((50, 50))
    >>> print(lf.graph.fill(A, lf.graph.minimum_degree(A)))
    fill-in of a factorization
      entries of L      35,913, with U 69,326
      fill ratio        5.64 x the entries of A + A^T
      flops             1.04e+06 of Cholesky, 1.98e+06 of LU
      memory            0.43 MiB of L, 0.832 MiB of LU
      largest front     72 of 2,500 rows
      elimination tree  249 columns high
    """
    pattern = as_pattern(A)
    checked = given_or_own_order(ordering, pattern.n, pattern.backend)
    # stall: counted on the host
    found = _fill_on_host(_on_host(pattern), Ordering(on_host(checked.order), on_host(checked.rank)))
    return _on_device_of(pattern, found)


def predicted_fill(pattern: Pattern, most_flops: float = math.inf) -> tuple[Array, Fill] | None:
    """The minimum degree order of a symmetric pattern, and its fill-in; None above a bound.

    The bound is on `Fill.cholesky_flops`. Ordering ends as soon as the pivots so far and the clique that the
    last one leaves need more, by an upper bound, on real matrices at most 0.1 % above the flops.
    """
    host = _on_host(pattern)
    order = _host().minimum_degree.order(host, most_flops)
    if order is None:
        return None
    found = _fill_on_host(host, ordering_of(order))
    if found.cholesky_flops > most_flops:
        return None
    return pattern.backend.xp.asarray(order), _on_device_of(pattern, found)


def triangular_fill(indptr: Array) -> Fill:
    """The entries of a triangular matrix with a full diagonal, by rows: there is no fill-in.

    They count for both factors, though one of them is diagonal; nothing is eliminated.
    """
    counts, n = np.diff(indptr), indptr.size - 1
    entries = int(indptr[-1])
    return Fill(counts, 1, 2 * entries - n, entries, 0.0, 0.0, int(counts.max(initial=0)))


def _fill_on_host(pattern: Pattern, ordering: Ordering) -> Fill:
    counts, height = _host().elimination_tree.column_counts(pattern, ordering.order, ordering.rank)
    wide = counts.astype(np.float64)
    return Fill(
        counts,
        height=height,
        pattern_entries=int(pattern.degrees.sum(dtype=np.int64)) + pattern.n,
        entries=int(counts.sum(dtype=np.int64)),
        cholesky_flops=float((wide * wide).sum()),
        lu_flops=float(((wide - 1) * (2 * wide - 1)).sum()),
        largest_front=int(counts.max(initial=0)),
    )


def _on_host(pattern: Pattern) -> Pattern:
    """The pattern with arrays of NumPy, which the algorithms of one thread need."""
    # stall: ordered on the host
    arrays = {name: on_host(getattr(pattern, name)) for name in ("indptr", "indices", "degrees")}
    return replace(pattern, **arrays)


def _on_device_of(pattern: Pattern, found: Fill) -> Fill:
    return replace(found, counts=pattern.backend.xp.asarray(found.counts))


def _host() -> Any:
    return backend_named("cpu").reordering
