"""Reverse Cuthill-McKee orderings: on the CPU compared with SciPy, on the GPU with the serial CPU version."""

from __future__ import annotations

from functools import partial

import numba
import scipy.sparse as sp
from scipy.sparse import csgraph

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.study import timing


def measurements(plan, device):
    """(title, function that yields rows) of the orderings of all matrices."""
    for name in cases.ORDERED_CASES:
        yield f"orders on the CPU, {name}", partial(cpu_rows, plan, name)
        if device == "cuda":
            yield f"orders on the GPU, {name}", partial(gpu_rows, plan, name)


def cpu_rows(plan, name):
    """Whole calls beside SciPy, and batch beside serial Cuthill-McKee."""
    title, A = cases.ORDERED_CASES[name](plan)
    theirs = partial(csgraph.reverse_cuthill_mckee, sp.csr_matrix(A))
    ours = partial(lf.graph.reverse_cuthill_mckee, A)
    start = first_vertex(A)
    calls = {
        "SciPy": theirs,
        "SciPy, symmetric_mode=True": partial(theirs, symmetric_mode=True),
        "serial": partial(ours, method="serial"),
        "serial, start given": partial(ours, symmetric_mode=True, i_start=start, method="serial"),
        "batch": partial(ours, method="batch"),
        "batch, start given": partial(ours, symmetric_mode=True, i_start=start, method="batch"),
    }
    samples = interleaved_samples(calls, plan.cpu_repeats)
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    row = partial(Row, case=title, backend="cpu", note=note)
    for work, peer in (("serial", "SciPy"), ("serial, start given", "SciPy, symmetric_mode=True")):
        beside = {"peer": peer, "peer_samples": samples[peer]}
        yield row(
            "cpu orders", f"{work}, beside {peer}", samples=samples[work], **beside, **targets.CPU_ORDERING
        )
    threads = numba.get_num_threads()
    goal = targets.CPU_BATCH if name == "shuffled cube" and threads >= cases.BATCH_THREADS else {}
    for work, peer in (("batch, start given", "serial, start given"), ("batch", "serial")):
        beside = {"peer": peer, "peer_samples": samples[peer], "judged": "speedup"}
        yield row("cpu batches", f"{work}, {threads} threads", samples=samples[work], **beside, **goal)
        goal = {}


def gpu_rows(plan, name):
    """Orderings of a checked pattern, with the start vertex given and searched for; and whole calls."""
    title, A = cases.ORDERED_CASES[name](plan)
    start = first_vertex(A)
    host = as_pattern(A)
    serial = [1e3 * s for s in timing.host_samples(lambda: order_pattern(host, start, "serial"), 3)]
    A = on_device(A, "cuda")
    pattern = as_pattern(A)
    row = partial(Row, "orders", case=title, note=f"{A.shape[0]:,} rows, {A.nnz:,} entries")
    given = {}
    for method in ("auto", "leveled", "batch"):
        call = partial(order_pattern, pattern, start, method)
        given[method] = timing.device_samples(call, plan.chain_repeats)
        goal = targets.ORDERINGS[name] if method == "auto" else {}
        beside = {"peer": "serial on the CPU", "peer_samples": serial, "judged": "median"}
        yield row(f"{method}, start given", samples=given[method], **beside, **goal)
    searched = timing.device_samples(lambda: order_pattern(pattern), plan.chain_repeats)
    beside = {"peer": "start given", "peer_samples": given["auto"]}
    yield row("auto, start searched for", samples=searched, **beside, **targets.START_SEARCH)
    whole = timing.device_samples(lambda: lf.graph.reverse_cuthill_mckee(A), plan.chain_repeats)
    yield row("lf.graph.reverse_cuthill_mckee(A)", samples=whole, **beside)
    found = timing.device_samples(lambda: lf.graph.connected_components(A), plan.chain_repeats)
    yield row("lf.graph.connected_components(A)", samples=found, **beside)


def first_vertex(A):
    """The vertex that the ordering of a connected matrix starts from."""
    return int(lf.graph.cuthill_mckee(A, method="serial")[0])


def interleaved_samples(calls, repeats):
    """Milliseconds of each call, interleaved so that drift of the machine affects all alike."""
    for call in calls.values():
        call()
    samples = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            samples[name].append(timing.host_time(call)[0])
    return samples
