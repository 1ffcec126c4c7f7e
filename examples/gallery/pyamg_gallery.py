"""PyAMG: matrices of its gallery.

`lf.multilevel` takes PyAMG's arguments, and a hierarchy has `solve`, `aspreconditioner` and `levels`.
"""

import numpy as np
import pyamg
from comparison import compare

import linforest_precond as lf

stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.001, theta=np.pi / 6, type="FD")
A_elastic, modes = pyamg.gallery.linear_elasticity((100, 100))
MATRICES = {
    "Poisson 500²": (pyamg.gallery.poisson((500, 500), format="csr"), None),
    "diffusion 1:1000 at 30°, 300²": (pyamg.gallery.stencil_grid(stencil, (300, 300), format="csr"), None),
    "elasticity 100²": (A_elastic.tocsr(), modes),
}


def compared(A, B):
    b = np.random.default_rng(0).standard_normal(A.shape[0])

    def solved(make, **options):
        return make(A, **options).solve(b, tol=1e-8, maxiter=1000, accel="cg")

    block_size = 1 if B is None else 2
    ways = {
        "pyamg.smoothed_aggregation_solver": lambda: solved(pyamg.smoothed_aggregation_solver, B=B),
        "pyamg.ruge_stuben_solver": lambda: solved(pyamg.ruge_stuben_solver),
        "lf.multilevel": lambda: solved(lf.multilevel, B=B, block_size=block_size),
    }
    if B is None:
        ways['lf.multilevel, smoother="tridiagonal"'] = lambda: solved(lf.multilevel, smoother="tridiagonal")
    compare(ways, lambda x: np.linalg.norm(b - A @ x) / np.linalg.norm(b))


for name, (A, B) in MATRICES.items():
    print(f"{name}, {A.shape[0]:,} rows")
    compared(A, B)
