"""Sections of docs/multilevel.md: real matrices, elasticity, and nonsymmetric systems, by iterations."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

import linforest_precond as lf
from benchmarks.pages.iterations import is_positive_definite
from benchmarks.systems.real_matrices import load, manifest

RTOL = 1e-8
MOST_ITERATIONS = 1500
# The most rows of real matrices, and the most unknowns of their coarsest level.
MOST_ROWS = 60_000
MAX_COARSE = 100
BEAMS = ((142, 35), (450, 112), (40, 9, 9), (80, 20, 20))
LARGEST_BEAM = (1414, 354)
PECLET = (0.1, 1, 10, 100, 1000)
LINES = {"smoother": "tridiagonal", "cycle": "V"}


def table(head, lines) -> str:
    text = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in text)


def shown(count) -> str:
    return "–" if math.isinf(count) else f"{count:,.0f}"


def count_of(A, b, M, solver="cg") -> float:
    history = lf.solvers.History()
    solve = getattr(lf.solvers, solver)
    _, info = solve(A, b, rtol=RTOL, maxiter=MOST_ITERATIONS, M=M, history=history)
    return math.inf if info else float(np.ceil(history.iterations[-1]))


def right_side(A):
    return A @ np.random.default_rng(1).standard_normal(A.shape[0])


def positive_definite() -> str:
    """Iterations of CG with Jacobi and with V-cycles, on the positive definite SuiteSparse matrices."""
    head = ["matrix", "rows", "complexity", "Jacobi-CG", "default", "lines", 'B="adaptive"', "complexity"]
    lines = []
    for name, facts in manifest().items():
        if int(facts["rows"]) > MOST_ROWS:
            continue
        A = load(name)
        if A.dtype.kind == "c" or not A.diagonal().all() or not is_positive_definite(A, facts["spd"] == "1"):
            continue
        lines.append(_definite_line(name, A))
        print(lines[-1], file=sys.stderr, flush=True)
    words = f"Iterations of CG with V-cycles, with hierarchies down to {MAX_COARSE} unknowns."
    return "\n\n".join(["## Real matrices that are positive definite", words, table(head, lines)])


def _definite_line(name, A):
    (default, _, adaptive), counts = _compared(A, "cg", {}, LINES, {"B": "adaptive"})
    complexities = [f"{each.operator_complexity():.2f}" for each in (default, adaptive)]
    return [name, f"{A.shape[0]:,}", complexities[0], *map(shown, counts), complexities[1]]


def _compared(A, solver, *options):
    """The hierarchies with each of several options; the iterations with Jacobi's and with all of these."""
    b = right_side(A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        hierarchies = [lf.multilevel(A, max_coarse=MAX_COARSE, **each) for each in options]
        operators = lf.jacobi(A), *(each.aspreconditioner() for each in hierarchies)
        return hierarchies, [count_of(A, b, M, solver) for M in operators]


def elasticity(quick=False) -> str:
    """Clamped beams with rigid body modes, beside PyAMG's smoothed aggregation with the same candidates."""
    import pyamg

    lines = []
    for shape in BEAMS if quick else (*BEAMS, LARGEST_BEAM):
        A, coordinates = lf.matrices.elasticity(shape)
        B, b = lf.rigid_body_modes(coordinates), right_side(A)
        ml = lf.multilevel(A, B=B, block_size=len(shape))
        peer = pyamg.smoothed_aggregation_solver(A.tobsr(blocksize=(len(shape), len(shape))), B=B)
        residuals: list[float] = []
        peer.solve(b, tol=RTOL, accel="cg", maxiter=MOST_ITERATIONS, residuals=residuals)
        found = count_of(A, b, ml.aspreconditioner()), float(len(residuals) - 1)
        complexities = ml.operator_complexity(), peer.operator_complexity()
        lines.append([" x ".join(map(str, shape)), f"{A.shape[0]:,}", *map(shown, found)])
        lines[-1] += [f"{each:.2f}" for each in complexities]
        print(lines[-1], file=sys.stderr, flush=True)
    head = ["nodes", "unknowns", "`B=`, `block_size=`", "PyAMG SA", "complexity", "PyAMG's"]
    words = (
        "Beams clamped at one end, Poisson ratio 0.3, `B=lf.rigid_body_modes(coordinates)`; iterations of CG."
    )
    return "\n\n".join(["## Elasticity", words, table(head, lines)])


def nonsymmetric() -> str:
    """Iterations of BiCGStab: convection-diffusion, and real matrices."""
    lines = [_nonsymmetric_line(name, A) for name, A in _nonsymmetric_systems()]
    head = ["matrix", "rows", "Jacobi", "default", "lines", "default's coarsening"]
    words = "Iterations of BiCGStab, two cycles each; a dash: not solved in 1,500."
    return "\n\n".join(["## Nonsymmetric systems", words, table(head, lines)])


def _nonsymmetric_systems():
    for shape in ((200, 200), (40, 40, 40)):
        for peclet in PECLET:
            velocity = tuple(peclet / 2 ** (1 + axis) for axis in range(len(shape)))
            A = lf.matrices.convection_diffusion(shape, velocity=velocity)
            yield f"convection {shape[0]}{'²' if len(shape) == 2 else '³'}, cell Péclet {peclet:g}", A
    for name in ("bfw782a", "watt_2", "orsirr_2", "sherman5", "olm1000", "jpwh_991", "orsreg_1", "memplus"):
        if name in manifest():
            yield name, load(name)


def _nonsymmetric_line(name, A):
    (default, _), counts = _compared(A, "bicgstab", {}, LINES)
    coarsening = default._part.options.coarsening.replace("_", " ")
    line = [name, f"{A.shape[0]:,}", *map(shown, counts), coarsening]
    print(line, file=sys.stderr, flush=True)
    return line
