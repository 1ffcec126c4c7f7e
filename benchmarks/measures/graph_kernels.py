"""Graph algorithms compared with SciPy's csgraph and PyAMG, in SpMVs, and in edges per second."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.matrices.arrays import array_modules, on_device
from linforest_precond.matrices.generators.random_graphs import GRAPH500
from linforest_precond.matrix.conversion import csr
from linforest_precond.study import timing

EDGES = "10⁹ edges/s"


def measurements(plan, device):
    """(title, function that yields rows) of all graph algorithms."""
    for name, (case, kernels) in cases.GRAPH_CASES.items():
        yield f"graph kernels, {name}", partial(kernel_rows, plan, name, case, kernels, device)
    if device == "cuda":
        for name, case in cases.LEVELED_CASES.items():
            yield f"levels, {name}", partial(level_rows, plan, case)
        yield "the largest graph", partial(largest_rows, plan)


def kernel_rows(plan, name, case, kernels, device):
    """Whole calls, input checks included, on the CPU and on the GPU, beside the CPU's library."""
    title, A = case(plan)
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    for kernel in kernels:
        start = (first_end(A),) if kernel == "breadth_first_order" else ()
        call = getattr(lf.graph, kernel)
        peer, peer_call = PEERS[kernel](sp.csr_matrix(A), *start)
        beside = {"peer": peer, "peer_samples": few_samples(peer_call, plan.cpu_repeats)}
        row = partial(Row, name=f"lf.graph.{kernel}", case=title, note=note)
        samples = few_samples(partial(call, A, *start), plan.cpu_repeats)
        yield row("cpu graphs", samples=samples, backend="cpu", judged="speedup", **beside)
        if device == "cuda":
            key = name, kernel
            goals = targets.GRAPHS.get(key, targets.BESIDE_CPU), targets.GRAPH_SPMVS.get(key, {})
            yield from gpu_rows(plan, row, partial(call, on_device(A, "cuda"), *start), beside, *goals)


def gpu_rows(plan, row, call, beside, goal, goal_in_products):
    """One algorithm on the GPU."""
    from benchmarks.measures.preconditioners import unit

    A = call.args[0]
    samples = timing.device_samples(call, plan.chain_repeats)
    edges = A.nnz if call.func is lf.graph.strongly_connected_components else A.nnz / 2
    yield row("graphs", samples=samples, **beside, **goal)
    yield row("graphs in products", samples=samples, **unit(plan, A), **goal_in_products)
    yield row("edges", samples=edge_rates(edges, samples), unit=EDGES)


def level_rows(plan, case):
    """Time per level of a breadth-first search with small frontiers: whole calls divided by levels."""
    title, A = case(plan)
    A = on_device(A, "cuda")
    samples = timing.device_samples(lambda: lf.graph.bfs_levels(A, 0), plan.chain_repeats)
    levels = int(lf.graph.bfs_levels(A, 0).max()) + 1
    per_level = [1e3 * sample / levels for sample in samples]
    note = f"{A.shape[0]:,} rows, {levels:,} levels"
    yield Row("levels", "lf.graph.bfs_levels", title, per_level, unit="µs", note=note, **targets.BFS_LEVEL)


def largest_rows(plan):
    """Components and breadth-first searches of a graph generated on the device."""
    A = rmat_on("cuda", plan.largest_scale, cases.EDGES_PER_VERTEX)
    title = f"R-MAT, 2^{plan.largest_scale} vertices, {cases.EDGES_PER_VERTEX} edges drawn for each"
    start = first_end(A)
    calls = {
        "connected_components": partial(lf.graph.connected_components, A),
        "bfs_levels": partial(lf.graph.bfs_levels, A, start),
        "breadth_first_order": partial(lf.graph.breadth_first_order, A, start),
    }
    row = partial(Row, case=title, dtype="pattern", note=f"{A.shape[0]:,} rows, {A.nnz:,} entries")
    for kernel, call in calls.items():
        samples = timing.device_samples(call, plan.solver_repeats)
        yield row("largest", f"lf.graph.{kernel}", samples=samples)
        yield row("largest", f"lf.graph.{kernel}, edges", samples=edge_rates(A.nnz / 2, samples), unit=EDGES)


def first_end(A):
    """A vertex that has an edge."""
    return int(A.indices[0])


def edge_rates(edges, samples):
    """Billions of edges per second, from milliseconds."""
    return [edges / (1e6 * sample) for sample in samples]


def few_samples(call, repeats):
    """Milliseconds of up to `repeats` calls, after one that compiles; long calls are repeated less often."""
    call()
    samples = []
    while not samples or (len(samples) < repeats and sum(samples) < 1e3 * timing.LONG_SECONDS):
        samples.append(timing.host_time(call)[0])
    return samples


def components_of_scipy(A):
    return "SciPy", partial(csgraph.connected_components, A, connection="weak")


def strong_components_of_scipy(A):
    return "SciPy", partial(csgraph.connected_components, A, connection="strong")


def tree_of_scipy(A):
    return "SciPy", partial(csgraph.minimum_spanning_tree, A)


def order_of_scipy(A, start):
    return "SciPy", partial(csgraph.breadth_first_order, A, start)


def independent_set_of_pyamg(A):
    from pyamg.graph import maximal_independent_set

    return "PyAMG", partial(maximal_independent_set, A)


def coloring_of_pyamg(A):
    from pyamg.graph import vertex_coloring

    return "PyAMG", partial(vertex_coloring, A)


PEERS = {
    "connected_components": components_of_scipy,
    "strongly_connected_components": strong_components_of_scipy,
    "minimum_spanning_tree": tree_of_scipy,
    "breadth_first_order": order_of_scipy,
    "maximal_independent_set": independent_set_of_pyamg,
    "vertex_coloring": coloring_of_pyamg,
}


def rmat_on(device, scale, edges_per_vertex, seed=0):
    """A symmetric R-MAT graph, generated on the device: on the host large ones would take minutes.

    Distributed as `lf.matrices.rmat`, from other random numbers; all values are 1.
    """
    xp, sparse = array_modules(device)
    n, rng = 1 << scale, xp.random.default_rng(seed)
    source, target = draw_ends(xp, rng, scale, edges_per_vertex << scale)
    number = xp.argsort(xp.asarray(rng.random(n)))  # a random permutation of the vertices
    source, target = number[source], number[target]
    no_loop = source != target
    source, target = source[no_loop], target[no_loop]
    keys = xp.unique(xp.concatenate([source * n + target, target * n + source]))
    index = np.int32 if keys.size < 2**31 else np.int64
    indptr = xp.searchsorted(keys, xp.arange(n + 1) * n).astype(index)
    return csr(sparse, xp.ones(keys.size, np.float32), (keys % n).astype(index), indptr, n)


def draw_ends(xp, rng, scale, count):
    """Both ends of all edges: each bit pair is a random quadrant of the adjacency matrix."""
    left_above, above, left_below = np.cumsum(GRAPH500[:3]).tolist()
    source, target = xp.zeros(count, np.int32), xp.zeros(count, np.int32)
    for _ in range(scale):
        draw = xp.asarray(rng.random(count, dtype=np.float32))
        source *= 2
        source += draw >= above
        target *= 2
        target += (draw >= left_above) & (draw < above) | (draw >= left_below)
    return source, target
