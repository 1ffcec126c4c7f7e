"""The graphs of the study, some drawn by every rank itself, and their distribution over a grid of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends import Backend, backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.hash_keys import GOLDEN, SHIFT_11, mixed
from linforest_precond.distributed.grid2d import Graph2D, Grid
from linforest_precond.distributed.grid2d.vertex_map import VertexMap
from linforest_precond.matrices.generators.random_graphs import GRAPH500
from linforest_precond.study import cases
from linforest_precond.study.cases import Case, Source
from linforest_precond.study.results import JsonObject
from linforest_precond.study.scale.graphs import uniform_graph

NAME = re.compile(r"(rmat|urand):(\d{1,2}):(\d{1,3})")
# Edges that are drawn at once.
AT_ONCE = 2**24
# Odd factors of the renumbering of vertices.
FACTORS = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F


@dataclass(frozen=True)
class DrawnGraph:
    """2**scale vertices with a number of edges each, by R-MAT with Graph500's probabilities or uniformly."""

    kind: str
    scale: int
    degree: int

    @classmethod
    def named(cls, name: str) -> DrawnGraph | None:
        """The graph "rmat:SCALE:DEGREE" or "urand:SCALE:DEGREE", None for other names."""
        found = NAME.fullmatch(name)
        return found and cls(found[1], int(found[2]), int(found[3]))

    @property
    def shape(self) -> tuple[int, int]:
        return 2**self.scale, 2**self.scale

    @property
    def nnz(self) -> int:
        """Both directions of every edge that is drawn, loops and repeated edges included."""
        return 2 * self.degree << self.scale

    def edges(self, xp: Any) -> Iterator[tuple[Array, Array]]:
        """The ends of all edges, without loops, some at a time."""
        count = self.degree << self.scale
        for first in range(0, count, AT_ONCE):
            numbers = xp.arange(first, min(first + AT_ONCE, count)).astype(np.uint64)
            u, v = self._renumbered(*(self._rmat if self.kind == "rmat" else self._uniform)(xp, numbers))
            yield u[u != v], v[u != v]

    def _uniform(self, xp: Any, numbers: Array) -> tuple[Array, Array]:
        words = mixed(numbers * GOLDEN)
        return words >> np.uint64(64 - self.scale), words & np.uint64(2**self.scale - 1)

    def _rmat(self, xp: Any, numbers: Array) -> tuple[Array, Array]:
        u, v = xp.zeros_like(numbers), xp.zeros_like(numbers)
        a, b, c, _ = (round(share * 2**53) for share in GRAPH500)
        for level in range(self.scale):
            draws = mixed((numbers * np.uint64(self.scale) + np.uint64(level)) * GOLDEN) >> SHIFT_11
            is_lower = draws >= np.uint64(a + b)
            is_right = (draws >= np.uint64(a)) & ~is_lower | (draws >= np.uint64(a + b + c))
            u, v = (2 * ends + bit.astype(np.uint64) for ends, bit in ((u, is_lower), (v, is_right)))
        return u, v

    def _renumbered(self, *ends: Array) -> tuple[Array, ...]:
        """A permutation of the vertices: products with odd numbers, and shifts, modulo 2**scale."""
        mask, half = np.uint64(2**self.scale - 1), np.uint64((self.scale + 1) // 2)
        for factor in FACTORS:
            ends = tuple(each * np.uint64(factor) & mask for each in ends)
            ends = tuple(each ^ (each >> half) for each in ends)
        return tuple(each.astype(np.int32 if self.scale < 32 else np.int64) for each in ends)

    def matrix(self) -> Any:
        """The adjacency matrix on the host; repeated edges are one."""
        u, v = (np.concatenate(ends) for ends in zip(*self.edges(np)))
        ends = np.concatenate([u, v]), np.concatenate([v, u])
        found = scipy.sparse.coo_array((np.ones(ends[0].size), ends), shape=self.shape).tocsr()
        found.data[:] = 1.0
        return found

    def on_grid(self, grid: Grid, backend: Backend) -> Graph2D:
        """The graph on a grid of ranks: each draws all edges and keeps those of its block."""
        where, kept = VertexMap.striped(self.shape[0], grid.shape), []
        for ends in self.edges(backend.xp):
            u, v = map(where.positions, ends)
            for sources, targets in ((u, v), (v, u)):
                own = where.block_owner(sources, targets) == grid.comm.rank
                kept.append(sources[own] * where.n + targets[own])
        return Graph2D.of_own_pairs(backend, grid, where, kept)


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
    grid, backend = Grid(comm, shape), backend_named(device)
    if isinstance(A, DrawnGraph):
        return A.on_grid(grid, backend)
    entries = A.tocoo()
    mine = slice(comm.rank, None, comm.size)
    edges = (backend.xp.asarray(part[mine]) for part in (entries.row, entries.col, entries.data))
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
