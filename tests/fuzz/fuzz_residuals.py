"""Fuzzes what info and x promise: residuals that cancel, subnormal matrices, zero rows, counted iterations.

Residuals are checked in rational arithmetic: info 0 means that b - A x itself meets the tolerance.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from harness import on_device, on_host

import linforest_precond as lf
from linforest_precond.solvers import History, Status

CLASSES = {
    "residuals that cancel": (60, 20_000),
    "subnormal matrices": (40, 10_000),
    "zero rows": (40, 10_000),
    "callbacks and iterations": (40, 10_000),
}
LIMIT_SECONDS = 120.0
SOLVERS = (
    lf.solve,
    lf.solvers.cg,
    lf.solvers.fcg,
    lf.solvers.bicgstab,
    lf.solvers.minres,
    lf.solvers.gmres,
    lf.solvers.fgmres,
    lf.solvers.idrs,
)
TYPES = np.float64, np.float64, np.float32, np.complex128, np.complex64


def prepare(folder: Path) -> None:
    """Compile what the cases need."""
    for dtype in TYPES[1:]:
        for solve in SOLVERS:
            quietly(solve, sp.eye_array(3, dtype=dtype, format="csr"), np.ones((3, 2), dtype))


def run_case(prepared: None, name: str, rng: np.random.Generator, folder: Path) -> str:
    case = {
        "residuals that cancel": cancelling_case,
        "subnormal matrices": subnormal_case,
        "zero rows": zero_row_case,
        "callbacks and iterations": counted_case,
    }[name]
    return case(rng, np.dtype(TYPES[rng.integers(len(TYPES))]), SOLVERS[rng.integers(len(SOLVERS))])


def quietly(solve, A, b, x0=None, **options):
    x0 = None if x0 is None else on_device(x0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        x, info = solve(on_device(A), on_device(b), x0, **options)
    return on_host(x), np.atleast_1d(info)


def random(rng, shape, dtype):
    """Normal numbers, with a random phase where they are complex."""
    values = rng.standard_normal(shape)
    return (values * np.exp(2j * np.pi * rng.random(shape)) if dtype.kind == "c" else values).astype(dtype)


def cancelling_case(rng, dtype, solve):
    """Triangular, nearly singular and badly scaled systems, with tolerances around the machine precision."""
    n, k = int(rng.integers(1, 10)), int(rng.integers(1, 4))
    A = random(rng, (n, n), dtype) * (rng.random((n, n)) < 0.5)
    kind = rng.integers(4)
    if kind == 0:
        A = np.triu(A, 1) + np.diag(np.full(n, 10.0 ** -rng.integers(0, 8)))
    elif kind == 1:
        A = A + A.conj().T + 0.1 * np.eye(n)
    elif kind == 2:
        A[-1] = A[0] * (1 + 1e-9)
    else:
        A = A * 10.0 ** rng.integers(-6, 7, (n, 1))
    b = random(rng, (n, k), dtype)
    x0 = 10.0 ** rng.integers(0, 12) * random(rng, (n, k), dtype) if rng.random() < 0.3 else None
    x0 = None if x0 is None else x0.astype(dtype)
    return checked_solve(
        solve, form(rng, A.astype(dtype)), A.astype(dtype), b, x0, 10.0 ** -rng.uniform(3, 17)
    )


def subnormal_case(rng, dtype, solve):
    n, k = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    tiny = np.finfo(dtype).tiny * 10.0 ** rng.uniform(-7, 1)
    A = (random(rng, (n, n), dtype) * (rng.random((n, n)) < 0.3) + np.eye(n)) * tiny
    A, b = A.astype(dtype), random(rng, (n, k), dtype)
    if rng.random() < 0.3:
        b = (b * tiny).astype(dtype)
    return checked_solve(solve, form(rng, A), A, b, None, float(rng.choice([0.5, 1e-3, 1e-10])))


def form(rng, A):
    return A if rng.random() < 0.3 else sp.csr_array(A)


def checked_solve(solve, given, A, b, x0, rtol):
    x, info = quietly(solve, given, b, x0, rtol=rtol)
    checked_columns(A, b, x.reshape(b.shape), info, rtol)
    return "converged" if not info.any() else "stopped"


def checked_columns(A, b, x, info, rtol):
    """x is finite, and where info is 0, its residual is small in rational numbers."""
    assert np.isfinite(x).all(), f"x is not finite, info {info}"
    for c in np.flatnonzero(info == 0).tolist():
        left, size = squares(A, x[:, c], b[:, c]), squares(A, 0 * x[:, c], b[:, c])
        limit = Fraction(1.0001 * rtol) ** 2 * size
        assert left <= limit, f"info 0, residual {float(left / size) ** 0.5}, rtol {rtol}"


def squares(A, x, b):
    """The squared norm of b - A x as a rational number."""
    total = Fraction(0)
    for row, value in zip(A, b):
        real, imaginary = parts_of(value)
        for a, y in zip(row, x):
            if a:
                (ar, ai), (yr, yi) = parts_of(a), parts_of(y)
                real, imaginary = real - ar * yr + ai * yi, imaginary - ar * yi - ai * yr
        total += real**2 + imaginary**2
    return total


def parts_of(value):
    return Fraction(float(value.real)), Fraction(float(value.imag))


def zero_row_case(rng, dtype, solve):
    """Of the columns, those with b = 0 in all zero rows may converge; no others do, and none iterates."""
    n, k = int(rng.integers(2, 60)), int(rng.integers(1, 4))
    A = random(rng, (n, n), dtype) * (rng.random((n, n)) < 3 / n) + 4 * np.eye(n)
    rows = rng.random(n) < rng.choice([1 / n, 0.3])
    A[rows] = 0
    if rng.random() < 0.5:
        A[:, rows] = 0
    b = random(rng, (n, k), dtype)
    b[:, rng.random(k) < 0.3] *= ~rows[:, None]
    contradicts = (b[rows] != 0).any(axis=0)
    B, calls = form(rng, A.astype(dtype)), []
    if sp.issparse(B) and rng.random() < 0.3:  # explicit zeros
        B = B + sp.csr_array((np.zeros(n, dtype), (np.arange(n), np.arange(n))), shape=(n, n))
    x, info = quietly(solve, B, b, maxiter=50, callback=calls.append)
    assert (info[contradicts] == Status.SINGULAR).all(), info
    assert np.isfinite(x).all()
    assert not (contradicts.all() and calls), f"{len(calls)} iterations"
    return "contradiction" if contradicts.any() else "none"


def counted_case(rng, dtype, solve):
    """Systems that stop early or restart: info counts the iterations of each, callbacks those of any."""
    n, maxiter = int(rng.integers(5, 200)), int(rng.integers(1, 100))
    shape = (n,) if rng.random() < 0.5 else (n, int(rng.integers(1, 5)))
    shift = rng.choice([1, 4])
    A = (random(rng, (n, n), dtype) * (rng.random((n, n)) < 3 / n) + shift * np.eye(n)).astype(dtype)
    if rng.random() < 0.5:
        A = (A + A.conj().T).astype(dtype)
    calls, rtol = [], 10.0 ** -rng.integers(3, 15)
    record = {"history": History()}
    if solve is lf.solve:
        record = {"report": lf.SolveReport(), "method": str(rng.choice(["auto", "jacobi"]))}
    x, info = quietly(
        solve, sp.csr_array(A), random(rng, shape, dtype),
        rtol=rtol, maxiter=maxiter, callback=calls.append, **record,
    )  # fmt: skip
    assert np.isfinite(x).all()
    if solve is lf.solve:
        made = sum(trial.iterations for trial in record["report"].trials)
        assert made == len(calls) and set(info[info > 0].tolist()) <= {made}
    else:
        # A half step is counted where it converged, not where it broke down.
        made = record["history"].iterations.max(initial=0)
        assert len(calls) in (np.floor(made), np.ceil(made)), f"{made} iterations, {len(calls)} callbacks"
        assert (info <= maxiter).all() and (info.size > 1 or info[0] <= 0 or info[0] == len(calls))
    return "counted" if (info > 0).any() else "ended"
