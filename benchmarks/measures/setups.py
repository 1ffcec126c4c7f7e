"""Setups of long rows, blocks, small systems and lines, in SpMVs of the same matrix or in milliseconds.

    python -m benchmarks.run --device cuda --only setups

Each matrix is made once. Times are from an idle device, synchronizations included.
"""

from __future__ import annotations

from functools import partial

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.study import timing

CALLS = {
    "lf.graph.factor(A, 2, iterations=1)": partial(lf.graph.factor, n=2, iterations=1),
    "lf.graph.factor(A, 4, iterations=5)": partial(lf.graph.factor, n=4, iterations=5),
    "lf.tridiagonal(A)": lf.tridiagonal,
    "lf.block_tridiagonal(A)": lf.block_tridiagonal,
    "lf.multilevel(A)": lf.multilevel,
}
SMALL = ("lf.tridiagonal(A)", "lf.block_tridiagonal(A)", "lf.multilevel(A)")
LINES = (cases.multigrid_grid, cases.solved_cube, cases.slanted_grid)


def measurements(plan, device="cuda"):
    """(title, function that yields rows) of all setups."""
    for name in targets.STANDIN_SETUPS:
        yield f"setups of {name}", partial(standin_rows, plan, name, device)
    yield "setups of a small grid", partial(small_rows, plan, device)
    for case in LINES:
        yield f"line smoothers of {case.__name__}", partial(line_rows, plan, case, device)
    yield "setup and solve of a box stencil", partial(box_rows, plan, device)


def standin_rows(plan, name, device):
    """The setups that have a target, in SpMVs of the same precision."""
    title, A = cases.standin(name, plan, device=device)
    for dtype, goals in targets.STANDIN_SETUPS[name].items():
        B = A.astype(dtype)
        unit = {"peer": "A @ x", "peer_samples": product_samples(plan, B, device)}
        for call, goal in goals.items():
            samples = samples_of(partial(CALLS[call], B), plan.setup_repeats, device)
            yield Row("stand-in setups", call, title, samples, dtype, device, **unit, **goal)


def small_rows(plan, device):
    """Setups of a small system, and an update of the first one."""
    side = plan.small_setup_grid
    A = lf.matrices.aniso(2, side, device=device)
    row = partial(Row, "setups", case=f"ANISO2 {side}²", backend=device)
    for call in SMALL:
        samples = samples_of(partial(CALLS[call], A), plan.chain_repeats, device)
        yield row(call, samples=samples, **targets.SMALL_SETUPS[call])
    M, others = lf.tridiagonal(A), [A * scale for scale in (1.25, 0.75)]
    samples = samples_of(partial(update_alternately, M, others), plan.chain_repeats, device)
    yield row("update of lf.tridiagonal(A)", samples=samples, **targets.SMALL_UPDATE)


def line_rows(plan, case, device):
    """Multigrid that smooths by solves along paths."""
    title, A = case(plan, device=device)
    call = partial(lf.multilevel, A, smoother="tridiagonal")
    samples = samples_of(call, plan.setup_repeats, device)
    name = 'lf.multilevel(A, smoother="tridiagonal")'
    yield Row("line smoothers", name, title, samples, backend=device, **targets.LINE_SMOOTHERS)


def box_rows(plan, device):
    """Multigrid with its default options on rows of 27 entries, from the matrix to the solution."""
    title, A = cases.box_cube(plan, device=device)
    b = xp_of(A.data).asarray(cases.right_sides(A.shape[0], 1, A.dtype)[:, 0])

    def solution(history=None):
        M = lf.multilevel(A).aspreconditioner()
        return lf.solvers.cg(A, b, M=M, rtol=cases.RTOL, history=history)

    history = lf.solvers.History()
    _, info = solution(history)
    if info:
        raise RuntimeError(f"{title}: not solved, info {info}")
    note = f"cg, {history.iterations[-1]:g} iterations"
    samples = samples_of(solution, plan.setup_repeats, device)
    name = "lf.multilevel(A) and solve"
    yield Row("systems", name, title, samples, backend=device, note=note, **targets.BOX_CUBE)


def samples_of(call, repeats, device):
    """Milliseconds of single calls, after calls that compile."""
    if device == "cuda":
        return timing.device_samples(call, repeats)
    return [1e3 * seconds for seconds in timing.host_samples(call, repeats)]


def product_samples(plan, A, device):
    """Milliseconds of A @ x, on the GPU with the calls queued."""
    x = xp_of(A.data).ones(A.shape[0], A.dtype)
    if device == "cuda":
        return timing.device_samples(lambda: A @ x, plan.short_repeats, queued=True)
    return samples_of(lambda: A @ x, plan.short_repeats, device)


def update_alternately(M, others):
    """Update M with the values of the other of two matrices."""
    M.update(others[0])
    others.reverse()
