"""Gap metrics of an ordering: how far apart the neighbours of each vertex are numbered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.graph.reordering.permute import given_or_own_order
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern
from linforest_precond.records.forest import Ordering


@renamed_arguments(order="ordering")
def linear_gap(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> int:
    """The linear gap arrangement (LinGap) of a graph, in its own order or another.

    The sum over all vertices of the gaps between consecutive neighbours, sorted by their numbers: the span of
    the numbers of each vertex's neighbours, itself excluded.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter (the
        pattern of A + A.T is used), and a diagonal entry is no edge.
    ordering : permutation, optional
        ``ordering[new] = old``; A's own order by default.

    References
    ----------
    M. Mandulak, R. Hu, G. Slota, "Explicit ordering refinement for accelerating irregular graph analysis",
    HPEC 2022

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> star = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> lf.graph.linear_gap(star), lf.graph.linear_gap(star, [1, 0, 2, 3])
    (2, 3)
    """
    pattern, checked = _checked(A, ordering)
    indptr, _, positions = _sorted_rows(pattern, checked)
    nonempty = indptr[1:] > indptr[:-1]
    first, last = indptr[:-1][nonempty], indptr[1:][nonempty] - 1
    return int((positions[last] - positions[first]).sum(dtype=np.int64))  # stall: the answer


@renamed_arguments(order="ordering")
def log_gap(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> float:
    """The log gap arrangement (LogGap) of a graph, in its own order or another.

    The sum over all vertices of the natural logarithms of the gaps between consecutive neighbours, sorted by
    their numbers, the vertex itself excluded. Up to a factor, the bits that store the neighbours of all
    vertices as differences.

    Parameters
    ----------
    A, ordering
        As in `linear_gap`.

    Notes
    -----
    Each logarithm is rounded to a multiple of 2⁻³², so that sums are exact and have the same bits on every
    device.

    References
    ----------
    F. Chierichetti, R. Kumar, S. Lattanzi, M. Mitzenmacher, A. Panconesi, P. Raghavan, "On compressing social
    networks", KDD 2009, https://doi.org/10.1145/1557019.1557049

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((5, 20))
    >>> order = lf.graph.reverse_cuthill_mckee(A)
    >>> f"{lf.graph.log_gap(A):.1f} {lf.graph.log_gap(A, order):.1f}"
    '534.3 200.9'
    """
    pattern, checked = _checked(A, ordering)
    indptr, _, positions = _sorted_rows(pattern, checked)
    xp = xp_of(positions)
    gaps = xp.ones(positions.size, np.int32)  # ln 1 = 0 for the first neighbour of each row
    gaps[1:] = positions[1:] - positions[:-1]
    gaps[indptr[:-1][indptr[1:] > indptr[:-1]]] = 1
    return _log_sum(gaps, pattern.backend)


@renamed_arguments(order="ordering")
def linear_arrangement(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> int:
    """The linear arrangement of a graph (MinLA): the sum over all edges of the distance between their ends.

    Parameters
    ----------
    A, ordering
        As in `linear_gap`. Each edge counts once.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.graph.linear_arrangement(lf.matrices.poisson((7, 5)))
    178
    """
    return int(_edge_lengths(A, ordering)[0].sum(dtype=np.int64))  # stall: the answer


@renamed_arguments(order="ordering")
def log_arrangement(A: MatrixLike, ordering: npt.ArrayLike | None = None) -> float:
    """The log arrangement of a graph (MinLogA): the sum of the natural logarithms of its edges' lengths.

    Parameters
    ----------
    A, ordering
        As in `linear_gap`. Each edge counts once. Logarithms are rounded as in `log_gap`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> f"{lf.graph.log_arrangement(lf.matrices.poisson((7, 5))):.3f}"
    '48.283'
    """
    lengths, backend = _edge_lengths(A, ordering)
    return _log_sum(lengths, backend)


def loop_free(pattern: Pattern) -> tuple[Array, Array]:
    """Row pointers, 64-bit, and neighbours of a pattern without its diagonal entries."""
    backend = pattern.backend
    rows = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz)
    indptr = backend.xp.zeros(pattern.n + 1, np.int64)
    indptr[1:] = backend.xp.cumsum(pattern.degrees, dtype=np.int64)
    return indptr, pattern.indices[pattern.indices != rows]


def _checked(A: MatrixLike, ordering: npt.ArrayLike | None) -> tuple[Pattern, Ordering]:
    pattern = as_pattern(A)
    return pattern, given_or_own_order(ordering, pattern.n, pattern.backend)


def _sorted_rows(pattern: Pattern, ordering: Ordering) -> tuple[Array, Array, Array]:
    """Row pointers, neighbours, and the positions of the neighbours, sorted in each row."""
    backend = pattern.backend
    indptr, neighbours = loop_free(pattern)
    positions = backend.reordering.gap_metrics.sorted_positions(indptr, neighbours, ordering.order)
    return indptr, neighbours, positions


def _edge_lengths(A: MatrixLike, ordering: npt.ArrayLike | None) -> tuple[Array, Backend]:
    """The distance between the positions of the ends of each edge."""
    pattern, checked = _checked(A, ordering)
    rows = pattern.backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz)
    once = rows < pattern.indices
    lengths: Array = abs(checked.rank[rows[once]] - checked.rank[pattern.indices[once]])
    return lengths, pattern.backend


def _log_sum(numbers: Array, backend: Backend) -> float:
    gap_metrics = backend.reordering.gap_metrics
    return gap_metrics.log_sum(numbers) / gap_metrics.UNIT
