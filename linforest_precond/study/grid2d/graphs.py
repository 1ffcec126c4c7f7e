"""The graphs of the study, and their distribution over a grid of ranks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linforest_precond.backends import backend_named
from linforest_precond.distributed.grid2d import Graph2D, Grid
from linforest_precond.study import cases
from linforest_precond.study.cases import Case, Source
from linforest_precond.study.grid2d.drawn import DrawnGraph
from linforest_precond.study.results import JsonObject
from linforest_precond.study.scale.graphs import uniform_graph

UNIFORM = re.compile(r"urand:(\d{1,2})")


def own_case(name: str, full: bool) -> Case | None:
    """The case "urand:K", a uniform random graph of 2**K vertices, as the thesis' RAND, or a drawn graph."""
    is_own = UNIFORM.fullmatch(name) or DrawnGraph.named(name)
    return Case(name, name.replace(":", " "), "generated") if is_own else None


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The graph on the host; for the GPU a drawn one is left to the ranks."""
    drawn = DrawnGraph.named(case.name)
    if drawn:
        return case, drawn if source.device == "cuda" else drawn.matrix()
    uniform = UNIFORM.fullmatch(case.name)
    return (case, uniform_graph(int(uniform[1]))) if uniform else source.fetch_on_host(case)


def properties(A: Any) -> JsonObject:
    """The fields of a case's record."""
    if not isinstance(A, DrawnGraph):
        return cases.properties(A)
    return {"rows": A.shape[0], "nnz": A.nnz, "symmetric": True, "mean_degree": 2 * A.degree}


def graph_on(comm: Any, A: Any, shape: tuple[int, int] | None = None, device: str = "cpu") -> Graph2D:
    """The graph of a matrix that all ranks have: each takes every p-th edge."""
    grid, xp = Grid(comm, shape), backend_named(device).xp
    if isinstance(A, DrawnGraph):
        return A.on_grid(grid, xp)
    entries = A.tocoo()
    mine = slice(comm.rank, None, comm.size)
    edges = (xp.asarray(part[mine]) for part in (entries.row, entries.col, entries.data))
    return Graph2D(grid, A.shape[0], *edges)


def hub_of(A: Any) -> int:
    """The vertex of the highest degree."""
    return int(np.diff(A.indptr).argmax())


def hub_on(graph: Graph2D) -> int:
    """The vertex of the highest degree of a graph on ranks, the lowest one of them."""
    degrees = graph.grid.row.allreduce(graph.xp.diff(graph.indptr))
    highest = int(degrees.max()) if degrees.size else 0
    hubs = graph.vertices[graph.rows.ids][degrees == highest]
    return int(-max(graph.grid.comm.allgather((highest, -int(hubs.min()) if hubs.size else 0)))[1])
