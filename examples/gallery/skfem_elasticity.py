"""scikit-fem: linear elasticity, multigrid with rigid body modes.

The unknowns of a node follow each other in `skfem.ElementVector`, as `lf.rigid_body_modes` expects them.
"""

import numpy as np
import skfem
from comparison import compare
from skfem.models.elasticity import lame_parameters, linear_elasticity

import linforest_precond as lf

mesh = skfem.MeshHex.init_tensor(np.linspace(0, 4, 49), np.linspace(0, 1, 13), np.linspace(0, 1, 13))
basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementHex1()))
A = linear_elasticity(*lame_parameters(1e3, 0.3)).assemble(basis)
clamped = basis.get_dofs(lambda x: x[0] == 0)


@skfem.LinearForm
def gravity(v, w):
    return -v[2]


b = gravity.assemble(basis)
system = skfem.condense(A, b, D=clamped)
free = basis.complement_dofs(clamped)
modes = lf.rigid_body_modes(mesh.p.T)[free]
print(f"{free.size:,} unknowns")


def multigrid(A, b):
    ml = lf.multilevel(A, B=modes, block_size=3)
    return lf.solvers.cg(A, b, rtol=1e-8, M=ml)[0]


def residual(u):
    return np.linalg.norm((b - A @ u)[free]) / np.linalg.norm(b[free])


compare(
    {
        "skfem.solve, which factors A": lambda: skfem.solve(*system),
        "solver_iter_pcg, Jacobi": lambda: skfem.solve(*system, solver=skfem.solver_iter_pcg(rtol=1e-8)),
        "lf.multilevel with rigid body modes, cg": lambda: skfem.solve(*system, solver=multigrid),
        "lf.solve": lambda: skfem.solve(*system, solver=lambda A, b: lf.solve(A, b)[0]),
    },
    residual,
)
