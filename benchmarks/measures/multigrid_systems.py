"""Multigrid on the GPU: ten systems from the matrix to the solution, and cubes of growing size.

    python -m benchmarks.run --only multigrid_systems

Times of `lf.multilevel(A)` with its default options and of cg, or bicgstab where A is not symmetric, with
random right-hand sides. The breakdown of a setup groups its launches by the files of their kernels.
"""

from __future__ import annotations

import math
import statistics
from functools import partial

import cupy

import linforest_precond as lf
from benchmarks.measures import krylov, preconditioners, setups, targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.study import timing
from linforest_precond.study.forests import recording

MULTILEVEL = "lf.multilevel(A)"
# The parts of a setup, by the names of the files that define its kernels: the first match counts. Kernels of
# other files are input checks, transposes and conversions; the rest is CuPy's kernels, memory and latency.
PARTS = {
    "aggregates and prolongator": ("strength", "aggregat", "independent_set", "matching/", "interpolation"),
    "transpose of the prolongator": ("transposition",),
    "Galerkin product": ("galerkin", "product", "row_merging"),
    "smoother": ("vector_ops", "tridiagonal/"),
    "coarsest": ("dense_",),
    "other kernels": ("",),
}
# Launches of a cycle on every level but the coarsest, half of them before that one's.
LAUNCHES_OF_LEVEL = 4


class System:
    """A matrix on the device, a random right-hand side and the solver for it."""

    def __init__(self, title, A, solver):
        self.title, self.A, self.solver = title, A, solver
        self.b = cupy.asarray(cases.right_sides(A.shape[0], 1, A.dtype)[:, 0])

    def setup(self):
        return lf.multilevel(self.A)

    def solution(self):
        """Setup and solve."""
        return self.solve(self.setup().aspreconditioner())

    def solve(self, M, history=None):
        options = {"rtol": cases.RTOL, "maxiter": krylov.MOST_ITERATIONS, "history": history}
        return self.solver(self.A, self.b, M=M, **options)

    def iterations(self, M):
        """Iterations until convergence, which is verified."""
        history = lf.solvers.History()
        x, info = self.solve(M, history)
        count = math.ceil(history.iterations[-1])
        residual = float(cupy.linalg.norm(self.b - self.A @ x) / cupy.linalg.norm(self.b))
        if info or not residual <= krylov.LARGEST_RESIDUAL:
            raise RuntimeError(f"not solved: relative residual {residual:.1e} after {count} iterations")
        return count


def measurements(plan):
    """(title, function that yields rows) of all systems and sizes."""
    for name, (case, solver) in cases.SYSTEMS.items():
        yield f"system {name}", partial(system_rows, plan, name, case, solver)
    for side in plan.scaled_cubes:
        yield f"cube of side {side}", partial(size_rows, plan, side)


def system_rows(plan, name, case, solver):
    """Setup and solve, its parts in products, an update, and the breakdown of the setup."""
    title, A = case(plan, device="cuda")
    system = System(title, A, getattr(lf.solvers, solver))
    hierarchy = system.setup()
    M = hierarchy.aspreconditioner()
    count = system.iterations(M)
    whole = timing.device_samples(system.solution, plan.solver_repeats)
    setup = timing.device_samples(system.setup, plan.solver_repeats)
    solve = timing.device_samples(partial(system.solve, M), plan.solver_repeats)
    note = (
        f"{solver}, {count} iterations, setup {statistics.median(setup):.2f} ms, {len(hierarchy.levels)} "
        f"levels, operator complexity {hierarchy.operator_complexity():.2f}"
    )
    yield Row("systems", f"{MULTILEVEL} and solve", title, whole, note=note, **targets.SYSTEMS[name])
    yield from part_rows(plan, name, system, setup, [sample / count for sample in solve])
    yield update_row(plan, system, hierarchy, setup)
    yield from breakdown_rows(plan, system)
    yield from cycle_rows(plan, system, hierarchy, M)


def part_rows(plan, name, system, setup, iteration):
    """The setup and an iteration, in SpMVs and in milliseconds."""
    products = preconditioners.unit(plan, system.A)
    parts = {"setup": (MULTILEVEL, setup), "iteration": ("an iteration", iteration)}
    for part, (words, samples) in parts.items():
        goals = targets.SYSTEM_PARTS.get((name, part, "products"), {})
        yield Row("systems in products", words, system.title, samples, **products, **goals)
        goals = targets.SYSTEM_PARTS.get((name, part, "ms"), {})
        yield Row("systems in milliseconds", words, system.title, samples, **goals)


def update_row(plan, system, hierarchy, setup):
    """An update with new values beside a setup."""
    others = [system.A * scale for scale in (1.25, 0.75)]
    update = partial(setups.update_alternately, hierarchy, others)
    samples = timing.device_samples(update, plan.solver_repeats)
    beside = {"peer": MULTILEVEL, "peer_samples": setup}
    return Row("system updates", "update(A)", system.title, samples, **beside, **targets.SYSTEM_UPDATE)


def breakdown_rows(plan, system):
    files = recording.kernel_files()
    runs = []
    for _ in range(plan.solver_repeats):
        entries = recording.read_on_device(recording.recorded(system.setup))
        _, total = entries.pop()  # the whole call
        runs.append(breakdown(entries, total, files))
    for part in (*PARTS, "rest"):
        yield Row("system setups by kernels", part, system.title, [run[part] for run in runs])


def cycle_rows(plan, system, hierarchy, M):
    """The kernels of a cycle by level: two on the way to the coarsest one, and two on the way back."""
    coarsest, runs = len(hierarchy.levels) - 1, []
    for _ in range(plan.solver_repeats):
        times = [time for _, time in recording.read_on_device(recording.recorded(lambda: M @ system.b))[:-1]]
        if len(times) != LAUNCHES_OF_LEVEL * coarsest + 1:
            return  # of a smoother with more steps
        runs.append(times)
    half = LAUNCHES_OF_LEVEL // 2
    for level in range(coarsest + 1):
        ends = [(half * level, half), (-half * (level + 1), half)]
        if level == coarsest:
            ends = [(half * coarsest, 1)]
        samples = [sum(sum(run[at:][:count]) for at, count in ends) for run in runs]
        yield Row("cycles by level", f"level {level}", system.title, samples)


def breakdown(entries, total, files):
    """Milliseconds of every part of a setup that took `total`; `files` gives each kernel's file."""
    parts = dict.fromkeys(PARTS, 0.0)
    for kernel, time in entries:
        if not isinstance(time, dict):  # a kernel's own records
            parts[part_of(files.get(kernel, ""))] += time
    return parts | {"rest": max(0.0, total - sum(parts.values()))}


def part_of(file):
    return next(part for part, words in PARTS.items() if any(word in file for word in words))


def size_rows(plan, side):
    """Nanoseconds per unknown of setup and solve on a cube."""
    title, A = cases.scaled_cube(side, device="cuda")
    system = System(title, A, lf.solvers.cg)
    count = system.iterations(system.setup().aspreconditioner())
    samples = timing.device_samples(system.solution, plan.scaled_repeats)
    scale = 1e6 / A.shape[0]
    per_unknown, note = [scale * sample for sample in samples], f"{A.shape[0]:,} unknowns, {count} iterations"
    yield Row("systems by size", f"{MULTILEVEL} and cg", title, per_unknown, unit="ns per unknown", note=note)
