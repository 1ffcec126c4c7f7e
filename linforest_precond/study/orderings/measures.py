"""The graphs of the study, metrics of their orderings, and times of kernels and graph algorithms."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import matmul
from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond import solvers
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.cpu.reordering.cache_model import missed_gathers
from linforest_precond.graph import bfs_levels
from linforest_precond.graph.csgraph.components import connected_components
from linforest_precond.graph.csgraph.degrees import degrees
from linforest_precond.graph.csgraph.label_propagation import label_propagation
from linforest_precond.graph.reordering.gap_metrics import linear_gap, log_gap
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.graph.reordering.refinement import METRICS, refine_ordering
from linforest_precond.graph.reordering.vertex_orders import METHODS, order
from linforest_precond.matrices.arrays import array_modules, on_device
from linforest_precond.matrix.doors import as_csgraph
from linforest_precond.study import timing
from linforest_precond.study.cases import Case, Source, case_of
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

SEED = 0
SHUFFLED = "shuffled:"


def own_case(name: str, full: bool) -> Case | None:
    """The case of a graph with shuffled vertices, "shuffled:" and another name."""
    if not name.startswith(SHUFFLED):
        return None
    found = case_of(name.removeprefix(SHUFFLED), full)
    return replace(found, name=SHUFFLED + found.name, title=f"shuffled {found.title}", fallback=None)


def fetch(source: Source, case: Case) -> tuple[Case, Any]:
    """The Laplacian of a graph, with 1 added to the diagonal, so that CG can be timed on it."""
    shuffled = case.name.startswith(SHUFFLED)
    found, A = source.fetch_on_host(replace(case, name=case.name.removeprefix(SHUFFLED)))
    B = shifted_laplacian(A)
    if shuffled:
        B = permute(B, np.random.default_rng(SEED).permutation(B.shape[0]))
        found = replace(found, name=SHUFFLED + found.name)
    return found, on_device(B, source.device)


def shifted_laplacian(A: Any) -> Any:
    """I + D - (adjacency of the pattern of A + A.T), D the degrees: symmetric positive definite."""
    edges = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    edges = sp.csr_array(edges + edges.T)
    edges.setdiag(0)
    edges.eliminate_zeros()
    edges.data[:] = -1.0
    return sp.csr_array(sp.diags_array(1.0 - edges.sum(axis=1)) + edges)


REPEATS = 5
CG_ITERATIONS = 10
PAGERANK_ITERATIONS, LOUVAIN_LEVELS = 20, 5  # as in the thesis
# The most edges for Louvain's algorithm, which NetworkX runs in Python, on the CPU.
MOST_LOUVAIN_EDGES = {"quick": 30_000, "full": 200_000}
# The most vertices for what runs on one thread of the host: minimum degree, and the model of a cache.
MOST_ON_HOST, ON_HOST = 2**20, "minimum_degree"
FRACTION = 0.01  # of the vertices, refined; the thesis' mark
FRACTIONS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05)
# Orderings to start from, and titles of refined ones by metric.
REFINED = ("natural", "matching")
TITLES = {"log_gap": "{}, refined", "linear_gap": "{}, refined (linear)"}


def pagerank_call(B: Any) -> timing.Call:
    """A fixed number of power iterations, from and to equal shares."""
    csr = as_csgraph(abs(B))
    equal = csr.backend.xp.full(csr.n, 1.0 / max(csr.n, 1))
    iterate = csr.backend.csgraph.pagerank.power_iteration
    return partial(iterate, csr, 0.85, equal, equal, equal, PAGERANK_ITERATIONS, 0.0)


# (matrix, vertex of the highest degree, right-hand side) -> what is timed.
CALLS: dict[str, Callable[[Any, int, Array], timing.Call]] = {
    "spmv": lambda B, hub, x: partial(matmul, B, x),
    "bfs": lambda B, hub, x: partial(bfs_levels, B, hub),
    "cg": lambda B, hub, x: partial(solvers.cg, B, x, rtol=0.0, maxiter=CG_ITERATIONS),
    "pagerank": lambda B, hub, x: pagerank_call(B),
    "components": lambda B, hub, x: partial(connected_components, B, directed=False),
    "labels": lambda B, hub, x: partial(label_propagation, B),
}
LOUVAIN = "louvain"
TIMED = {
    "spmv": "SpMV", "bfs": "BFS", "cg": "iteration of CG", "pagerank": "PageRank", "components": "components",
    "labels": "label propagation", LOUVAIN: "Louvain (NetworkX)",
}  # fmt: skip


def orderings(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Every ordering of a graph."""
    hub = int(degrees(A).argmax()) if A.shape[0] else 0
    louvain = settings.device == "cpu" and _louvain_is_possible(A, settings.mode)
    is_large = A.shape[0] > MOST_ON_HOST
    found: JsonObject = {}
    for name, seconds, permutation in _orderings(A, settings.device):
        B = permute(A, permutation)
        found[name] = {
            "seconds": seconds,
            "linear_gap": linear_gap(B),
            "log_gap": log_gap(B),
            "misses": None if is_large else missed_gathers(on_host(B.indices)) / max(A.nnz, 1),
            "times": _times(B, int((permutation == hub).argmax()), settings.device, louvain),
        }
    return found


def _orderings(A: Any, device: str) -> Iterator[tuple[str, float, Array]]:
    """Every ordering: its name, seconds of one call, and the permutation."""
    starts: dict[str, Array] = {}
    for method in METHODS:
        if method == ON_HOST and A.shape[0] > MOST_ON_HOST:
            continue
        seconds, starts[method] = timing.time_of(partial(order, A, method), device)
        yield method, seconds, starts[method]
    for start in REFINED:
        for metric in METRICS:
            refine = partial(refine_ordering, A, starts[start], metric, FRACTION)
            seconds, permutation = timing.time_of(refine, device)
            yield TITLES[metric].format(start), seconds, permutation


def _times(B: Any, hub: int, device: str, louvain: bool) -> JsonObject:
    xp, _ = array_modules(device)
    x = xp.asarray(np.random.default_rng(SEED).standard_normal(B.shape[0]))
    found = {key: timing.least_time(call_of(B, hub, x), REPEATS, device)[0] for key, call_of in CALLS.items()}
    found["cg"] /= CG_ITERATIONS
    return found | {LOUVAIN: timing.time_of(louvain_call(B), "cpu")[0] if louvain else None}


def _louvain_is_possible(A: Any, mode: str) -> bool:
    return A.nnz // 2 <= MOST_LOUVAIN_EDGES[mode] and importlib.util.find_spec("networkx") is not None


def louvain_call(B: Any) -> Callable[[], Any]:
    """Louvain's communities by NetworkX, whose graph is made before."""
    import networkx

    adjacency = abs(on_host(B))
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    graph = networkx.from_scipy_sparse_array(adjacency)
    return partial(networkx.community.louvain_communities, graph, max_level=LOUVAIN_LEVELS, seed=SEED)


def refinement(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Refinement of the natural order by the share of the vertices, as in section 2.6.2."""
    measure = {"linear_gap": linear_gap, "log_gap": log_gap}
    before = {metric: measure[metric](A) for metric in METRICS}

    def refined(metric: str, fraction: float) -> JsonObject:
        call = partial(refine_ordering, A, None, metric, fraction)
        seconds, permutation = timing.time_of(call, settings.device)
        after = measure[metric](A, permutation)
        return {"fraction": fraction, "seconds": seconds, "before": before[metric], "after": after}

    return {metric: [refined(metric, fraction) for fraction in FRACTIONS] for metric in METRICS}
