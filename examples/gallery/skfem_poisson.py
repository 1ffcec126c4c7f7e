"""scikit-fem: Poisson's equation with quadratic elements.

`skfem.solve` takes a function of A and b as its `solver`, and factors A by default.
"""

import numpy as np
import skfem
from comparison import compare
from skfem.models.poisson import laplace, unit_load

import linforest_precond as lf

mesh = skfem.MeshTri.init_tensor(*(np.linspace(0, 1, 161),) * 2)
basis = skfem.Basis(mesh, skfem.ElementTriP2())
A, b = laplace.assemble(basis), unit_load.assemble(basis)
system = skfem.condense(A, b, D=basis.get_dofs())
free = basis.complement_dofs(basis.get_dofs())
print(f"{free.size:,} unknowns")


def residual(u):
    return np.linalg.norm((b - A @ u)[free]) / np.linalg.norm(b[free])


compare(
    {
        "skfem.solve, which factors A": lambda: skfem.solve(*system),
        "solver_iter_pcg, Jacobi": lambda: skfem.solve(*system, solver=skfem.solver_iter_pcg(rtol=1e-8)),
        "lf.solve": lambda: skfem.solve(*system, solver=lambda A, b: lf.solve(A, b)[0]),
    },
    residual,
)
