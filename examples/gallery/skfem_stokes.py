"""scikit-fem: Stokes flow with Taylor-Hood elements, preconditioned by blocks.

Multigrid for the velocities, and the diagonal of the mass matrix for the pressures.
"""

import numpy as np
import scipy.sparse as sp
import skfem
from comparison import compare
from scipy.sparse.linalg import LinearOperator
from skfem.models.general import divergence
from skfem.models.poisson import mass, vector_laplace

import linforest_precond as lf

mesh = skfem.MeshTri.init_tensor(*(np.linspace(0, 1, 65),) * 2)
velocity = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP2()))
pressure = velocity.with_element(skfem.ElementTriP1())
K = vector_laplace.assemble(velocity)
D = divergence.assemble(velocity, pressure)
A = sp.csr_array(sp.block_array([[K, -D.T], [-D, None]]))
lid = velocity.get_dofs(lambda x: x[1] == 1).all("u^1")
values = np.zeros(A.shape[0])
values[lid] = 1  # a driven cavity: the lid moves, and the pressure at a corner is 0
fixed = np.r_[velocity.get_dofs().all(), velocity.N]
system = skfem.condense(A, np.zeros(A.shape[0]), x=values, D=fixed)
n = velocity.N - fixed.size + 1  # velocities that are unknown
pressures = mass.assemble(pressure)[1:, 1:]
print(f"{n:,} velocities, {pressures.shape[0]:,} pressures")


def by_blocks(A, b):
    velocities, scaling = lf.multilevel(sp.csr_array(A)[:n, :n]), lf.jacobi(pressures)
    M = LinearOperator(
        A.shape, lambda r: np.concatenate([velocities @ r[:n], scaling @ r[n:]]), dtype=A.dtype
    )
    return lf.solvers.minres(A, b, rtol=1e-8, M=M)[0]


def residual(x):
    free = np.setdiff1d(np.arange(A.shape[0]), fixed)
    return np.linalg.norm((A @ x)[free]) / np.linalg.norm((A @ values)[free])


compare(
    {
        "skfem.solve, which factors A": lambda: skfem.solve(*system),
        "lf.multilevel for the velocities, minres": lambda: skfem.solve(*system, solver=by_blocks),
        "lf.solve": lambda: skfem.solve(*system, solver=lambda A, b: lf.solve(A, b)[0]),
    },
    residual,
)
