"""A proof that no x solves a system: a combination of A's rows that is 0 to rounding, while that of b is not.

Inverse iteration with the adjoint of A's factors, and one step of refinement, find u with u^H A = 0, if
there is one, from b's part along it. As u^H (b - A x) = u^H b - (u^H A) x, an x with a smaller residual than
|u^H b| must be so large that rounding errors of A x exceed it (Golub & Van Loan, Matrix Computations, section
7.6.1).
"""

from __future__ import annotations

import math

import numpy as np

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.direct import direct
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.problem import Problem

# u^H A is 0 to rounding if it is at most this multiple of the rounding error of |u|^H |A|. After a step of
# refinement it is a few of them, however large the backward error of the factors is.
ROUNDING = 64
# Steps of inverse iteration: 2 suffice with the factors of A, but those of A + shift I converge linearly.
STEPS = 4
# At most NAMED rows are named: those whose part in the combination is at least this share of the largest.
SHARE, NAMED = 0.1, 5


def contradiction(problem: Problem, A: CheckedMatrix, M: Preconditioner | None) -> str:
    """Why no x solves a system that factors M of A did not solve; empty where no such combination is found.

    Without M, elimination met a zero pivot: A + shift I is factored in place of A.
    """
    xp, unit = A.backend.xp, float(np.finfo(A.dtype).eps)
    matrix = A.backend.sparse.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape)
    try:
        if M is None:
            shift = math.sqrt(unit) * math.ldexp(1.0, A.largest_exponent)
            shifted = matrix + shift * A.backend.sparse.eye(A.n, dtype=A.dtype, format="csr")
            M = direct(shifted, pivoting="partial")
        u = problem.b
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                u = M.rmatmat(u)
                u = u / xp.maximum(abs(u).max(axis=0), np.finfo(u.real.dtype).tiny)
            w = M.rmatmat((matrix.T @ u.conj()).conj())
            # A large w is rounding errors of A^H u along u: then u is accurate already.
            u = xp.where(abs(w).max(axis=0) <= 0.5, u - w, u)
            products = abs(matrix.T @ u.conj()).max(axis=0)
            sizes = (abs(matrix).T @ abs(u)).max(axis=0)
            gaps = abs((u.conj() * problem.b).sum(axis=0)) / xp.sqrt((abs(u) ** 2).sum(axis=0))
    except (np.linalg.LinAlgError, MemoryError, OverflowError):
        return ""
    # stall: the failure is explained once
    products, sizes, gaps, parts = (on_host(each) for each in (products, sizes, gaps, u))
    found = np.flatnonzero((products <= ROUNDING * unit * sizes) & (gaps > 2 * problem.targets))
    if not found.size:
        return ""
    c, sizes = int(found[0]), abs(parts[:, found[0]])
    least = f"The relative residual is at least {gaps[c] / problem.norms[c]:.1e}."
    if A.facts.centered and (abs(parts[:, c] - parts[0, c]) <= unit**0.5 * sizes[0]).all():
        return (
            "A is singular: it maps constants to 0, its columns sum to 0, and b has a constant part, so that "
            f'no x solves the system. {least} Pass nullspace="constant" to project it out.'
        )
    rows = np.argsort(-sizes, kind="stable")[:NAMED]
    largest = sorted(row for row in rows.tolist() if sizes[row] >= SHARE * sizes[rows[0]])
    how, cure = " to working precision", "Check these equations, or use scipy.sparse.linalg.lsqr."
    if A.facts.centered:
        how, cure = ": it maps constants to 0", 'Make that of b 0; nullspace="constant" does not.'
    return (
        f"A is singular{how}, and no x solves the system: a combination of its rows, most of it rows "
        f"{', '.join(map(str, largest))}, is 0, but not that of b. {least} {cure}"
    )
