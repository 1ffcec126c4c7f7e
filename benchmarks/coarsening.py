"""Matchings and multilevel hierarchies on the GPU: beside SpMVs, the CPU's greedy matching, and PyAMG."""

from __future__ import annotations

from functools import partial

import cases
import krylov
import operators
import scipy.sparse as sp
from results import Row
from scipy.sparse.linalg import cg

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study import timing

PYAMG = "PyAMG's smoothed aggregation on the CPU"


def measurements(plan):
    """(title, function that yields rows) of all matrices."""
    for case in cases.MATCHED_CASES:
        yield f"matchings of {case.__name__}", partial(matching_rows, plan, case)
    yield "hierarchies", partial(hierarchy_rows, plan)
    yield "hierarchies along lines", partial(line_rows, plan)


def matching_rows(plan, case):
    """Matchings of a graph on the device in SpMVs, and whole calls beside greedy ones on the CPU."""
    lf.graph.matching(lf.matrices.poisson((10, 10)), method="greedy")  # compiles
    title, A = case(plan)
    greedy, found = timing.host_time(lambda: lf.graph.matching(A, method="greedy"))
    A = on_device(A, "cuda")
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries, {found.size:,} pairs"
    row = partial(Row, "matchings", case=title, note=note)
    graph, unit = as_graph(A), operators.unit(plan, A)
    for method, goal in cases.MATCHINGS.items():
        match = partial(getattr(backend_of(A).matching, method).match, graph, tie_key_of(0))
        samples = timing.device_samples(match, plan.chain_repeats)
        yield row(f"{method}, of a graph on the device", samples=samples, **unit, **goal)
    del graph
    beside = {"peer": "greedy on the CPU", "peer_samples": [greedy], "judged": "speedup"}
    for method in cases.MATCHINGS:
        call = partial(lf.graph.matching, A, method=method)
        samples = timing.device_samples(call, plan.chain_repeats)
        name = f'lf.graph.matching(A, method="{method}")'
        yield row(name, samples=samples, **beside, **cases.BESIDE_GREEDY)


def hierarchy_rows(plan):
    """Setup, and setup and solve, beside PyAMG's smoothed aggregation and other solvers on the GPU."""
    title, A = cases.multigrid_grid(plan)
    theirs_setup, theirs_solve, theirs_outcome = pyamg_times(A)
    A = on_device(A, "cuda")
    row = partial(Row, "hierarchies", case=title)
    ours, outcome = solution_samples(multigrid, lf.solvers.fcg, A)
    setup = timing.device_samples(lambda: lf.multilevel(A), plan.solver_repeats)
    peer = {"peer": PYAMG, "judged": "speedup"}
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    goals = cases.SETUP_BESIDE_PYAMG
    yield row("lf.multilevel(A)", samples=setup, peer_samples=[theirs_setup], note=note, **peer, **goals)
    name, goals = "lf.multilevel(A) and fcg", cases.SOLVED_BESIDE_PYAMG
    note = f"{outcome}; theirs {theirs_outcome}"
    whole = [theirs_setup + theirs_solve]
    yield row(name, samples=ours, peer_samples=whole, note=note, **peer, **goals)
    for kind in ("Jacobi", "AlgTriScal"):
        samples, outcome = solution_samples(krylov.KINDS[kind], lf.solvers.cg, A)
        beside = {"peer": f"cg with {kind}", "peer_samples": samples, "judged": "speedup"}
        note = f"theirs {outcome}"
        yield row(f"{name}, beside cg with {kind}", samples=ours, note=note, **beside, **cases.AHEAD)


def line_rows(plan):
    """Paths and lines beside the default hierarchy and a preconditioner, where couplings slant."""
    title, A = cases.slanted_grid(plan, device="cuda")
    name = 'lf.multilevel(A, smoother="tridiagonal")'
    row = partial(Row, "hierarchies", case=title)
    make = partial(multigrid, smoother="tridiagonal")
    setup = timing.device_samples(partial(make, A), plan.solver_repeats)
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    yield row(name, samples=setup, note=note, **operators.unit(plan, A))
    ours, outcome = solution_samples(make, lf.solvers.fcg, A)
    peers = {
        "fcg with lf.multilevel(A)": (multigrid, lf.solvers.fcg),
        "cg with AlgTriScal": (krylov.KINDS["AlgTriScal"], lf.solvers.cg),
    }
    for peer, (theirs, solver) in peers.items():
        samples, their_outcome = solution_samples(theirs, solver, A)
        beside = {"peer": peer, "peer_samples": samples, "judged": "speedup"}
        note = f"{outcome}; theirs {their_outcome}"
        yield row(f"{name} and fcg, beside {peer}", samples=ours, note=note, **beside, **cases.AHEAD)


def multigrid(A, **options):
    return lf.multilevel(A, **options).aspreconditioner()


def solution_samples(make, solver, A):
    """Milliseconds of setup and solve, and in words what came out."""
    setup, M = krylov.setup_time(make, A)
    solves, outcome = krylov.Solution(solver, A, M).samples_and_outcome()
    return [setup + solve for solve in solves], f"setup {setup:.1f} ms, {outcome}"


def pyamg_times(A):
    """Milliseconds of PyAMG's setup and of CG with its V-cycle, and in words what came out."""
    import pyamg

    A = sp.csr_matrix(A)
    setup, hierarchy = timing.host_time(lambda: pyamg.smoothed_aggregation_solver(A))
    b, iterates = A @ cases.smooth_solution(A.shape[0]), []
    M, count = hierarchy.aspreconditioner(), lambda _: iterates.append(None)
    solve, (_, info) = timing.host_time(lambda: cg(A, b, rtol=cases.RTOL, maxiter=200, M=M, callback=count))
    if info:
        raise RuntimeError(f"PyAMG's hierarchy did not get there in {info} iterations")
    return setup, solve, f"setup {setup:.0f} ms, {len(iterates)} iterations"
