"""Times of ranks of MPI: this module is the program of a rank, and starts it by mpiexec."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import linforest_precond
from linforest_precond.distributed import communicator_of
from linforest_precond.study.cases import Case, Source, named_cases
from linforest_precond.study.grid2d.graphs import fetch, graph_on, hub_on, own_case
from linforest_precond.study.grid2d.measures import ALGORITHMS, pagerank
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

RANKS = (1, 2, 4)
LEAST_VERTICES = 2**11  # smaller graphs are not timed
MOST_BLOCK_ENTRIES = 2**29  # on four ranks 2**26 vertices with 16 edges each
# Runs of an algorithm that are timed, at most, and the seconds after which no further one is started.
REPEATS, ENOUGH = 3, 10.0
LONGEST = 600  # seconds
# Repeats of the calls that measure a group's latency and bandwidth, and the numbers of a long one.
CALLS, LONG_CALL = 20, 2**20
GROUP_CALLS = ("allreduce", "allgather", "allgather_arrays", "broadcast", "exchange")


def times(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Seconds of every algorithm on ranks of MPI."""
    if A.shape[0] < LEAST_VERTICES:
        return {"ranks": [], "reason": f"fewer than {LEAST_VERTICES:,} vertices"}
    mpiexec = _mpiexec()
    if mpiexec is None or importlib.util.find_spec("mpi4py") is None:
        return {"ranks": [], "reason": "needs mpiexec and mpi4py"}
    counts = [p for p in RANKS if A.nnz <= p * MOST_BLOCK_ENTRIES]
    rows = [{"p": p, **_started(mpiexec, p, case.name, settings.device)} for p in counts]
    few = f"on fewer ranks a block has more than {MOST_BLOCK_ENTRIES:,} entries"
    return {"ranks": rows, "reason": None if counts == [*RANKS] else few}


def _mpiexec() -> str | None:
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def _started(mpiexec: str, ranks: int, name: str, device: str) -> JsonObject:
    package = str(Path(linforest_precond.__file__).resolve().parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        **dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    }
    command = [mpiexec, "-n", str(ranks), sys.executable, "-m", __spec__.name, name, device]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST)
    if done.returncode:
        said = (done.stderr or done.stdout).partition("\n-----")[0]  # before what mpiexec adds
        raise RuntimeError(f"{ranks} ranks of MPI failed: {said[-400:]}")
    found: JsonObject = json.loads(done.stdout.splitlines()[-1])
    return found


def rank_program(name: str, device: str) -> None:
    """On each rank: the shortest times of each algorithm, of the slowest rank; rank 0 prints them."""
    comm = communicator_of()
    settle = _use_gpu(comm.rank) if device == "cuda" else lambda: None
    _, A = fetch(Source(device, offline=True), named_cases([name], own_case=own_case)[0])
    graph = graph_on(comm, A, device=device)
    _free_unused(device)
    constants = _constants(comm, graph, settle)
    hub, spent, found = hub_on(graph), _timed(comm, graph.grid, settle), {}
    for key in ALGORITHMS:
        if key == "MWM" and graph.weights is None:  # of a graph drawn at random
            graph.weights = graph.xp.ones(graph.indices.size)
        samples: list[list[Any]] = []  # of the slowest rank; the first one compiles
        while len(samples) < 2 or (len(samples) <= REPEATS and sum(each[0] for each in samples) < ENOUGH):
            comm.barrier()
            comm.counters.reset()
            spent["seconds"], start = 0.0, time.perf_counter()
            ALGORITHMS[key](graph, hub)
            settle()
            own = time.perf_counter() - start, spent["seconds"], _bytes_of(comm), _calls_of(comm)
            samples.append([max(part) for part in zip(*comm.allgather(own))])
        found[key] = min(samples[1:])
    result = {"seconds": found, "grid": graph.grid.shape, **constants, **_dense_round(graph)}
    if comm.rank == 0:
        print(json.dumps(result))


def _use_gpu(rank: int) -> Callable[[], None]:
    """Make a GPU the current device, one after another; returns what waits for it."""
    import cupy

    device = cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount())
    device.use()
    return cast(Callable[[], None], device.synchronize)


def _free_unused(device: str) -> None:
    """Give back the memory of the set-up, for ranks that share the GPU."""
    if device == "cuda":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def _bytes_of(comm: Any) -> int:
    return int(comm.counters.message_bytes + comm.counters.collective_bytes)


def _calls_of(comm: Any) -> int:
    return int(comm.counters.messages + comm.counters.collectives)


def _constants(comm: Any, graph: Any, settle: Callable[[], None]) -> JsonObject:
    """Seconds of a short allreduce in the larger group, and bytes a second of a long one; slowest rank."""
    group = max(graph.grid.row, graph.grid.column, key=lambda each: int(each.size))

    def seconds(numbers: int) -> float:
        array, samples = graph.xp.zeros(numbers), []
        for _ in range(CALLS + 1):  # the first one allocates
            comm.barrier()
            start = time.perf_counter()
            group.allreduce(array)
            settle()
            samples.append(max(comm.allgather(time.perf_counter() - start)))
        return float(min(samples[1:]))

    short, long = seconds(1), seconds(LONG_CALL)
    return {"latency": short, "bandwidth": 8 * LONG_CALL / max(long - short, 1e-9)}


def _dense_round(graph: Any) -> JsonObject:
    """Bytes that the busiest rank sends in a dense round of PageRank, and those of its states.

    A column vertex takes 16 bytes, two integers, and a row vertex 8; with C = R = sqrt(p) 24 n / sqrt(p).
    """
    comm, sent = graph.grid.comm, []
    for iterations in (1, 2):
        comm.counters.reset()
        pagerank(iterations)(graph, 0)
        sent.append(_bytes_of(comm))
    rows, columns = graph.grid.shape
    return {"round": max(comm.allgather(sent[1] - sent[0])), "bound": graph.n * (16 / columns + 8 / rows)}


def _timed(comm: Any, grid: Any, settle: Callable[[], None]) -> dict[str, Any]:
    """Add up the seconds that a rank spends in calls of its groups, waiting included, after its own work."""
    spent: dict[str, Any] = {"inside": False, "seconds": 0.0}

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if spent["inside"]:
                return function(*arguments)
            settle()
            spent["inside"], start = True, time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent["inside"] = False
                spent["seconds"] += time.perf_counter() - start

        return call

    for group in (comm, grid.row, grid.column):
        for name in GROUP_CALLS:
            setattr(group, name, wrap(getattr(group, name)))
    return spent


if __name__ == "__main__":
    rank_program(*sys.argv[1:])
