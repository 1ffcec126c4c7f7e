"""Orders of elimination and their level schedules: the rows of a level are eliminated in parallel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.flags import all_set
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.graph.reordering.minimum_degree import order_by_degree
from linforest_precond.graph.reordering.permute import ordering_of
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.records.forest import Ordering

ORDERS = "natural", "forest", "colors", "rcm", "minimum_degree"
MOST_LEVELS = 2**31 - 1


class Schedule(NamedTuple):
    """Rows in the order of their levels: neighbours are in different levels."""

    name: str  # of the order that the levels come from
    ordering: Ordering  # sorted by level, then by that order
    starts: Array  # level i has the rows from starts[i] to starts[i + 1]

    @property
    def levels(self) -> int:
        return int(self.starts.size) - 1


def schedule_of(
    csr: CheckedMatrix, pattern: Pattern, name: str, seed: int, most: int = MOST_LEVELS
) -> Schedule | None:
    """The levels of a named order of a matrix, with the pattern of A + A^T; None if more than `most`.

    Neighbours in the pattern of A + A^T keep their relative order when rows are sorted by level, so that the
    factors are those of the order itself.
    """
    backend, index = csr.backend, csr.indices.dtype
    order: Array = backend.xp.arange(csr.n, dtype=np.int32)
    if not csr.n:
        return Schedule(name, ordering_of(order.astype(index)), backend.xp.zeros(1, index))
    if name == "colors":
        levels: Array | None = backend.csgraph.coloring.color_vertices(pattern, True, seed)
    else:
        if name != "natural":
            order = _order_of(csr, pattern, name, seed)
        rank = ordering_of(order).rank
        levels = backend.ilu.triangular.find_levels(pattern, order, rank, most)
    return None if levels is None else _sorted_by_level(name, order, levels, index)


def _order_of(csr: CheckedMatrix, pattern: Pattern, name: str, seed: int) -> Array:
    if name == "rcm":
        order: Array = order_pattern(pattern)[::-1]
    elif name == "minimum_degree":
        order = order_by_degree(pattern)
    else:
        factor = propose_factor(checked(csr).graph, check_options(2, seed=seed))
        order = break_cycles(factor, in_place=True).order
    return xp_of(order).ascontiguousarray(order, dtype=np.int32)


def _sorted_by_level(name: str, order: Array, levels: Array, index: Any) -> Schedule:
    xp = xp_of(order)
    in_order = levels[order]
    places = xp.argsort(in_order, kind="stable")
    in_order = in_order[places]
    count = int(in_order[-1]) + 1  # stall: the number of levels
    starts = xp.searchsorted(in_order, xp.arange(count + 1, dtype=in_order.dtype))
    return Schedule(name, ordering_of(order[places].astype(index)), starts.astype(index))


def permuted_with_diagonal(
    csr: CheckedMatrix, ordering: Ordering, dtype: DType
) -> tuple[Array, Array, Array]:
    """The CSR arrays of ``A[order][:, order]``; diagonal entries that are not stored become zeros.

    The transpose of a matrix has sorted rows whatever the order of its own entries: after two transpositions,
    each with the columns renumbered, rows and columns are permuted and sorted.
    """
    entries, rank = csr.backend.matrix.entries, ordering.rank
    indptr, indices, data = _with_diagonal(csr)
    data = data.astype(dtype, copy=False)
    for _ in range(2):
        indptr, indices, data = entries.transposed(indptr, rank[indices], data)
    return indptr, indices, data


def _with_diagonal(csr: CheckedMatrix) -> tuple[Array, Array, Array]:
    backend, n, index = csr.backend, csr.n, csr.indices.dtype
    xp, entries = backend.xp, backend.matrix.entries
    if all_set(csr.diagonal != 0):  # stall: decides whether entries are added
        return csr.indptr, csr.indices, csr.data
    rows, diagonal = entries.rows_of(csr.indptr, csr.nnz), xp.arange(n, dtype=index)
    return entries.canonical(
        xp.concatenate([rows, diagonal]),
        xp.concatenate([csr.indices, diagonal]),
        xp.concatenate([csr.data, xp.zeros(n, csr.data.dtype)]),
        n,
        index,
    )
