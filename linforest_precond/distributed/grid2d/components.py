"""Connected components on a grid of ranks."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.grid2d.exchange import EXCHANGES, combine_minima, is_dense
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.vectors import numbered_by_first, own_results, vertex_dtype

DIRECTIONS = "push", "pull"


@named_arguments
def connected_components(
    graph: Graph2D, *, direction: str = "push", exchange: str = "auto", queue: bool = True
) -> tuple[int, Array]:
    """Find the weakly connected components by colour propagation: the lowest vertex spreads along edges.

    The options are those of figure 6.6 of the thesis (see `Grid`), and do not change the result.

    Parameters
    ----------
    graph : Graph2D
        Directions of edges do not matter.
    direction : {"push", "pull"}
        Whether a vertex lowers the colours of its neighbours or takes theirs.
    exchange : {"auto", "dense", "sparse"}
        Whether a round passes the colours of all vertices or of the changed ones; by default all if the last
        round changed n / max(R, C) or more.
    queue : bool
        Whether a round visits active vertices only.

    Returns
    -------
    n_components : int
    labels : array of int32
        The component of each of this rank's vertices (``graph.offsets``), as `graph.connected_components` of
        the whole matrix numbers them: by their lowest vertices.

    Examples
    --------
    >>> import scipy.sparse
    >>> from linforest_precond.distributed import grid2d, scatter, simulate
    >>> A = scipy.sparse.csr_array([[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
    >>> def labels(comm):
    ...     count, found = grid2d.connected_components(grid2d.Graph2D.from_matrix(scatter(A, comm)))
    ...     return count, found.tolist()
    >>> simulate(2, labels)
    [(2, [0, 1]), (2, [0, 1])]
    """
    direction, exchange, queue = graph.grid.comm.agreed(
        "direction, exchange and queue",
        lambda: (
            as_choice("direction", direction, DIRECTIONS),
            as_choice("exchange", exchange, EXCHANGES),
            bool(queue),
        ),
    )
    with graph.grid.comm.together():
        colors, _ = propagate_minima(graph.undirected(), direction, exchange, queue)
        count, labels = numbered_by_first(graph, own_results(graph, colors))
        return count, labels.astype(vertex_dtype(graph.n))


@dataclass(frozen=True)
class Round:
    """Counts of a round over all ranks, changed vertices and visited edges."""

    changed: int
    edges: int
    dense: bool


def propagate_minima(graph: Graph2D, direction: str, exchange: str, queue: bool) -> tuple[Array, list[Round]]:
    """The lowest vertex of the component of each row and column vertex of a symmetric graph."""
    colors = graph.vertices.copy()
    everything = active = graph.xp.arange(graph.rows.size)
    rounds, changed = [], graph.n
    while changed:
        dense = is_dense(exchange, changed, graph.n, graph.grid.shape)
        rows, edges = lower_colors(graph, colors, active, direction, dense)
        changed, edges = graph.totals(rows, edges)
        rounds.append(Round(changed, edges, dense))
        if not queue:
            active = everything
        elif direction == "push":
            active = rows
        else:
            active = graph.neighbouring_rows(rows)
    return colors, rounds


def lower_colors(
    graph: Graph2D, colors: Array, active: Array, direction: str, dense: bool
) -> tuple[Array, int]:
    """Lower the colours along the edges of active rows; the rows that have changed, and the edges visited."""
    is_pull = direction == "pull"
    ways = graph.pull if is_pull else graph.push
    changed = combine_minima(ways, colors, lambda: graph.lower(active, is_pull, colors, colors), dense)
    return graph.rows_among(changed), graph.entries_of(active)
