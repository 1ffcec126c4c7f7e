"""PETSc: a preconditioner by its options.

`-pc_type python -pc_python_type linforest_precond.petsc.PC` names it, in a program that knows nothing of it.
"""

import sys

import numpy as np
import petsc4py
from comparison import compare

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  (after init)

import linforest_precond as lf  # noqa: E402

FOREST = "-pc_type python -pc_python_type linforest_precond.petsc.PC"
WAYS = {
    "Jacobi": "-pc_type jacobi",
    "ILU(0)": "-pc_type ilu",
    "GAMG": "-pc_type gamg",
    "linforest_precond, tridiagonal": FOREST,
    "linforest_precond, multilevel": f"{FOREST} -pc_linforest_kind multilevel",
}
grid = lf.matrices.aniso(2, 300)  # strong couplings along diagonals of a grid
order = np.random.default_rng(0).permutation(grid.shape[0])
grid = grid[order][:, order]  # numbered as an unstructured mesh might be
A = PETSc.Mat().createAIJ(grid.shape, csr=(grid.indptr, grid.indices, grid.data))
b = A.createVecLeft()
b.set(1)
print(f"{grid.shape[0]:,} rows, cg to 1e-8")


def solved(options):
    PETSc.Options().insertString(f"-ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned {options}")
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setFromOptions()
    x = A.createVecRight()
    ksp.solve(b, x)
    return x


def residual(x):
    return (A * x - b).norm() / b.norm()


compare({name: (lambda options=options: solved(options)) for name, options in WAYS.items()}, residual)
