"""The six algorithms of the chapter, and messages and bytes of simulated ranks, which are threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.distributed import Matrix, simulate
from linforest_precond.distributed.grid2d import Graph2D
from linforest_precond.distributed.grid2d.breadth_first import BreadthFirstSearch
from linforest_precond.distributed.grid2d.components import propagate_minima
from linforest_precond.distributed.grid2d.label_propagation import propagate_labels
from linforest_precond.distributed.grid2d.matching import match
from linforest_precond.distributed.grid2d.pagerank import power_iteration
from linforest_precond.distributed.grid2d.pointer_jumping import jump, lowest_neighbours
from linforest_precond.distributed.grid2d.vertex_map import VertexMap
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.study.cases import Case
from linforest_precond.study.grid2d.graphs import graph_on, hub_of
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

# A graph and its vertex of the highest degree -> the result.
Algorithm = Callable[[Graph2D, int], Any]
ITERATIONS = 20  # of PageRank and label propagation; the others run to the end


def pagerank(iterations: int) -> Algorithm:
    """Dense rounds of PageRank."""

    def run(graph: Graph2D, _: int) -> None:
        uniform = graph.xp.full(graph.n_states, 1 / max(graph.n, 1))
        power_iteration(graph, 0.85, uniform, uniform, uniform, iterations, 0.0)

    return run


ALGORITHMS: dict[str, Algorithm] = {
    "BFS": lambda graph, hub: BreadthFirstSearch(graph, hub).run("auto"),
    "PR": pagerank(ITERATIONS),
    "CC": lambda graph, _: propagate_minima(graph, "push", "auto", True),
    "LP": lambda graph, _: propagate_labels(graph, ITERATIONS, 0),
    "MWM": lambda graph, _: match(graph, tie_key_of(0)),
    "PJ": lambda graph, _: jump(graph, lowest_neighbours(graph)),
}
NAMES = {
    "BFS": "breadth-first search", "PR": "PageRank", "CC": "connected components", "LP": "label propagation",
    "MWM": "matching", "PJ": "pointer jumping",
}  # fmt: skip
# (direction, exchange, whether there is a vertex queue) of connected components.
VARIANTS = {
    "pull, dense, no queue (Base)": ("pull", "dense", False),
    "sparse (+SP)": ("pull", "sparse", False),
    "switch (+SP+SW)": ("pull", "auto", False),
    "queue (+SP+SW+VQ)": ("pull", "auto", True),
    "push (+All+Push)": ("push", "auto", True),
}


SIDES = {"quick": (1, 4, 16), "full": (1, 4, 16, 64)}
SQUARES = {"quick": (1, 4, 9, 16), "full": (1, 4, 9, 16, 25, 36, 49, 64)}
# The ranks on which variants are compared, and the side of the grid for the load balance.
VARIANT_RANKS, BALANCE_SIDE = 16, 8


def counted(
    p: int, A: Any, function: Algorithm, shape: tuple[int, int] | None = None
) -> tuple[JsonObject, Any]:
    """Bytes that the busiest rank sends, calls and messages of all ranks, and rank 0's result."""
    hub = hub_of(A)

    def work(comm: Any) -> tuple[int, int, int, int, Any]:
        graph = graph_on(comm, A, shape)
        comm.counters.reset()
        result = function(graph, hub)
        found = comm.counters
        sent = found.message_bytes + found.collective_bytes
        return sent, found.collectives, found.messages, graph.block_edges, result

    sent, calls, messages, edges, results = zip(*simulate(p, work))
    record = {
        "p": p,
        "bytes": max(sent),
        "calls": sum(calls),
        "messages": sum(messages),
        "balance": max(edges) * p / max(sum(edges), 1),
    }
    return record, results[0]


def scaling(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Bytes, calls and messages of each algorithm on square grids of ranks (figures 6.3, 6.4 and 6.8)."""
    sides = SIDES[settings.mode]
    return {name: [counted(p, A, run)[0] for p in sides] for name, run in ALGORITHMS.items()}


def rounds(A: Any, case: Case, settings: Settings) -> JsonObject:
    """A dense round of PageRank on square grids, and an exchange of ghosts between rows (section 6.3.2)."""
    return {"grids": [_round(A, p) for p in SQUARES[settings.mode]]}


def _round(A: Any, p: int) -> JsonObject:
    def ghosts(comm: Any) -> tuple[int, int]:
        first, end = equal_shares(A.shape[0], p)[comm.rank :][:2]
        halo = Matrix(A[first:end], comm).halo
        comm.counters.reset()
        halo.fetch(np.zeros(end - first))
        return comm.counters.messages, comm.counters.message_bytes

    once, twice = (counted(p, A, pagerank(iterations))[0] for iterations in (1, 2))
    messages, sent = zip(*simulate(p, ghosts))
    found = {key: twice[key] - once[key] for key in ("calls", "bytes")}
    return {"p": p, **found, "row_messages": sum(messages), "row_bytes": max(sent)}


def _propagated(way: tuple[str, str, bool], graph: Graph2D, _: int) -> Any:
    """The rounds of connected components."""
    return propagate_minima(graph, *way)[1]


def variants(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Connected components with one optimization of figure 6.6 after the other."""
    found: JsonObject = {"p": VARIANT_RANKS, "variants": {}}
    for name, way in VARIANTS.items():
        record, done = counted(VARIANT_RANKS, A, partial(_propagated, way))
        edges, dense = sum(each.edges for each in done), sum(each.dense for each in done)
        found["variants"][name] = record | {"rounds": len(done), "dense": dense, "edges": edges}
    return found


def shapes(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Connected components on all grids of as many ranks (figure 6.7)."""
    p = SIDES[settings.mode][-1]
    grids = [(rows, p // rows) for rows in range(1, p + 1) if p % rows == 0]
    return {
        "p": p,
        "shapes": [counted(p, A, ALGORITHMS["CC"], shape)[0] | {"shape": shape} for shape in grids],
    }


def balance(A: Any, case: Case, settings: Settings) -> JsonObject:
    """The most edges of a block in units of the mean, by the distribution of the vertices."""
    n, side, entries = A.shape[0], BALANCE_SIDE, A.tocoo()
    kept, shuffled = np.arange(n), np.random.default_rng(0).permutation(n)
    blocks = VertexMap.in_blocks(n, (side, side))
    maps = {
        "striped": (VertexMap.striped(n, (side, side)), kept),
        "blocks": (blocks, kept),
        "random": (blocks, shuffled),
    }
    found = {}
    for name, (where, order) in maps.items():
        owners = where.block_owner(*(where.positions(order[index]) for index in (entries.row, entries.col)))
        most = np.bincount(owners, minlength=side**2).max(initial=0)
        found[name] = float(most * side**2 / max(A.nnz, 1))
    return found
