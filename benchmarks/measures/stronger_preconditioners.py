"""Incomplete factors, approximate inverses and matched rows on the GPU, compared with cupyx and SciPy."""

from __future__ import annotations

import time
from functools import partial

import cupy
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import linforest_precond as lf
from benchmarks.measures import krylov, preconditioners, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study import timing

ORDERS = ("auto", "natural", "colors")
ENTRIES = (10, 20)
# Applications of cupyx's factors that are timed: one takes tens of milliseconds.
PEER_REPEATS = 10
# Relative difference of two applications of the same factors.
LARGEST_DIFFERENCE = 1e-8


def measurements(plan):
    """(title, function that yields rows) of all of them."""
    yield "incomplete factors", partial(factor_rows, plan)
    for case in (cases.solved_cube, cases.beam):
        yield f"approximate inverses of {case.__name__}", partial(inverse_rows, plan, case)
    yield "matched rows", partial(matched_rows, plan)


def factor_rows(plan):
    """Applications in each order, beside cupyx's in the natural one."""
    title, A = cases.solved_cube(plan, device="cuda")
    r = cupy.asarray(cases.right_sides(A.shape[0], 1, A.dtype)[:, 0])
    peer = krylov.ilu0(A)
    check_equal(lf.ilu(A, ordering="natural") @ r, peer @ r)
    peer_samples = timing.device_samples(lambda: peer @ r, PEER_REPEATS, queued=True)
    for order in ORDERS:
        M = lf.ilu(A, ordering=order)
        yield Row(
            "factors",
            f'lf.ilu(A, ordering="{order}") @ r',
            title,
            preconditioners.apply_samples(plan, M, A),
            peer="cupyx spilu",
            peer_samples=peer_samples,
            judged="speedup",
            note=f"{M.nbytes:,} bytes",
            **targets.FACTORS.get(order, {}),
        )


def check_equal(x, y):
    difference = float(cupy.linalg.norm(x - y) / cupy.linalg.norm(y))
    if not difference <= LARGEST_DIFFERENCE:
        raise RuntimeError(f"ILU(0) in the natural order differs from cupyx's by {difference:.1e}")


def inverse_rows(plan, case):
    title, A = case(plan, device="cuda")
    beside = partial(Row, "inverses", case=title, **preconditioners.unit(plan, A))
    for entries in ENTRIES:
        make = partial(lf.approximate_inverse, A, entries)
        name = f"lf.approximate_inverse(A, {entries})"
        samples = timing.device_samples(make, plan.scaled_repeats)
        yield beside(name, samples=samples, **targets.INVERSE_SETUP.get(entries, {}))
        M = make()
        yield beside(f"{name} @ r, calls queued", samples=preconditioners.apply_samples(plan, M, A))


def matched_rows(plan):
    """Whole calls, beside SciPy's matching of a smaller matrix."""
    for (title, make), fewer in zip(cases.MATCHED_ROWS.items(), plan.scipy_rows, strict=True):
        seconds, rows = scipy_matching(make(fewer))
        A = on_device(make(plan.matched_rows), "cuda")
        samples = timing.device_samples(partial(lf.scaling, A, "matching"), plan.scaled_repeats)
        yield Row(
            "matched rows",
            'lf.scaling(A, "matching")',
            f"{title}, {A.shape[0]:,} rows",
            samples,
            peer="SciPy",
            peer_samples=[1e3 * seconds * A.shape[0] / rows],
            judged="speedup",
            note=f"SciPy: {seconds:.1f} s for {rows:,} rows",
            **targets.MATCHED_ROWS,
        )


def scipy_matching(A):
    """Seconds of SciPy's matching with the same objective, and the rows of the matrix."""
    costs = -np.log(abs(A.data))
    graph = sp.csr_array((costs - costs.min() + 1.0, A.indices, A.indptr), shape=A.shape)
    start = time.perf_counter()
    min_weight_full_bipartite_matching(graph)
    return time.perf_counter() - start, A.shape[0]
