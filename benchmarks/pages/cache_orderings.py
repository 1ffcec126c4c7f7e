"""Effect of vertex orderings: gap metrics, cache misses, and times of SpMV, BFS and an iteration of CG.

    LINFOREST_MATRICES=FOLDER python -m benchmarks.pages.cache_orderings [--device cpu|cuda] [--quick]
        [--only CASE ...] [--out FILE.csv]
    python -m benchmarks.pages.cache_orderings --write

A CSV file for each device is written to benchmarks/results; `--write` puts the tables and the plot of those
files into docs/guide/cache_orderings.md and docs/cache_orderings.svg. Without the folder, real matrices are
left out.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf
from benchmarks.pages import cache_orderings_page
from benchmarks.systems.real_matrices import load
from linforest_precond.backends.cpu.reordering.cache_model import missed_gathers
from linforest_precond.graph.reordering.vertex_orders import METHODS
from linforest_precond.matrices.arrays import array_modules, on_device
from linforest_precond.study import timing

SEED = 0
REPEATS = 5
ITERATIONS = 10
# Refined orderings: (name, the order to start from, metric).
REFINED = (
    ("natural, refined", "natural", "log_gap"),
    ("natural, refined (linear)", "natural", "linear_gap"),
    ("matching, refined", "matching", "log_gap"),
    ("matching, refined (linear)", "matching", "linear_gap"),
)
REAL = "NotreDame_www", "luxembourg_osm", "wing", "brack2", "xenon1", "Andrews", "hypre_tucker21935"
FIELDS = (
    *("device", "case", "rows", "entries", "ordering", "order_ms", "linear_gap", "log_gap", "misses"),
    *("spmv_ms", "bfs_ms", "cg_ms"),
)


def cases(quick):
    """{name: function that makes the matrix}."""
    side, cube, points, scale = (60, 15, 3000, 10) if quick else (1000, 80, 2**18, 18)
    synthetic = {
        "grid": partial(lf.matrices.poisson, (side, side)),
        "shuffled grid": lambda: shuffled(lf.matrices.poisson((side, side))),
        "shuffled cube": lambda: shuffled(lf.matrices.poisson((cube,) * 3)),
        "shuffled Delaunay": lambda: shuffled(lf.matrices.delaunay(points)),
        "R-MAT": partial(lf.matrices.rmat, scale),
    }
    real = (
        {}
        if quick or "LINFOREST_MATRICES" not in os.environ
        else {name: partial(load, name) for name in REAL}
    )
    return synthetic | real


def shuffled(A):
    return lf.permute(A, np.random.default_rng(SEED).permutation(A.shape[0]))


def laplacian(A):
    """D + I - adjacency of the pattern of A + A.T: symmetric positive definite, with the graph of A."""
    edges = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    edges = sp.csr_array(edges + edges.T)
    edges.setdiag(0)
    edges.eliminate_zeros()
    edges.data[:] = -1.0
    return sp.csr_array(sp.diags_array(1.0 - edges.sum(axis=1)) + edges)


def lines_of(name, A, device):
    """A line for each ordering of a matrix."""
    A = on_device(laplacian(A), device)
    hub = int(lf.graph.degrees(A).argmax())
    orders = {}
    for method in METHODS:
        orders[method], milliseconds = timed(partial(lf.graph.order, A, method), device)
        yield line(name, A, method, orders[method], milliseconds, hub, device)
    for title, start, metric in REFINED:
        refine = partial(lf.graph.refine_ordering, A, orders[start], metric, 0.01)
        order, milliseconds = timed(refine, device)
        yield line(name, A, title, order, milliseconds, hub, device)


def line(name, A, ordering, order, milliseconds, hub, device):
    B = lf.permute(A, order)
    x = array_modules(device)[0].asarray(np.random.default_rng(SEED).standard_normal(A.shape[0]))
    place = int((order == hub).argmax())
    iterate = partial(lf.solvers.cg, B, x, rtol=0.0, maxiter=ITERATIONS)
    times = {
        "spmv_ms": least_time(lambda: B @ x, device),
        "bfs_ms": least_time(lambda: lf.graph.bfs_levels(B, place), device),
        "cg_ms": least_time(iterate, device) / ITERATIONS,
    }
    found = {
        "device": device, "case": name, "rows": A.shape[0], "entries": A.nnz, "ordering": ordering,
        "order_ms": milliseconds, "linear_gap": lf.graph.linear_gap(B), "log_gap": lf.graph.log_gap(B),
        "misses": missed_gathers(on_host(B.indices)) / max(A.nnz, 1),
    }  # fmt: skip
    return found | times


def timed(call, device):
    """A result and the milliseconds of the call."""
    result = []
    milliseconds = least_time(lambda: result.append(call()), device, repeats=1, warm=False)
    return result[-1], milliseconds


def least_time(call, device, repeats=REPEATS, warm=True):
    """Milliseconds of the fastest of several calls: other processes can only slow one down."""
    if warm:
        call()
    if device == "cuda":
        return min(timing.device_samples(call, repeats))
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        samples.append(1e3 * (time.perf_counter() - start))
    return min(samples)


def on_host(array):
    return array.get() if hasattr(array, "get") else array


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, as a test")
    parser.add_argument("--only", nargs="+", metavar="CASE")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="write the documentation from the results")
    options = parser.parse_args(arguments)
    if options.write:
        cache_orderings_page.write()
        return 0
    path = options.out or cache_orderings_page.results_file(options.device)
    list(lines_of("compilation", lf.matrices.poisson((300, 300)), options.device))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name, make in cases(options.quick).items():
            if options.only and name not in options.only:
                continue
            for found in lines_of(name, make(), options.device):
                writer.writerow(rounded(found))
                file.flush()
                print("  ".join(str(value) for value in rounded(found).values()), flush=True)
    return 0


def rounded(found):
    return {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in found.items()}


if __name__ == "__main__":
    sys.exit(main())
