"""From a matrix to its bands along a linear forest on the GPU: time in SpMVs, and peak memory."""

from __future__ import annotations

from functools import partial

import cupy

from benchmarks.measures import memory, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.graph.forest.pipeline import tridiagonal_bands
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.checked import checked
from linforest_precond.study import timing
from linforest_precond.study.forests.recording import breakdown_samples, proposition_samples

DTYPES = ("float64", "float32")
SPMV = "cupyx A @ x"


def measurements(plan):
    """(title, function that yields rows) of the measurements in this module."""
    yield "device-to-device copy", partial(copy_rows, plan)
    for key, case in cases.SPEED_CASES.items():
        for dtype in DTYPES:
            yield f"{key} {dtype}", partial(matrix_rows, plan, key, case, dtype)
    for case in cases.NONSYMMETRIC_CASES:
        yield f"memory of {case.__name__}", partial(nonsymmetric_rows, plan, case)
    yield "one long row", partial(skew_rows, plan)


def copy_rows(plan):
    title = f"{plan.copied_bytes / 2**20:g} MiB"
    samples = timing.copy_bandwidths(plan.copied_bytes, plan.short_repeats)
    yield Row("copy", "device-to-device copy", title, samples, "uint8", unit="GB/s")


def matrix_rows(plan, key, case, dtype):
    """One matrix: SpMV, gate, propositions, the whole chain, its parts and its memory."""
    title, A = case(plan, dtype=dtype, device="cuda")
    x = cupy.ones(A.shape[0], A.dtype)
    spmv = timing.device_samples(lambda: A @ x, plan.short_repeats, queued=True)
    spmv_alone = timing.device_samples(lambda: A @ x, plan.short_repeats)
    row = partial(Row, case=title, dtype=dtype)
    beside = partial(row, peer=SPMV, peer_samples=spmv)
    bandwidth = timing.copy_bandwidths(plan.copied_bytes, plan.short_repeats)
    reads = [memory.matrix_bytes(A) / (speed * 1e6) for speed in bandwidth]

    yield row("speed", f"SpMV ({SPMV}), calls queued: the unit", samples=spmv)
    yield beside("speed", "SpMV, each from an idle device", samples=spmv_alone)
    yield beside("speed", "floor: the matrix's bytes at copy speed", samples=reads)
    gate = timing.device_samples(lambda: checked(A, shared=True), plan.short_repeats)
    yield beside("speed", "gate", samples=gate, **targets.GATE)
    graph = checked(A).graph
    for n, goals in targets.PROPOSITIONS.items():
        samples = proposition_samples(graph, n, plan.short_repeats)
        yield beside("speed", f"full proposition, n = {n}", samples=samples, **goals)
    del graph
    goals = targets.CHAINS.get((key, dtype), {})
    for name, options in (("default", {}), ("5 iterations", {"iterations": 5})):
        samples, note = chain_samples(A, plan.chain_repeats, **options)
        yield beside("speed", f"whole chain, {name}", samples=samples, note=note, **goals)
    for part, samples in breakdown_samples(A, plan.chain_repeats).items():
        yield beside("breakdown", part, samples=samples)
    goals = targets.SYMMETRIC_MEMORY if key == "aniso2" else {}
    yield memory_row(title, A, **goals)


def chain_samples(A, repeats, **options):
    """Milliseconds of the whole chain, and a note about the forest."""
    samples = timing.device_samples(lambda: tridiagonal_bands(A, **options), repeats)
    forest, _ = tridiagonal_bands(A, **options)
    note = (
        f"{forest.iterations} iterations, {forest.n_paths} paths, longest {forest.longest_path}, "
        f"{forest.n_cycles_broken} cycles broken, coverage {forest.coverage:.4f}"
    )
    return samples, note


def memory_row(title, A, **goals):
    """The chain's peak memory beyond the matrix, in units of the matrix."""
    call = partial(tridiagonal_bands, A)
    call()  # compiles
    return Row(
        "memory",
        "whole chain",
        title,
        [memory.peak_bytes(call)],
        str(A.dtype),
        unit="bytes",
        peer="the matrix",
        peer_samples=[memory.matrix_bytes(A)],
        **goals,
    )


def nonsymmetric_rows(plan, case):
    for dtype in DTYPES:
        title, A = case(plan, dtype=dtype, device="cuda")
        yield memory_row(title, A, **targets.NONSYMMETRIC_MEMORY)


def skew_rows(plan):
    """The chain on a matrix with one very long row, beside a regular one with about as many entries."""
    peer_title, regular = cases.regular(plan, device="cuda")
    peer_samples, _ = chain_samples(regular, plan.chain_repeats)
    title, hub = cases.hub(plan)
    samples, note = chain_samples(on_device(hub, "cuda"), plan.chain_repeats)
    yield Row(
        "skew",
        f"whole chain, {hub.nnz:,} entries, beside {peer_title}, {regular.nnz:,} entries",
        title,
        samples,
        peer=peer_title,
        peer_samples=peer_samples,
        note=note,
        **targets.SKEW,
    )
