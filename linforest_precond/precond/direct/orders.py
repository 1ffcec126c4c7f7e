"""Fill-reducing orders, each for diagonal or for partial pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.graph.reordering.minimum_degree import order_by_degree
from linforest_precond.graph.reordering.permute import checked_order, ordering_of
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.precond.scaling.scaling import has_weak_diagonal
from linforest_precond.records.forest import Ordering

ORDERS = "auto", "colamd", "minimum_degree", "natural"
PIVOTINGS = "auto", "diagonal", "partial"
OF_CUDSS = "nested_dissection"
NAMES = *ORDERS[1:], OF_CUDSS, "given"
# A + A^T is ordered where at least this share of the entries has a mirror entry, as in UMFPACK's symmetric
# strategy.
LEAST_SYMMETRY = 0.3
# A diagonal entry below LEAST_PIVOT times the largest one of its column is not used as a pivot; diagonal
# pivoting needs that at most the share FEW of them is so small.
LEAST_PIVOT, FEW = 1e-3, 0.01


def name_of(order: Any, pivoting: str, library: Backend) -> str:
    """The name of an order; "auto" depends on the pivoting and on the library that factors."""
    if not isinstance(order, str):
        return "given"
    if order != "auto":
        return order
    own: str = library.direct.sparse_lu.OWN_ORDER
    return own or ("colamd" if pivoting == "partial" else "minimum_degree")


def ordering_by(csr: CheckedMatrix, name: str, order: Any) -> Ordering | None:
    """The symmetric order of a name, or a given one; None where the library finds it."""
    xp, index = csr.backend.xp, csr.indices.dtype
    if name in ("colamd", OF_CUDSS):
        return None
    if name == "given":
        return checked_order(order, csr.n, csr.backend, dtype=index)
    if name == "natural":
        return ordering_of(xp.arange(csr.n, dtype=index))
    return ordering_of(order_by_degree(csr.pattern).astype(index, copy=False))


def has_pivots(csr: CheckedMatrix) -> bool:
    """Whether the diagonal entries are large enough in nearly all columns, or A may be definite.

    Rows that are interchanged in an order for A + A^T give fill-in that it does not bound.
    """
    return csr.definite or not has_weak_diagonal(csr, LEAST_PIVOT, FEW)


def is_nearly_symmetric(csr: CheckedMatrix) -> bool:
    """Whether enough entries of the pattern have a mirror entry."""
    if csr.symmetric:
        return True
    edges = int(csr.directed_pattern.degrees.sum())  # stall: decides on the order
    both = int(csr.pattern.degrees.sum())  # stall: decides on the order
    return 2 * edges - both >= LEAST_SYMMETRY * edges


def triangular_order(csr: CheckedMatrix) -> Array | None:
    """An order in which A is upper triangular; None where there is none.

    There is one if no two rows depend on each other: every strong component of A's graph is one vertex.
    """
    indptr, indices = (on_host(array) for array in (csr.indptr, csr.indices))  # stall: ordered on the host
    stored = sp.csr_array((np.ones(csr.nnz, np.int8), indices, indptr), shape=csr.shape)
    components, labels = connected_components(stored, directed=True, connection="strong")
    if components < csr.n:
        return None
    steps = labels[indices] - np.repeat(labels, np.diff(indptr))  # SciPy labels in topological order
    for sign in (1, -1):
        if (sign * steps >= 0).all():
            return csr.backend.xp.asarray(np.argsort(sign * labels).astype(np.int32))
    return None


def matched_pattern(csr: CheckedMatrix) -> Pattern:
    """The pattern of B + B^T, on the host, where B has A's rows in an order with a full diagonal."""
    columns = csr.matched_columns
    if (columns < 0).any():
        return csr.pattern
    indptr, indices = (on_host(array) for array in (csr.indptr, csr.indices))  # stall: counted on the host
    stored = sp.csr_array((np.ones(csr.nnz, np.int8), indices, indptr), shape=csr.shape)
    return as_pattern(stored[np.argsort(columns)])
