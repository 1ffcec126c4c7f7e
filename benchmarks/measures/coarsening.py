"""Matchings and multigrid hierarchies on the GPU, compared with greedy matching and PyAMG on the CPU."""

from __future__ import annotations

from functools import partial

import scipy.sparse as sp
from scipy.sparse.linalg import cg

import linforest_precond as lf
from benchmarks.measures import krylov, preconditioners, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.backends import backend_of
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.checked import checked
from linforest_precond.study import timing

PYAMG = "PyAMG's smoothed aggregation on the CPU"


def measurements(plan):
    """(title, function that yields rows) of all matchings and hierarchies."""
    for case in cases.MATCHED_CASES:
        yield f"matchings of {case.__name__}", partial(matching_rows, plan, case)
    yield "hierarchies", partial(hierarchy_rows, plan)
    yield "hierarchies along lines", partial(line_rows, plan)


def matching_rows(plan, case):
    """Matchings of a checked graph in SpMVs, and whole calls beside greedy matching on the CPU."""
    lf.graph.matching(lf.matrices.poisson((10, 10)), method="greedy")  # compiles
    title, A = case(plan)
    greedy, found = timing.host_time(lambda: lf.graph.matching(A, method="greedy"))
    A = on_device(A, "cuda")
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries, {found.size:,} pairs"
    row = partial(Row, "matchings", case=title, note=note)
    graph, unit = checked(A).graph, preconditioners.unit(plan, A)
    for method, goal in targets.MATCHINGS.items():
        match = partial(getattr(backend_of(A).matching, method).match, graph, tie_key_of(0))
        samples = timing.device_samples(match, plan.chain_repeats)
        yield row(f"{method}, of a graph on the device", samples=samples, **unit, **goal)
    del graph
    beside = {"peer": "greedy on the CPU", "peer_samples": [greedy], "judged": "speedup"}
    for method in targets.MATCHINGS:
        call = partial(lf.graph.matching, A, method=method)
        samples = timing.device_samples(call, plan.chain_repeats)
        name = f'lf.graph.matching(A, method="{method}")'
        yield row(name, samples=samples, **beside, **targets.BESIDE_GREEDY)


def hierarchy_rows(plan):
    """Setup, and setup and solve, beside PyAMG's smoothed aggregation and other solvers on the GPU."""
    title, A = cases.multigrid_grid(plan)
    peer_setup, peer_solve, peer_outcome = pyamg_times(A)
    A = on_device(A, "cuda")
    row = partial(Row, "hierarchies", case=title)
    ours, outcome = solution_samples(multigrid, lf.solvers.fcg, A)
    setup = timing.device_samples(lambda: lf.multilevel(A), plan.solver_repeats)
    peer = {"peer": PYAMG, "judged": "speedup"}
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    goals = targets.SETUP_BESIDE_PYAMG
    yield row("lf.multilevel(A)", samples=setup, peer_samples=[peer_setup], note=note, **peer, **goals)
    name, goals = "lf.multilevel(A) and fcg", targets.SOLVED_BESIDE_PYAMG
    note = f"{outcome}; peer: {peer_outcome}"
    whole = [peer_setup + peer_solve]
    yield row(name, samples=ours, peer_samples=whole, note=note, **peer, **goals)
    for kind in ("Jacobi", "AlgTriScal"):
        samples, outcome = solution_samples(krylov.KINDS[kind], lf.solvers.cg, A)
        beside = {"peer": f"cg with {kind}", "peer_samples": samples, "judged": "speedup"}
        note = f"peer: {outcome}"
        goals = targets.BESIDE_OTHER_SOLVERS
        yield row(f"{name}, beside cg with {kind}", samples=ours, note=note, **beside, **goals)


def line_rows(plan):
    """Tridiagonal smoothing, beside the default hierarchy and AlgTriScal, on a rotated anisotropy."""
    title, A = cases.slanted_grid(plan, device="cuda")
    name = 'lf.multilevel(A, smoother="tridiagonal")'
    row = partial(Row, "hierarchies", case=title)
    make = partial(multigrid, smoother="tridiagonal")
    setup = timing.device_samples(partial(make, A), plan.solver_repeats)
    note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
    yield row(name, samples=setup, note=note, **preconditioners.unit(plan, A))
    ours, outcome = solution_samples(make, lf.solvers.fcg, A)
    peers = {
        "fcg with lf.multilevel(A)": (multigrid, lf.solvers.fcg),
        "cg with AlgTriScal": (krylov.KINDS["AlgTriScal"], lf.solvers.cg),
    }
    for peer, (make_peer, solver) in peers.items():
        samples, peer_outcome = solution_samples(make_peer, solver, A)
        beside = {"peer": peer, "peer_samples": samples, "judged": "speedup"}
        note = f"{outcome}; peer: {peer_outcome}"
        goals = targets.BESIDE_OTHER_SOLVERS
        yield row(f"{name} and fcg, beside {peer}", samples=ours, note=note, **beside, **goals)


def multigrid(A, **options):
    return lf.multilevel(A, **options).aspreconditioner()


def solution_samples(make, solver, A):
    """Milliseconds of setup and solve, and the outcome in words."""
    setup, M = krylov.setup_time(make, A)
    solves, outcome = krylov.Solution(solver, A, M).samples_and_outcome()
    return [setup + solve for solve in solves], f"setup {setup:.1f} ms, {outcome}"


def pyamg_times(A):
    """Milliseconds of PyAMG's setup and of CG with its V-cycle, and the outcome in words."""
    import pyamg

    A = sp.csr_matrix(A)
    setup, hierarchy = timing.host_time(lambda: pyamg.smoothed_aggregation_solver(A))
    b, iterates = A @ cases.smooth_solution(A.shape[0]), []
    options = {"M": hierarchy.aspreconditioner(), "callback": iterates.append}
    solve, (_, info) = timing.host_time(lambda: cg(A, b, rtol=cases.RTOL, maxiter=200, **options))
    if info:
        raise RuntimeError(f"CG with PyAMG's hierarchy did not converge in {info} iterations")
    return setup, solve, f"setup {setup:.0f} ms, {len(iterates)} iterations"
