"""Fuzzes `lf.solve`, `lf.Solver` and `lf.auto`: systems of every structure and scale, updates, threads.

Whatever is brought, the answer is finite; info 0 means a small residual in extended precision; anything else
comes with a warning that names the cause. On a GPU the same cases run there.

A file of the corpus holds one case: a line with its class, and one with its seed.
"""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import harness
import numpy as np
import scipy.sparse as sp
from fuzz_numbers import at_the_edge, random_matrix, start_residual, true_residual, vector
from harness import on_device, on_host

import linforest_precond as lf

CLASSES = {
    "systems of every structure": (25, 20_000),
    "solvers kept and updated": (10, 5_000),
    "solvers shared by threads": (3, 500),
    "choices without a right-hand side": (10, 3_000),
}
# Of one case; the first ones of a process may compile.
LIMIT_SECONDS = 120.0
DTYPES = np.float64, np.float64, np.float64, np.float32, np.complex128, np.complex64
METHODS = "auto", "direct", "jacobi", "tridiagonal", "ilu", "approximate_inverse", "multilevel"
# What an exception may say.
REFUSALS = "method must be", "nullspace must hold", "differ too much in size"
# The most characters of a warning.
LONGEST_WARNING = 300


def prepare(folder: Path) -> None:
    """Compile what most cases need."""
    rng = np.random.default_rng(0)
    solve(lf.solve, random_matrix(rng, np.dtype(np.float64), 12), np.ones(12), {})


def run_case(prepared: None, name: str, rng: np.random.Generator, folder: Path) -> str:
    return {
        "systems of every structure": solve_case,
        "solvers kept and updated": update_case,
        "solvers shared by threads": threads_case,
        "choices without a right-hand side": auto_case,
    }[name](rng)


def run_file(path: Path) -> str:
    name, seed = path.read_text().splitlines()[:2]
    return run_case(None, name, harness.generator("solve", name, int(seed)), path.parent)


# What is drawn


def diagonals(rng, n):
    """A band matrix: bidiagonal, tridiagonal or wider, with small or large entries beside the diagonal."""
    offsets = rng.choice(np.arange(-3, 4), size=rng.integers(1, 4), replace=False)
    offsets = np.union1d(offsets, [0])
    bands = [10.0 ** rng.uniform(-4, 1) * np.ones(n - abs(k)) for k in offsets if abs(k) < n]
    return sp.diags_array(bands, offsets=[k for k in offsets if abs(k) < n], shape=(n, n))


def saddle_point(rng, n):
    m = max(1, n // 3)
    B = sp.random_array((m, n), density=0.3, rng=rng)
    block = sp.diags_array(10.0 ** rng.uniform(-6, 6, n))
    return sp.block_array([[block, B.T], [B, None]])


def laplacian(rng, n):
    """Of a random graph: singular, unless a vertex is grounded."""
    W = sp.random_array((n, n), density=min(1.0, 3 / n), rng=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    ground = sp.diags_array((rng.random(n) < rng.choice([0.0, 0.1])).astype(float))
    return sp.diags_array(W.sum(axis=1)) - W + ground


def grid(rng, n):
    side = max(1, int(n**0.5))
    A = lf.matrices.poisson((side, side))
    return A - rng.choice([0.0, 0.5, 3.0]) * sp.eye_array(side * side)


def random(rng, n):
    return random_matrix(rng, np.dtype(np.float64), min(n, 24))


def dependent(rng, n):
    """Singular but for rounding: a row that combines others, or a scaled Laplacian beside another matrix."""
    A = sp.lil_array(grid(rng, n) if rng.random() < 0.5 else diagonals(rng, n))
    if rng.random() < 0.5:
        rows = rng.integers(A.shape[0], size=3)
        A[[rows[0]]] = A[[rows[1]]] + rng.choice([0.0, 1.0]) * A[[rows[2]]]
        return A
    L = laplacian(rng, max(2, n // 4))
    return sp.block_diag([sp.diags_array(10.0 ** rng.uniform(-2, 2, L.shape[0])) @ L, A])


STRUCTURES = diagonals, saddle_point, laplacian, grid, random, dependent


def system(rng):
    """A matrix and its type; some with a permuted order of the rows, an empty row, or an extreme scale."""
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    n = int(rng.choice([1, 2, 3, 10, 30, 120]))
    A = sp.csr_array(STRUCTURES[rng.integers(len(STRUCTURES))](rng, n)).astype(dtype)
    n, choice = A.shape[0], rng.random()
    if dtype.kind == "c":
        A = A + 1j * sp.diags_array(rng.choice([0.0, 0.1]) * abs(A.diagonal())).astype(dtype)
    if choice < 0.15:
        A = sp.csr_array(A)[rng.permutation(n)]
    elif choice < 0.25:
        A = sp.csr_array(sp.diags_array((np.arange(n) != rng.integers(n)).astype(dtype)) @ A)
    A = sp.csr_array(A).astype(dtype)
    A.sort_indices()
    return at_the_edge(rng, A)[0] if rng.random() < 0.2 else A


def right_hand_sides(rng, A):
    n, columns = A.shape[0], int(rng.choice([1, 1, 1, 2, 5]))
    b = np.column_stack([vector(rng, n, A.dtype) for _ in range(columns)])
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            product = A @ b
        b = product if np.isfinite(product).all() else b
    if rng.random() < 0.1:
        b[:, 0] = 0
    return b[:, 0] if columns == 1 and rng.random() < 0.7 else b


def options_of(rng, A):
    found = {"rtol": float(rng.choice([1e-3, 1e-5] if A.dtype.char in "fF" else [1e-3, 1e-8, 1e-14]))}
    if rng.random() < 0.5:
        found["method"] = str(rng.choice(METHODS))
    if rng.random() < 0.2:
        found["maxiter"] = int(rng.choice([1, 5, 50]))
    if rng.random() < 0.1:
        found["time_limit"] = float(rng.choice([1e-6, 0.01]))
    if rng.random() < 0.1:
        found["nullspace"] = "constant"
    return found


# What is promised


def solve(call, A, b, options):
    """The host's x and info of one solve, checked; "refused" where an argument was."""
    before = A.data.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = {**options, "x0": on_device(options["x0"])} if "x0" in options else options
            x, info = call(on_device(A), on_device(b), **given)
        except ValueError as error:
            assert any(words in str(error) for words in REFUSALS), error
            return "refused"
    told = [str(warning.message) for warning in caught]
    assert np.array_equal(before.view(np.uint8), A.data.view(np.uint8)), "A was modified"
    x, info = on_host(x), np.atleast_1d(info)
    assert np.isfinite(x).all(), f"x is not finite, info {info}"
    assert x.dtype == np.result_type(A, b), x.dtype
    assert (info == 0).all() or told, f"info {info} without a warning"
    assert all(len(text) <= LONGEST_WARNING for text in told), told
    assert not [text for text in told if "encountered" in text], told
    check_residuals(A, x, b, info, options)
    return "converged" if (info == 0).all() else "stopped"


def check_residuals(A, x, b, info, options):
    if "nullspace" in options:  # of another b
        return
    x, b = x.reshape(A.shape[0], -1), b.reshape(A.shape[0], -1)
    for c in np.flatnonzero(info == 0).tolist():
        residual, wanted = true_residual(A, x[:, c], b[:, c])
        assert residual <= 1.01 * options.get("rtol", 1e-8) * wanted, f"info 0, residual {residual / wanted}"
    for c in np.flatnonzero(info).tolist():
        residual = true_residual(A, x[:, c], b[:, c])[0]
        start = options["x0"].reshape(x.shape)[:, c] if "x0" in options else None
        before = start_residual(A, start, b[:, c])
        assert residual <= 1.01 * before, f"info {info[c]}, residual {residual}, {before} at the start"


def solve_case(rng):
    A = system(rng)
    b, options = right_hand_sides(rng, A), options_of(rng, A)
    if rng.random() < 0.2:
        most = np.finfo(A.dtype).maxexp
        power = int(rng.choice([0, 40, most // 2, most]))
        options["x0"] = vector(rng, b.size, A.dtype, power).reshape(b.shape)
    return solve(lf.solve, A, b, options)


def changed(rng, A):
    """Another matrix: of the same pattern with values a little or far away, or of another pattern."""
    if rng.random() < 0.2:
        return system(rng)
    A = A.copy()
    with np.errstate(all="ignore"):
        data = A.data * (1 + rng.choice([1e-6, 0.1, 100.0]) * rng.random(A.nnz)).astype(A.data.real.dtype)
    A.data = np.where(np.isfinite(data), data, A.data).astype(A.dtype)
    return A


def update_case(rng):
    A = system(rng)
    options = options_of(rng, A)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = lf.Solver(on_device(A), **options)
    except ValueError as error:
        assert any(words in str(error) for words in REFUSALS), error
        return "refused"
    outcomes = []
    for _ in range(int(rng.integers(1, 4))):
        b = right_hand_sides(rng, A)
        outcomes.append(solve(lambda _, b, **given: solver.solve(b), A, b, options))
        if rng.random() < 0.7:
            A = changed(rng, A)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an update has none of its own
                solver.update(on_device(A))
        str(solver), solver.M, solver.method
    return outcomes[-1]


def threads_case(rng):
    """Solves beside updates: each answer is one of a matrix that was given."""
    A = system(rng)
    B = sp.csr_array(A / 2)
    b = vector(rng, A.shape[0], A.dtype)
    solver, found, failed = lf.Solver(on_device(A), rtol=1e-3), [], []

    def work(solving):
        try:
            for k in range(5):
                if solving:
                    found.append(solver.solve(on_device(b)))
                else:
                    solver.update(on_device(A if k % 2 else B))
        except Exception as error:
            failed.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work, args=(solving,)) for solving in (True, False, True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed, failed
    for x, info in found:
        x = on_host(x)
        assert np.isfinite(x).all()
        ratios = [
            residual / wanted for residual, wanted in (true_residual(C, x, b) for C in (A, B)) if wanted
        ]
        assert info or not ratios or min(ratios) <= 1.01e-3, ratios
    return "converged" if not any(info for _, info in found) else "stopped"


def auto_case(rng):
    A = system(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        M = lf.auto(on_device(A))
    assert M.shape == A.shape and str(M)
    return M.kind
