"""Graphs on R x C ranks: messages and bytes of simulated ranks, and times of ranks of MPI.

    python -m benchmarks.pages.grid2d [--write] [--quick] [--data FILE]

`--write` puts the tables and figures into docs/distributed_2d.md. `--data` names a JSON file with the
measurements: it is read if it exists, else written. `--quick` takes small graphs, to try the program.

Ranks are threads of this process (`simulate`) where messages are counted, and processes of `mpiexec` where
times are taken: the program starts itself there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf
from benchmarks.systems.real_matrices import load
from linforest_precond.distributed import Matrix, communicator_of, simulate
from linforest_precond.distributed.grid2d import Graph2D, Grid
from linforest_precond.distributed.grid2d.breadth_first import BreadthFirstSearch
from linforest_precond.distributed.grid2d.components import propagate_minima
from linforest_precond.distributed.grid2d.label_propagation import propagate_labels
from linforest_precond.distributed.grid2d.matching import match
from linforest_precond.distributed.grid2d.pagerank import power_iteration
from linforest_precond.distributed.grid2d.pointer_jumping import jump, lowest_neighbours
from linforest_precond.distributed.grid2d.vertex_map import VertexMap
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.study.machine import machine, versions

ROOT = Path(__file__).resolve().parents[2]
ITERATIONS = 20
SQUARES = [1, 4, 9, 16, 25, 36, 49, 64]
SIDES = [1, 4, 16, 64]
MPI_RANKS = [1, 2, 4]
REPEATS = 3
# The variants of figure 6.6: direction, exchange, queue.
VARIANTS = {
    "pull, dense, no queue (Base)": ("pull", "dense", False),
    "sparse (+SP)": ("pull", "sparse", False),
    "switch (+SP+SW)": ("pull", "auto", False),
    "queue (+SP+SW+VQ)": ("pull", "auto", True),
    "push (+All+Push)": ("push", "auto", True),
}


def ranks_of_pages(graph, _):
    uniform = np.full(graph.n_states, 1 / max(graph.n, 1))
    power_iteration(graph, 0.85, uniform, uniform, uniform, ITERATIONS, 0.0)


# Each takes a graph and its vertex of the highest degree. As in the chapter: 20 iterations of PageRank and of
# label propagation, the others to the end.
ALGORITHMS = {
    "BFS": lambda graph, hub: BreadthFirstSearch(graph, hub).run("auto"),
    "PR": ranks_of_pages,
    "CC": lambda graph, _: propagate_minima(graph, "push", "auto", True),
    "LP": lambda graph, _: propagate_labels(graph, ITERATIONS, 0),
    "MWM": lambda graph, _: match(graph, tie_key_of(0)),
    "PJ": lambda graph, _: jump(graph, lowest_neighbours(graph)),
}


def random_edges(scale, seed=0):
    """An Erdős-Rényi graph with as many vertices and drawn edges as R-MAT of that scale."""
    n, rng = 2**scale, np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, 16 * n))
    upper = sp.coo_array((rng.random(16 * n) + 0.5, tuple(ends)), shape=(n, n)).tocsr()
    return sp.csr_array(upper + upper.T)


def graph_on(comm, A, shape=None):
    """The graph of a matrix that all ranks have: each takes every p-th edge."""
    entries = A.tocoo()
    mine = slice(comm.rank, None, comm.size)
    rows, columns = (index[mine] for index in entries.coords)
    return Graph2D(Grid(comm, shape), A.shape[0], rows, columns, entries.data[mine])


def hub_of(A):
    return int(np.diff(A.indptr).argmax())


def counted(p, A, function, shape=None):
    """What `function(graph, hub)` sends: bytes of the busiest rank, calls and messages of all ranks."""
    hub = hub_of(A)

    def work(comm):
        graph = graph_on(comm, A, shape)
        comm.counters.reset()
        result = function(graph, hub)
        found = comm.counters
        sent = found.message_bytes + found.collective_bytes
        return sent, found.collectives, found.messages, graph.block_edges, result

    sent, calls, messages, edges, results = zip(*simulate(p, work))
    return {
        "p": p,
        "bytes": max(sent),
        "calls": sum(calls),
        "messages": sum(messages),
        "edges": max(edges),
        "balance": max(edges) * p / max(sum(edges), 1),
        "result": results[0],
    }


def without_result(found):
    return {name: value for name, value in found.items() if name != "result"}


def one_round(A, p):
    """A dense round of PageRank on a grid, and an exchange of ghosts of rows: what both send."""

    def iterations(count):
        def run(graph, _):
            uniform = np.full(graph.n_states, 1 / graph.n)
            power_iteration(graph, 0.85, uniform, uniform, uniform, count, 0.0)

        return without_result(counted(p, A, run))

    def ghosts(comm):
        first, end = equal_shares(A.shape[0], p)[comm.rank :][:2]
        halo = Matrix(A[first:end], comm).halo
        comm.counters.reset()
        halo.fetch(np.zeros(end - first))
        return comm.counters.messages, comm.counters.message_bytes

    once, twice = iterations(1), iterations(2)
    messages, sent = zip(*simulate(p, ghosts))
    return {
        "p": p,
        "calls": twice["calls"] - once["calls"],
        "bytes": twice["bytes"] - once["bytes"],
        "row_messages": sum(messages),
        "row_bytes": max(sent),
    }


def of_variants(A, p):
    found = []
    for name, way in VARIANTS.items():
        seen = counted(p, A, lambda graph, _, way=way: propagate_minima(graph, *way)[1])
        rounds = seen.pop("result")
        edges, dense = sum(done.edges for done in rounds), sum(done.dense for done in rounds)
        found.append({"name": name, "rounds": len(rounds), "dense": dense, **seen, "edges": edges})
    return found


def of_shapes(A, p):
    shapes = [(r, p // r) for r in range(1, p + 1) if p % r == 0]
    push = ALGORITHMS["CC"]
    return [{"shape": shape, **without_result(counted(p, A, push, shape))} for shape in shapes]


def balance(A, side):
    """The most edges of a block in units of the mean, by the distribution of the vertices."""
    n, entries = A.shape[0], A.tocoo()
    shuffled = np.random.default_rng(0).permutation(n)
    maps = {
        "striped": (VertexMap.striped(n, (side, side)), np.arange(n)),
        "blocks": (VertexMap.in_blocks(n, (side, side)), np.arange(n)),
        "random": (VertexMap.in_blocks(n, (side, side)), shuffled),
    }
    found = {}
    for name, (where, order) in maps.items():
        owners = where.block_owner(*(where.positions(order[index]) for index in entries.coords))
        found[name] = float(np.bincount(owners, minlength=side * side).max() * side**2 / A.nnz)
    return found


def timed(comm, grid):
    """Add up the seconds that a rank spends in calls of its groups, waiting included."""
    spent = {"inside": False, "seconds": 0.0}

    def wrap(function):
        def call(*arguments):
            if spent["inside"]:
                return function(*arguments)
            spent["inside"], start = True, time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent["inside"] = False
                spent["seconds"] += time.perf_counter() - start

        return call

    for ranks in (comm, grid.row, grid.column):
        for name in ("allreduce", "allgather", "allgather_arrays", "broadcast", "exchange"):
            setattr(ranks, name, wrap(getattr(ranks, name)))
    return spent


def rank_program(scale):
    """On a rank of MPI: the shortest times of each algorithm, of the slowest rank; rank 0 prints them."""
    comm = communicator_of()
    A = lf.matrices.rmat(scale)
    graph, hub = graph_on(comm, A), hub_of(A)
    spent, found = timed(comm, graph.grid), {}
    for name, run in ALGORITHMS.items():
        samples = []
        for _ in range(REPEATS + 1):  # the first one compiles
            comm.barrier()
            spent["seconds"], start = 0.0, time.perf_counter()
            run(graph, hub)
            own = time.perf_counter() - start, spent["seconds"]
            samples.append([max(part) for part in zip(*comm.allgather(own))])
        found[name] = min(samples[1:])
    if comm.rank == 0:
        print(json.dumps(found))


def mpi_times(ranks, scale):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        **dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    }
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    command = [mpiexec, "-n", str(ranks), sys.executable, __file__, "--rank-program", str(scale)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return {"p": ranks, "scale": scale, "seconds": json.loads(done.stdout.splitlines()[-1])}


def real_graph():
    """The largest web graph of the collection, if the folder of matrices is named."""
    return load("NotreDame_www")


def measured(quick):
    scale, small, time_scale = (9, 7, 10) if quick else (13, 10, 16)
    sides, squares = (SIDES[:3], SQUARES[:4]) if quick else (SIDES, SQUARES)
    A, mesh = lf.matrices.rmat(scale), lf.matrices.poisson((2 ** (scale // 2), 2 ** (scale - scale // 2)))
    weak = {
        "RMAT": [lf.matrices.rmat(small + place * 2) for place in range(len(sides))],
        "RAND": [random_edges(small + place * 2) for place in range(len(sides))],
    }
    several = max(sides)
    data = {
        "machine": {**machine("cpu"), **versions("cpu")},
        "quick": quick,
        "scale": scale,
        "edges": int(A.nnz),
        "weak_scale": small,
        "rounds": [one_round(A, p) for p in squares],
        "strong": {
            name: [without_result(counted(p, A, run)) for p in sides] for name, run in ALGORITHMS.items()
        },
        "weak": {
            kind: {
                name: [without_result(counted(p, B, ALGORITHMS[name])) for p, B in zip(sides, graphs)]
                for name in ("BFS", "PR", "CC")
            }
            for kind, graphs in weak.items()
        },
        "variants": {"R-MAT": of_variants(A, sides[2]), "2-D mesh": of_variants(mesh, sides[2])},
        "shapes": of_shapes(A, several),
        "balance": {"R-MAT": balance(A, 8), "2-D mesh": balance(mesh, 8)},
        "strong_times": [mpi_times(p, time_scale) for p in MPI_RANKS],
        "weak_times": [mpi_times(p, time_scale - 2 + place) for place, p in enumerate(MPI_RANKS)],
    }
    if os.environ.get("LINFOREST_MATRICES"):
        data["balance"]["NotreDame_www"] = balance(real_graph(), 8)
    return data


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rank-program", type=int, metavar="SCALE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rank_program is not None:
        return rank_program(options.rank_program)
    if options.data and options.data.exists():
        data = json.loads(options.data.read_text(encoding="utf-8"))
    else:
        data = measured(options.quick)
    if options.data:
        options.data.write_text(json.dumps(data, indent=1), encoding="utf-8")
    from benchmarks.pages.grid2d_page import page, write

    print(page(data))
    if options.write:
        write(data)


if __name__ == "__main__":
    main()
