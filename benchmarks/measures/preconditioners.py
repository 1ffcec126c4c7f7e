"""The preconditioners on the GPU: application, setup and update in SpMVs, and memory."""

from __future__ import annotations

from functools import partial

import cupy

import linforest_precond as lf
from benchmarks.measures import memory, setups, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.study import timing

DTYPES = ("float64", "float32")
SPMV = "cupyx A @ x"
KINDS = {"tridiagonal": lf.tridiagonal, "block_tridiagonal": lf.block_tridiagonal}


def measurements(plan):
    """(title, function that yields rows) of all preconditioners."""
    for dtype in DTYPES:
        for kind in KINDS:
            yield f"lf.{kind}, {dtype}", partial(operator_rows, plan, kind, dtype)
    yield "lf.tridiagonal, float32 inside float64", partial(mixed_rows, plan)
    yield "lf.tridiagonal @ R, several columns", partial(column_rows, plan)
    yield "lf.tridiagonal with 64-bit indices", partial(wide_rows, plan)


def operator_rows(plan, kind, dtype):
    """One kind of preconditioner on ANISO2."""
    title, A = cases.aniso2(plan, dtype=dtype, device="cuda")
    beside = partial(Row, "operators", case=title, dtype=dtype, **unit(plan, A))
    make = KINDS[kind]
    M = make(A)
    goals = targets.APPLY.get(dtype, {}) if kind == "tridiagonal" else {}
    note = f"coverage {M.coverage:.4f}, {M.nbytes:,} bytes"
    yield beside(f"lf.{kind}(A) @ r, calls queued", samples=apply_samples(plan, M, A), note=note, **goals)
    yield beside(f"lf.{kind}(A) @ r, each from an idle device", samples=apply_samples(plan, M, A, False))
    samples = timing.device_samples(lambda: make(A), plan.chain_repeats)
    yield beside(f"lf.{kind}(A)", samples=samples, **targets.SETUP.get((kind, dtype), {}))
    others = [A * scale for scale in (1.25, 0.75)]
    samples = timing.device_samples(lambda: setups.update_alternately(M, others), plan.chain_repeats)
    yield beside(f"update of lf.{kind}(A)", samples=samples, **targets.UPDATE.get((kind, dtype), {}))
    yield Row(
        "held",
        f"lf.{kind}(A)",
        title,
        [M.nbytes],
        dtype,
        unit="bytes",
        peer="the matrix",
        peer_samples=[memory.matrix_bytes(A)],
    )


def mixed_rows(plan):
    """A float32 preconditioner for float64 vectors."""
    title, A = cases.aniso2(plan, dtype="float64", device="cuda")
    M = lf.tridiagonal(A, dtype="float32")
    yield Row(
        "operators",
        "lf.tridiagonal(A, dtype=float32) @ r, calls queued",
        title,
        apply_samples(plan, M, A),
        **unit(plan, A),
    )


def column_rows(plan):
    """M @ R, with the columns of a row side by side in memory, beside M @ r."""
    title, A = cases.aniso2(plan, dtype="float64", device="cuda")
    M = lf.tridiagonal(A)
    R = cupy.asarray(cases.right_sides(A.shape[0], cases.COLUMNS, A.dtype))
    samples = timing.device_samples(lambda: M @ R, plan.short_repeats, queued=True)
    yield Row(
        "columns",
        f"lf.tridiagonal(A) @ R, {cases.COLUMNS} columns",
        title,
        samples,
        peer="one right-hand side",
        peer_samples=apply_samples(plan, M, A),
        **targets.MANY_COLUMNS,
    )


def wide_rows(plan):
    """Setup with more entries than 32 bits can number."""
    side = plan.wide_grid
    A = lf.matrices.aniso(2, side, device="cuda", index_dtype="int64")
    samples = timing.device_samples(lambda: lf.tridiagonal(A), plan.scaled_repeats)
    note = f"{A.nnz:,} entries"
    yield Row("setups", "lf.tridiagonal(A)", f"ANISO2 {side}²", samples, note=note, **targets.WIDE_SETUP)


def unit(plan, A):
    """The unit of all times: SpMVs of A, calls queued."""
    x = cupy.ones(A.shape[0], A.dtype)
    samples = timing.device_samples(lambda: A @ x, plan.short_repeats, queued=True)
    return {"peer": SPMV, "peer_samples": samples}


def apply_samples(plan, M, A, queued=True):
    r = cupy.asarray(cases.right_sides(A.shape[0], 1, A.dtype)[:, 0])
    return timing.device_samples(lambda: M @ r, plan.short_repeats, queued=queued)
