"""Fuzzes numbers at the edge of the range: preconditioners, solves and coverages of small finite matrices.

A file of the corpus holds one case: a line with its class, and one with its seed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import harness
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import structural_rank

import linforest_precond as lf

CLASSES = {
    "preconditioners at the edge of the range": (30, 10_000),
    "solves at the edge of the range": (30, 10_000),
    "solves of random systems": (50, 20_000),
    "edges of other types": (0, 4_000),
}
# Of one case; the first ones of a process may compile.
LIMIT_SECONDS = 120.0

SMOOTHERS = (
    "jacobi",
    "l1_jacobi",
    "chebyshev",
    "chebyshev3",
    "tridiagonal",
    "block_tridiagonal",
    "approximate_inverse",
)
SOLVERS = tuple(
    getattr(lf.solvers, name) for name in ("cg", "bicgstab", "fcg", "minres", "gmres", "fgmres", "idrs")
)
OTHER_TYPES = np.float32, np.complex64, np.complex128
# Products must be finite where rows and columns are scaled by at most this power of two.
MODERATE = 200


def prepare(folder: Path) -> None:
    """Compile what the cases need."""
    rng = np.random.default_rng(0)
    A = random_matrix(rng, np.dtype(np.float64), 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            M = preconditioner(rng, A, kind, np.float64)
        for solver in SOLVERS:
            for columns in (1, 3):
                solver(A, np.ones((12, columns)), M=M, maxiter=2)
    coverages(A)


def run_case(prepared: None, name: str, rng: np.random.Generator, folder: Path) -> str:
    dtype = np.dtype(np.float64)
    if name == "edges of other types":
        dtype = np.dtype(OTHER_TYPES[rng.integers(3)])
        name = list(CLASSES)[rng.integers(3)]
    case = {
        "preconditioners at the edge of the range": preconditioner_case,
        "solves at the edge of the range": edge_solve_case,
        "solves of random systems": random_solve_case,
    }[name]
    return case(rng, dtype)


def run_file(path: Path) -> str:
    name, seed = path.read_text().splitlines()[:2]
    prepare(path.parent)
    return run_case(None, name, harness.generator("numbers", name, int(seed)), path.parent)


# What is drawn


def random_matrix(rng, dtype, n=None):
    """A sparse matrix of moderate numbers; sometimes with zeros on the diagonal, empty rows or columns."""
    n = int(rng.integers(1, 25)) if n is None else n
    A = sp.random_array(
        (n, n), density=rng.choice([0.05, 0.2, 0.6]), rng=rng, data_sampler=rng.standard_normal
    )
    A = A.toarray().astype(dtype)
    if dtype.kind == "c":
        A = A * np.exp(2j * np.pi * rng.random((n, n))).astype(dtype)
    if rng.random() < 0.5:
        A = (A + A.conj().T) / 2
    choice = rng.random()
    if choice < 0.4:  # dominant
        np.fill_diagonal(A, 1 + abs(A).sum(axis=1))
    elif choice < 0.7:
        np.fill_diagonal(A, rng.standard_normal(n))
    for axis in (0, 1):
        if rng.random() < 0.15:
            A[
                (rng.random(n) < 0.3) if axis == 0 else slice(None),
                slice(None) if axis == 0 else rng.random(n) < 0.3,
            ] = 0
    if rng.random() < 0.2:
        np.fill_diagonal(A, np.where(rng.random(n) < 0.5, 0, A.diagonal()))
    return sp.csr_array(A.astype(dtype))


def scaled(A, rows, columns):
    """The matrix with rows and columns times powers of two; numbers that overflow become the largest ones."""
    A = A.copy()
    with np.errstate(all="ignore"):
        powers = np.repeat(rows, np.diff(A.indptr)) + columns[A.indices]
        A.data = shifted(A.data, powers)
    return A


def shifted(values, powers):
    """values * 2**powers, clipped to the finite numbers."""
    largest = np.finfo(values.dtype).max
    with np.errstate(all="ignore"):
        parts = [np.clip(np.ldexp(part, powers), -largest, largest) for part in (values.real, values.imag)]
    both = parts[0] + 1j * parts[1] if values.dtype.kind == "c" else parts[0]
    return both.astype(values.dtype)


def range_of(dtype):
    """The exponents of the smallest and of the largest numbers."""
    info = np.finfo(dtype)
    return info.minexp - info.nmant, info.maxexp


def at_the_edge(rng, A):
    """A scaled matrix, the power of two by which its numbers are at most apart, and that of all of them."""
    least, most = range_of(A.dtype)
    n, choice = A.shape[0], rng.random()
    if choice < 0.4:  # uniform
        power = int(rng.choice([least, least + 4, least // 2, most // 2, most - 24, most]))
        return scaled(A, np.full(n, power), np.zeros(n, int)), 0, power
    reach = int(rng.choice([5, most // 10, most // 4, most - 1]))
    rows, columns = (rng.integers(-reach, reach + 1, n) for _ in range(2))
    if rng.random() < 0.3:
        columns = rows
    elif rng.random() < 0.3:
        columns = np.zeros(n, int)
    return scaled(A, rows, columns), 2 * reach, 0


KINDS = (
    "jacobi",
    "block_jacobi",
    "forest",
    "original",
    "rcm",
    "blocks",
    "ilu",
    "inverse",
    "scaled",
    *SMOOTHERS,
)


def preconditioner(rng, A, kind, stored):
    if kind == "jacobi":
        return lf.jacobi(A, dtype=stored)
    if kind == "block_jacobi":
        return lf.block_jacobi(A, int(rng.integers(1, 6)), dtype=stored)
    if kind in ("forest", "original", "rcm"):
        return lf.tridiagonal(A, kind, dtype=stored)
    if kind == "scaled":
        scaling = str(rng.choice(["matching", "equilibrate", "jacobi"]))
        return lf.jacobi(A, dtype=stored, scaling=scaling)
    if kind == "ilu":
        return lf.ilu(A, dtype=stored)
    if kind == "inverse":
        return lf.approximate_inverse(A, int(rng.integers(1, 20)), dtype=stored)
    if kind == "blocks":
        return lf.block_tridiagonal(A, int(rng.choice([1, 2, 4])), dtype=stored)
    smooth = bool(rng.random() < 0.3)
    hierarchy = lf.multilevel(
        A,
        smoother=kind,
        cycle=str(rng.choice(list("VWFK"))),
        smooth_prolongation=smooth,
        weights=str(rng.choice(["coupling", "magnitude"])),
        max_coarse=int(rng.choice([1, 4])),
        dtype=stored,
    )
    return hierarchy.aspreconditioner()


# What is promised


def quietly(function):
    """The function's result; no warning may be NumPy's own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    told = [str(warning.message) for warning in caught]
    assert not [text for text in told if "encountered" in text], told
    return result


def vector(rng, n, dtype, power=0):
    b = rng.standard_normal(n).astype(dtype)
    return shifted(b, np.full(n, power))


def preconditioner_case(rng, dtype):
    A, spread, power = at_the_edge(rng, random_matrix(rng, dtype))
    (least, most), stored = range_of(dtype), dtype
    if rng.random() < 0.2 and dtype.itemsize > 4 and dtype != np.complex64:
        stored = np.dtype(np.complex64 if dtype.kind == "c" else np.float32)
    kind, n = KINDS[rng.integers(len(KINDS))], A.shape[0]
    before = A.data.copy()
    try:
        M = quietly(lambda: preconditioner(rng, A, kind, stored))
    except ValueError as error:
        is_spread = "differ too much in size" in str(error) and spread > range_of(stored)[1] // 4
        assert is_spread or is_without_matching(A, error), error
        return "refused"
    assert np.array_equal(before.view(np.uint8), A.data.view(np.uint8)), "A was modified"
    assert 0.0 <= M.coverage <= 1.0, M.coverage
    # A cycle that diverges amplifies with every visit of a level, and W- and F-cycles make many.
    visits_often = any(f"{cycle}-cycle" in str(M) for cycle in "WF")
    b = vector(rng, n, dtype)
    adjoint = bool(rng.random() < 0.3)
    x = quietly(lambda: M.H @ b if adjoint else M @ b)
    most_spread = 10 if visits_often else 2 * (range_of(stored)[1] // 10)
    if spread <= most_spread and least // 2 - 3 < power < most // 2 + 3:
        assert np.isfinite(x).all(), "the product is not finite"
    # Each perturbed pivot may multiply by all digits of the type.
    amplifies = visits_often or "pivots perturbed" in str(M)
    if spread == 0 and stored == dtype and abs(power) > 3 and not amplifies:
        # b of about A's scale, with room for the inverse of a nearly singular matrix.
        x = quietly(lambda: M @ vector(rng, n, dtype, min(power, most - most // 4)))
        assert np.isfinite(x).all(), "the product with b of A's scale is not finite"
    coverages(A)
    return kind


def coverages(A):
    for found in (lf.graph.factor(A), lf.linear_forest(A), lf.graph.matching(A)):
        assert 0.0 <= found.coverage <= 1.0, found.coverage
    assert 0.0 <= lf.graph.identity_coverage(A) <= 1.0


def edge_solve_case(rng, dtype):
    A, _, power = at_the_edge(rng, random_matrix(rng, dtype))
    least, most = range_of(dtype)
    n = A.shape[0]
    own = int(rng.choice([0, power, least, least // 2, most // 2, most]))
    columns = int(rng.choice([1, 1, 3]))
    b = np.column_stack([vector(rng, n, dtype, own if c < 2 else 0) for c in range(columns)])
    if rng.random() < 0.1:
        b[:, 0] = 0
    x0 = None
    if rng.random() < 0.2:
        x0 = vector(rng, n * columns, dtype, int(rng.choice([0, least, most]))).reshape(n, columns)
    return check_solve(rng, A, b, x0)


def random_solve_case(rng, dtype):
    A = random_matrix(rng, dtype)
    n = A.shape[0]
    b = vector(rng, n, dtype)
    if rng.random() < 0.3:
        b = A @ b
    return check_solve(rng, A, b.reshape(n, 1), None)


def check_solve(rng, A, b, x0):
    dtype = A.dtype
    rtol = float(rng.choice([1e-3, 1e-5] if np.finfo(dtype).bits == 32 else [1e-5, 1e-10]))
    kind = None if rng.random() < 0.3 else KINDS[rng.integers(len(KINDS))]
    try:
        M = None if kind is None else quietly(lambda: preconditioner(rng, A, kind, dtype))
    except ValueError as error:
        assert "differ too much in size" in str(error) or is_without_matching(A, error), error
        return "refused"
    solver = SOLVERS[rng.integers(len(SOLVERS))]
    options = {"maxiter": int(rng.choice([1, 10, 200])), "rtol": rtol, "M": M}
    form = (lambda A: A.toarray()) if rng.random() < 0.2 else (lambda A: A)
    x, info = quietly(lambda: solver(form(A), b, x0, **options))
    assert x.dtype == dtype and np.isfinite(x).all(), f"x is not finite, info {info}"
    x, info = x.reshape(b.shape), np.atleast_1d(info)
    for c in np.flatnonzero(info == 0).tolist():
        residual, wanted = true_residual(A, x[:, c], b[:, c])
        assert residual <= 1.01 * rtol * wanted, f"info 0, residual {residual / max(wanted, 1e-4900)}"
    for c in np.flatnonzero(info).tolist():
        residual = true_residual(A, x[:, c], b[:, c])[0]
        before = start_residual(A, None if x0 is None else x0[:, c], b[:, c])
        lost = np.finfo(dtype).tiny  # x that is scaled back to subnormal numbers has lost digits
        assert residual <= 1.01 * before + lost, f"info {info[c]}, residual {residual}, {before} at the start"
    return "converged" if (info == 0).all() else "stopped"


def is_without_matching(A, error):
    """Whether rows cannot be matched to columns, and the error says so; entries may vanish in a scaled A."""
    power = range_of(A.dtype)[1] - 24
    least = np.ldexp(abs(A.data).max(initial=0), -power)
    nonzero = sp.csr_array((abs(A.data) > least, A.indices, A.indptr), shape=A.shape, copy=True)
    nonzero.eliminate_zeros()
    return "structurally singular" in str(error) and structural_rank(nonzero) < A.shape[0]


def start_residual(A, x0, b):
    """norm(b - A x0); norm(b) without x0, or where that of x0 is larger by all digits: x0 is then 0."""
    size = true_residual(A, np.zeros_like(b), b)[0]
    before = size if x0 is None else true_residual(A, x0, b)[0]
    return before if before <= size / np.finfo(A.dtype).eps else size


def true_residual(A, x, b):
    """norm(b - A x) and norm(b), in extended precision, whose range is far larger."""
    wide = np.longdouble if A.dtype.kind == "f" else np.clongdouble
    r = b.astype(wide) - A.toarray().astype(wide) @ x.astype(wide)
    return tuple(np.sqrt((abs(v) ** 2).sum()) for v in (r, b.astype(wide)))
