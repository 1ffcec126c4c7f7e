"""Breadth-first search on a grid of ranks."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.distributed.grid2d.exchange import EXCHANGES, combine_minima, is_dense
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.vectors import own_results, vertex_dtype
from linforest_precond.distributed.partition import host
from linforest_precond.graph.csgraph.breadth_first import checked_vertex

breadth_first = host.csgraph.breadth_first

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
        predecessors = graph.xp.where(search.depths > 0, ~search.parents, breadth_first.NO_PREDECESSOR)
        return own_results(graph, search.depths, np.int32), own_results(graph, predecessors, dtype)


class BreadthFirstSearch:
    """The state of a breadth-first search: depths and the lowest predecessors of row and column vertices.

    The predecessors p of visited vertices are kept as ~p: these are below all vertices, so that no push
    lowers them again.
    """

    def __init__(self, graph: Graph2D, source: int) -> None:
        self.graph, self.depth, self.pulls = graph, 0, 0
        self.depths = graph.xp.full(graph.n_states, breadth_first.NOT_VISITED, np.int32)
        self.parents = graph.xp.full(graph.n_states, NOT_FOUND, np.int64)
        start = graph.xp.flatnonzero(graph.vertices == source)
        self.depths[start], self.parents[start] = 0, ~source
        self.frontier = graph.rows_among(start)  # rows of the block

    def run(self, exchange: str) -> None:
        """Visit all vertices that are reachable."""
        graph, unexplored = self.graph, self.graph.n_edges
        visited, entries = self._totals()
        while visited:
            dense = is_dense(exchange, visited, graph.n, graph.grid.shape)
            wide = entries * breadth_first.ALPHA > unexplored and visited * breadth_first.BETA > graph.n
            unexplored -= entries
            self._visit(graph.symmetric and wide, dense)
            visited, entries = self._totals()

    def _totals(self) -> list[int]:
        """The vertices of the frontier and their edges."""
        graph, rows = self.graph, self.frontier
        return graph.totals(rows, graph.entries_of(rows))

    def _visit(self, pull: bool, dense: bool) -> None:
        graph = self.graph
        lower, direction = (self._pull, graph.pull) if pull else (self._push, graph.push)
        changed = combine_minima(direction, self.parents, lower, dense)
        self.depth, self.pulls = self.depth + 1, self.pulls + pull
        self.depths[changed], self.parents[changed] = self.depth, ~self.parents[changed]
        self.frontier = graph.rows_among(changed)

    def _push(self) -> Array:
        """Along the frontier's edges to unvisited targets."""
        return self.graph.lower(self.frontier, False, self.graph.vertices, self.parents)

    def _pull(self) -> Array:
        """Along the edges of unvisited rows to the frontier."""
        graph, xp = self.graph, self.graph.xp
        unvisited = xp.flatnonzero(self.depths[graph.rows.ids] == breadth_first.NOT_VISITED)
        sources = xp.where(self.depths == self.depth, graph.vertices, NOT_FOUND)
        return graph.lower(unvisited, True, sources, self.parents)
