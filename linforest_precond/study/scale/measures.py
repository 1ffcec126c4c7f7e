"""Table 4.2: distances from the maximum weight; figure 4.8: the edges visited in each iteration."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from linforest_precond.backends.cpu.matching.out_of_core_matching import match_mutual, set_batch_pointers
from linforest_precond.graph.matching.matching import matching, tie_key_of
from linforest_precond.matrix.checked import checked
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

METHODS = ("locally_dominant", "augmented", "suitor", "greedy", "weighted", "random")
# The exact algorithms are sequential: SciPy's for bipartite graphs, NetworkX's in Python for the others.
MOST_BIPARTITE_EDGES = {"quick": 100_000, "full": 1_000_000}
MOST_EDGES = {"quick": 8_000, "full": 60_000}


def optimum(W: Any, case: Case, settings: Settings) -> JsonObject:
    """The percentage by which each method's weight is below the maximum, or why there is none."""
    solver, reason = _solver(W, settings.mode)
    found: JsonObject = {"solver": solver, "reason": reason, "weight": None, "seconds": None, "gaps": {}}
    if solver is None:
        return found
    seconds, best = timing.time_of(lambda: SOLVERS[solver](W), "cpu")
    gaps = {method: 100 * (1 - matching(W, method).weight / best) if best else 0.0 for method in METHODS}
    return found | {"weight": best, "seconds": seconds, "gaps": gaps}


def _solver(W: Any, mode: str) -> tuple[str | None, str | None]:
    edges = W.nnz // 2
    if edges <= MOST_BIPARTITE_EDGES[mode] and sides(W) is not None:
        return "scipy", None
    if edges > MOST_EDGES[mode]:
        return None, f"{edges:,} edges are too many for an exact sequential matching"
    if importlib.util.find_spec("networkx") is None:
        return None, "the exact matching of a graph that is not bipartite needs NetworkX"
    return "networkx", None


def sides(W: Any) -> Any:
    """The sides of a bipartite graph as a boolean array, None if an edge joins two vertices of one side."""
    _, labels = csgraph.connected_components(W, directed=False)
    roots = np.unique(labels, return_index=True)[1]
    if not roots.size:
        return np.zeros(0, bool)
    levels = csgraph.dijkstra(W, indices=roots, unweighted=True, min_only=True)
    side = levels.astype(np.int64) % 2 == 1
    edges = W.tocoo()
    crossing = edges.row != edges.col
    return side if (side[edges.row] != side[edges.col])[crossing].all() else None


def bipartite_weight(W: Any) -> float:
    """The maximum weight of a matching in a bipartite graph, by SciPy's LAPJVsp.

    Every row may also take a column of its own, of weight 0, so that a matching of all rows exists. A
    constant is added to all weights, since explicit zeros are no edges there.
    """
    side = sides(W)
    rows, columns = np.flatnonzero(side), np.flatnonzero(~side)
    B = W[rows][:, columns].tocoo()
    shift = 1.0
    own = np.arange(rows.size)
    values = np.concatenate([B.data + shift, np.full(rows.size, shift)])
    places = np.concatenate([B.row, own]), np.concatenate([B.col, columns.size + own])
    extended = scipy.sparse.csr_matrix((values, places), shape=(rows.size, columns.size + rows.size))
    found = csgraph.min_weight_full_bipartite_matching(extended, maximize=True)
    return float(extended[found].sum() - shift * rows.size)


def general_weight(W: Any) -> float:
    """The maximum weight of a matching in any graph, by NetworkX (Edmonds' blossom algorithm)."""
    import networkx

    edges = scipy.sparse.triu(W, 1).tocoo()
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(edges.row.tolist(), edges.col.tolist(), edges.data.tolist()))
    chosen = networkx.max_weight_matching(graph)
    return float(sum(graph[u][v]["weight"] for u, v in sorted(chosen)))


SOLVERS = {"scipy": bipartite_weight, "networkx": general_weight}


def visits(W: Any, case: Case, settings: Settings) -> JsonObject:
    """The entries of the rows that are searched in each round that matches edges; an edge has two.

    ``searched`` are the rows of the vertices that point anew, because their targets were matched: those of
    this package, on every device. ``single`` are the rows of all vertices without a mate, which Algorithm 4.3
    searches.
    """
    graph, key = checked(W).graph, tie_key_of(0)
    degrees = np.diff(graph.indptr)
    mate, pointers = np.full((2, graph.n), -1, graph.indices.dtype)
    active, searched, single = np.ones(graph.n, np.bool_), [], []
    while active.any():
        counts = int(degrees[active].sum(dtype=np.int64)), int(degrees[mate < 0].sum(dtype=np.int64))
        set_batch_pointers(graph.indptr, graph.indices, graph.values, 0, 0, graph.n, key, mate, pointers)
        if not match_mutual(mate, pointers):
            break
        searched.append(counts[0])
        single.append(counts[1])
        active = (mate < 0) & (pointers >= 0) & (mate[pointers] >= 0)
    return {"entries": int(graph.indices.size), "searched": searched, "single": single}
