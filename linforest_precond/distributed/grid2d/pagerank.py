"""PageRank on a grid of ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.grid2d.exchange import spread_all
from linforest_precond.distributed.grid2d.fixed_point import (
    BITS_OF_MANY,
    BITS_OF_PROBABILITIES,
    LOW_BITS,
    decoded,
    sums_by_index,
    sums_of,
    total,
)
from linforest_precond.distributed.grid2d.graph import Graph2D, on_backend
from linforest_precond.distributed.grid2d.vectors import own_results, own_vertices, states_of
from linforest_precond.graph.csgraph.pagerank import checked_number, real_numbers


@named_arguments
def pagerank(
    graph: Graph2D,
    alpha: float = 0.85,
    personalization: npt.ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: npt.ArrayLike | None = None,
    dangling: npt.ArrayLike | None = None,
) -> Array:
    """PageRank by power iteration with dense exchanges, as `graph.pagerank` of the whole matrix to rounding.

    Sums are exact: the same graph gives the same bits for every number of ranks and every shape of the grid.

    Parameters
    ----------
    graph : Graph2D
        Its weights must not be negative.
    alpha, max_iter, tol
        As for `graph.pagerank`.
    personalization, nstart, dangling : arrays, optional
        As for `graph.pagerank`: the numbers of this rank's vertices (``graph.offsets``).

    Returns
    -------
    array of float64
        The ranks of this rank's vertices; their sum over all is 1.

    Raises
    ------
    ValueError
        For negative weights, and for a row sum that is too small to be inverted.
    RuntimeError
        If the iteration does not converge.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.distributed import grid2d, scatter, simulate
    >>> A = scipy.sparse.csr_array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    >>> def ranks(comm):
    ...     return grid2d.pagerank(grid2d.Graph2D.from_matrix(scatter(A, comm)))
    >>> np.concatenate(simulate(4, ranks)).round(3).tolist()
    [0.388, 0.215, 0.397]
    """
    comm = graph.grid.comm
    with comm.checking():
        max_iter = as_integer("max_iter", max_iter, 1)
        alpha, tol = checked_number("alpha", alpha, 1.0), checked_number("tol", tol, math.inf)
        check_weights(graph)
    comm.same("alpha, max_iter and tol", (alpha, max_iter, tol))
    with comm.together():
        if not graph.n:
            return graph.xp.empty(0)
        restarts = distribution(graph, "personalization", personalization)
        start = distribution(graph, "nstart", nstart)
        leaving = restarts if dangling is None else distribution(graph, "dangling", dangling)
        threshold = graph.n * tol
        ranks, iterations, change = power_iteration(
            graph, alpha, restarts, leaving, start, max_iter, threshold
        )
        with comm.checking():
            if change >= threshold:
                raise RuntimeError(
                    f"the ranks still changed by {change:.3g} in iteration {iterations}, where the number of "
                    f"vertices times tol is {threshold:.3g}; raise max_iter or tol"
                )
        return own_results(graph, ranks)


def check_weights(graph: Graph2D) -> None:
    """Weights are probabilities up to a factor."""
    lowest = 0.0 if graph.weights is None or not graph.block_edges else float(graph.weights.min())
    if lowest < 0:
        raise ValueError(f"the graph must have no negative weights, got {lowest}; pass magnitudes")


def power_iteration(
    graph: Graph2D,
    alpha: float,
    restarts: Array,
    leaving: Array,
    start: Array,
    max_iter: int,
    threshold: float,
) -> tuple[Array, int, float]:
    """The ranks, the number of iterations, and the 1-norm of the last change."""
    inverses = inverse_row_sums(graph)
    is_dangling, piece = graph.xp.zeros(graph.n_states, bool), graph.push.pieces[graph.grid.j].ids
    is_dangling[graph.rows.ids] = inverses == 0
    ranks, change, iterations = start.copy(), math.inf, 0
    _, mass = _totals(graph, ranks[:0], ranks[piece][is_dangling[piece]])
    columns = graph.columns.ids
    while iterations < max_iter and change >= threshold:
        last = ranks.copy()
        sums = _followed(graph, last[graph.rows.ids] * inverses)
        arrived = sums + mass * leaving[columns]
        ranks[columns] = alpha * arrived + (1.0 - alpha) * restarts[columns]
        spread_all(graph.push, ranks)
        changes = abs(ranks[piece] - last[piece])
        change, mass = _totals(graph, changes, ranks[piece][is_dangling[piece]])
        iterations += 1
    return ranks, iterations, change


def _followed(graph: Graph2D, shares: Array) -> Array:
    """The product with the transposed block: for each column vertex the sum over its column group."""
    block = graph.indptr, graph.indices, graph.columns.start, shares, graph.weights, graph.columns.size
    sums = graph.blocks.add_along(*block, BITS_OF_PROBABILITIES, LOW_BITS)
    return decoded(graph.grid.column.allreduce(sums), BITS_OF_PROBABILITIES)


def _totals(graph: Graph2D, changes: Array, dangling_ranks: Array) -> tuple[float, float]:
    """Sums over all vertices, of which a rank has those that are both its rows and its columns."""
    parts = [sums_of(values, BITS_OF_PROBABILITIES) for values in (changes, dangling_ranks)]
    sums = graph.grid.comm.allreduce(np.array(parts, np.int64).T)
    change, mass = decoded(sums, BITS_OF_PROBABILITIES)
    return float(change), float(mass)


def inverse_row_sums(graph: Graph2D) -> Array:
    """One over the sum of the weights of each row vertex's edges; 0 where that is 0."""
    sums = row_sums(graph)
    with np.errstate(over="ignore", divide="ignore"):
        inverses = graph.xp.where(sums != 0, 1.0 / sums, 0.0)
    with graph.grid.comm.checking():
        if graph.xp.isinf(inverses).any():
            raise ValueError(
                "rows must have sums that can be inverted, got one below 1e-308; scale the weights"
            )
    return inverses


def row_sums(graph: Graph2D) -> Array:
    """The sum of the weights of each row vertex's edges."""
    xp, row = graph.xp, graph.grid.row
    if graph.weights is None:
        return row.allreduce(xp.diff(graph.indptr)).astype(np.float64)
    exponents = xp.frexp(row.allreduce(graph.blocks.row_maxima(graph.indptr, graph.weights), "max"))[1]
    rows = graph.backend.matrix.entries.rows_of(graph.indptr, graph.block_edges)
    scaled = xp.ldexp(graph.weights, -exponents[rows])
    found = row.allreduce(sums_by_index(graph.backend, scaled, rows, graph.rows.size, BITS_OF_MANY))
    with np.errstate(over="ignore"):
        return xp.ldexp(decoded(found, BITS_OF_MANY), exponents)


def distribution(graph: Graph2D, name: str, weights: Any) -> Array:
    """States from weights of the own vertices, scaled to the sum 1; uniform where none are given."""
    comm = graph.grid.comm
    comm.same(f"whether {name} is given", weights is not None)
    if weights is None:
        return graph.xp.full(graph.n_states, 1.0 / graph.n)
    with comm.checking():
        count = own_vertices(graph).size
        values = real_numbers(name, on_backend(graph.backend, name, weights), count, "a vertex of this rank")
        if not graph.xp.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"{name} must hold finite weights that are not negative")
    whole = total(comm, values)
    with comm.checking():
        if not 0.0 < whole < math.inf:
            raise ValueError(f"{name} must have a finite sum above 0, got {whole}")
    return states_of(graph, values / whole)
