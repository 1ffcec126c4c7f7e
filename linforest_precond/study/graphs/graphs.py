"""The graphs of the density sweep: directed random graphs, named by size and density."""

from __future__ import annotations

import functools
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.study.cases import Case, Source, size_fields
from linforest_precond.study.published import published_rows
from linforest_precond.study.results import JsonObject

QUICK_SIZES = (1000, 2000)
# Beside the thesis' random graphs in a full study, and R-MAT graphs.
REAL = ("AG-Monien/brack2", "DIMACS10/wing", "DIMACS10/luxembourg_osm", "rmat:16", "rmat:20")
# Random numbers that are drawn at a time.
BLOCK = 2**22


class GraphTimes(NamedTuple):
    """Seconds of Cichra (2024) on one thread (CPU), on 16 threads (HOST) and on a Tesla V100 (GPU)."""

    cpu: float
    host: float
    gpu: float


class GraphKey(NamedTuple):
    """An algorithm by the thesis' name, and a graph by its density and size."""

    algorithm: str
    density: float
    size: int


@functools.cache
def graph_times() -> dict[GraphKey, GraphTimes]:
    """The times of Cichra (2024): figures 7.2, 7.4, 7.6, 7.8, 7.10 and 7.12."""
    rows = ([*row.values()] for row in published_rows("graphs"))
    return {GraphKey(name, density, int(size)): GraphTimes(*times) for name, density, size, *times in rows}


def densities() -> list[float]:
    """The thesis' densities."""
    return sorted({key.density for key in graph_times()})


def sizes() -> list[int]:
    """The thesis' numbers of vertices."""
    return sorted({key.size for key in graph_times()})


def quick() -> list[str]:
    """The names of small graphs of the thesis' densities."""
    return [Sweep(size, density).name for density in densities() for size in QUICK_SIZES]


def full() -> list[str]:
    """The names of the thesis' 45 graphs, and of real ones."""
    return [*(Sweep(size, density).name for density in densities() for size in sizes()), *REAL]


class Sweep(NamedTuple):
    """A graph of the sweep."""

    size: int
    density: float

    @property
    def name(self) -> str:
        return f"{self.size}@{self.density:g}"


def sweep_of(name: str) -> Sweep | None:
    """The size and density in a name; None for other names."""
    found = re.fullmatch(r"(\d+)@(\d*\.?\d+)", name)
    if found is None or not 0 <= float(found[2]) <= 1:
        return None
    return Sweep(int(found[1]), float(found[2]))


def own_case(name: str, full: bool) -> Case | None:
    """The case of a graph of the sweep, "SIZE@DENSITY"."""
    sweep = sweep_of(name)
    if sweep is None:
        return None
    in_thesis = sweep.size in sizes() and sweep.density in densities()
    title = f"{sweep.size:,} vertices, density {sweep.density:g}"
    return Case(
        sweep.name, title, "generated", paper=sweep.name if in_thesis else None, at_paper_size=in_thesis
    )


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """A graph of the sweep on the source's device, or any other matrix; checked, which keeps its pattern."""
    sweep = sweep_of(case.name)
    if sweep is None:
        case, A = source.fetch(case)
        return case, checked(A)
    return case, checked(on_device(random_digraph(*sweep), source.device))


def random_digraph(size: int, density: float, seed: int = 0) -> sp.csr_array:
    """Each of the size * (size - 1) directed edges with the same probability.

    Threads draw blocks of rows, with copies of one generator that are advanced to their numbers.
    """
    state = np.random.PCG64([seed, size, round(1e6 * density)]).state
    rows_at_once = max(BLOCK // max(size, 1), 1)

    def draw(first: int) -> tuple[np.ndarray, np.ndarray]:
        count, own = min(rows_at_once, size - first), np.random.PCG64()
        own.state = state
        rng = np.random.Generator(own.advance(first * size // 2))
        rng.random(first * size % 2, dtype=np.float32)  # two numbers of 32 bits are one step of the generator
        edges = rng.random((count, size), dtype=np.float32) < density
        edges[np.arange(count), first + np.arange(count)] = False
        return np.count_nonzero(edges, axis=1), np.nonzero(edges)[1].astype(np.int32)

    with ThreadPoolExecutor() as pool:
        blocks = list(pool.map(draw, range(0, size, rows_at_once)))
    counts, columns = zip((np.zeros(1, np.int64), np.empty(0, np.int32)), *blocks, strict=True)
    indptr, indices = np.cumsum(np.concatenate(counts)), np.concatenate(columns)
    return sp.csr_array((np.ones(indices.size), indices, indptr), shape=(size, size))


def directed(A: Any) -> Any:
    """The graph itself on the host."""
    return on_host(A.tocsr())


def undirected(A: Any) -> sp.csr_array:
    """The undirected counterpart of a graph on the host: every edge is stored in both directions."""
    pattern = as_pattern(A)
    indptr, indices = on_host(pattern.indptr), on_host(pattern.indices)
    # Single precision: cupyx has no matrices of integers.
    return sp.csr_array((np.ones(indices.size, np.float32), indices, indptr), shape=(pattern.n,) * 2)


def weighted(A: Any, seed: int = 0) -> sp.csr_array:
    """The upper triangle of the undirected graph; the weights are 1 to the number of edges, shuffled."""
    graph = undirected(A)
    upper = graph.indices > np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    indptr = np.concatenate([[0], np.cumsum(upper)])[graph.indptr]
    weights = np.random.default_rng(seed).permutation(int(indptr[-1])) + 1.0
    return sp.csr_array((weights, graph.indices[upper], indptr), shape=graph.shape)


def properties(A: Any) -> JsonObject:
    """Vertices and edges of a graph."""
    return size_fields(A.shape[0], int(A.nnz), bool(as_pattern(A, directed=True).symmetric))
