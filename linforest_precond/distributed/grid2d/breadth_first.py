"""Breadth-first search on a grid of ranks."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.cpu.csgraph.breadth_first import ALPHA, BETA, NO_PREDECESSOR, NOT_VISITED
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.distributed.grid2d.exchange import EXCHANGES, combine_minima, is_dense
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.vectors import own_results, vertex_dtype
from linforest_precond.graph.csgraph.breadth_first import checked_vertex

NOT_FOUND = np.iinfo(np.int64).max


@renamed_arguments(source="i_start")
def bfs(
    graph: Graph2D, i_start: int, directed: bool = True, *, exchange: str = "auto"
) -> tuple[Array, Array]:
    """Breadth-first search, direction-optimizing [1]_ where the graph is symmetric.

    Parameters
    ----------
    graph : Graph2D
    i_start : int
        The vertex to start from.
    directed : bool
        Whether edges lead one way only.
    exchange : {"auto", "dense", "sparse"}
        Whether a round passes the states of all vertices or of the visited ones; by default all if the last
        round visited n / max(R, C) or more.

    Returns
    -------
    depths : array of int32
        Of this rank's vertices (``graph.offsets``): as `graph.bfs_levels` of the whole matrix, -1 where a
        vertex is not reachable.
    predecessors : array of int32
        The lowest neighbour one step closer to `i_start`, as of `graph.breadth_first_order`; -9999 for the
        `i_start` and for vertices that are not reachable.

    References
    ----------
    .. [1] S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search", SC 2012,
       https://doi.org/10.1109/SC.2012.50

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.distributed import grid2d, scatter, simulate
    >>> A = lf.matrices.poisson((3, 2))
    >>> simulate(4, lambda comm: grid2d.bfs(grid2d.Graph2D.from_matrix(scatter(A, comm)), 0)[0].tolist())
    [[0], [1, 1], [2], [2, 3]]
    """
    i_start, directed, exchange = graph.grid.comm.agreed(
        "i_start, directed and exchange",
        lambda: (
            checked_vertex("i_start", i_start, graph.n),
            bool(directed),
            as_choice("exchange", exchange, EXCHANGES),
        ),
    )
    with graph.grid.comm.together():
        search = BreadthFirstSearch(graph if directed else graph.undirected(), i_start)
        search.run(exchange)
        dtype = vertex_dtype(graph.n)
        predecessors = np.where(search.parents == NOT_FOUND, NO_PREDECESSOR, search.parents)
        return own_results(graph, search.depths, np.int32), own_results(graph, predecessors, dtype)


class BreadthFirstSearch:
    """The state of a breadth-first search: depths and the lowest predecessors of row and column vertices."""

    def __init__(self, graph: Graph2D, source: int) -> None:
        self.graph, self.depth, self.pulls = graph, 0, 0
        self.depths = np.full(graph.n_states, NOT_VISITED, np.int32)
        self.parents = np.full(graph.n_states, NOT_FOUND)
        start = np.flatnonzero(graph.vertices == source)
        self.depths[start], self.parents[start] = 0, NO_PREDECESSOR
        self.frontier = graph.rows_among(start)  # rows of the block

    def run(self, exchange: str) -> None:
        """Visit all vertices that are reachable."""
        graph, unexplored = self.graph, self.graph.n_edges
        visited, entries = self._totals()
        while visited:
            dense = is_dense(exchange, visited, graph.n, graph.grid.shape)
            wide = entries * ALPHA > unexplored and visited * BETA > graph.n
            unexplored -= entries
            self._visit(graph.symmetric and wide, dense)
            visited, entries = self._totals()

    def _totals(self) -> list[int]:
        """The vertices of the frontier and their edges."""
        graph, rows = self.graph, self.frontier
        return graph.totals(rows, (graph.indptr[rows + 1] - graph.indptr[rows]).sum())

    def _visit(self, pull: bool, dense: bool) -> None:
        graph = self.graph
        visited, parents = self._pulled() if pull else self._pushed()
        changed = combine_minima(graph.pull if pull else graph.push, self.parents, visited, parents, dense)
        self.depth, self.pulls = self.depth + 1, self.pulls + pull
        self.depths[changed] = self.depth
        self.frontier = graph.rows_among(changed)

    def _pushed(self) -> tuple[Array, Array]:
        """Unvisited targets of the frontier's edges, and the sources."""
        _, sources, targets = self.graph.expand(self.frontier)
        unvisited = self.depths[targets] == NOT_VISITED
        return targets[unvisited], self.graph.vertices[sources[unvisited]]

    def _pulled(self) -> tuple[Array, Array]:
        """Unvisited rows with an edge to the frontier, and its ends there."""
        graph = self.graph
        unvisited = np.flatnonzero(self.depths[graph.rows.ids] == NOT_VISITED)
        _, rows, neighbours = graph.expand(unvisited)
        found = self.depths[neighbours] == self.depth
        return rows[found], graph.vertices[neighbours[found]]
