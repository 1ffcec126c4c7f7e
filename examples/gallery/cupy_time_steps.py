"""CuPy: a time-stepping loop whose preconditioner is updated.

Heat conduction whose conductivity changes in each step: matrices of one pattern, and all arrays on the GPU.
"""

import cupy
import cupyx.scipy.sparse.linalg
from comparison import compare

import linforest_precond as lf

side, steps, dt = 1000, 20, 1e-4
K = (side + 1) ** 2 * lf.matrices.poisson((side, side), device="cuda")  # minus the Laplacian
identity = cupyx.scipy.sparse.identity(side**2, format="csr")
start = cupy.random.default_rng(0).random(side**2)
print(f"{side**2:,} rows, {steps} steps")


def matrices():
    for step in range(steps):
        yield (identity + dt * (1 + 0.1 * step) * K).tocsr()


def plain():
    u = start
    for A in matrices():
        u, info = cupyx.scipy.sparse.linalg.cg(A, u, x0=u, rtol=1e-8)
        assert info == 0
    return u


def updated(make, cg):
    u, M = start, None
    for A in matrices():
        if M is None:
            M = make(A)
        else:
            M.update(A)
        u, info = cg(A, u, x0=u, M=M)
        assert info == 0
    return u


def cg(A, b, **options):
    return lf.solvers.cg(A, b, rtol=1e-8, **options)


reference = plain()
compare(
    {
        "cupyx's cg": plain,
        "lf.solvers.cg with lf.tridiagonal, update": lambda: updated(lf.tridiagonal, cg),
        "lf.solvers.cg with lf.multilevel, update": lambda: updated(lf.multilevel, cg),
    },
    lambda u: abs(u - reference).max().item(),
    "difference",
)
