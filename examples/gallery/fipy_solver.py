"""FiPy: a solver class that it accepts.

FiPy calls `_solve_` with a matrix of SciPy. `lf.solve` needs no choice of a method, for symmetric and
nonsymmetric equations alike.
"""

import os

os.environ["FIPY_SOLVERS"] = "scipy"

import fipy
import numpy as np
from comparison import compare
from fipy.solvers.scipy.scipySolver import ScipySolver

import linforest_precond as lf


class LinforestSolver(ScipySolver):
    """`equation.solve(variable, solver=LinforestSolver())`."""

    def _solve_(self, L, x, b):
        return lf.solve(L, np.asarray(b), x0=np.asarray(x))[0]


cells = 200
mesh = fipy.Grid2D(nx=cells, ny=cells, dx=1 / cells, dy=1 / cells)
x, y = mesh.faceCenters.value - 0.5
wind = fipy.FaceVariable(mesh=mesh, rank=1, value=np.stack([y, -x]))
equation = fipy.UpwindConvectionTerm(coeff=wind) - fipy.DiffusionTerm(coeff=1e-3) == 1.0
print(f"{cells**2:,} cells, convection and diffusion")


def solved(solver):
    variable = fipy.CellVariable(mesh=mesh)
    variable.constrain(1.0, mesh.facesLeft)
    variable.constrain(0.0, mesh.facesRight)
    equation.cacheMatrix()
    equation.cacheRHSvector()
    equation.solve(variable, solver=solver)
    return variable.value


def residual(u):
    A, b = equation.matrix.matrix, equation.RHSvector
    return np.linalg.norm(b - A @ u) / np.linalg.norm(b)


options = {"tolerance": 1e-8, "iterations": 5000}
compare(
    {
        "LinearLUSolver": lambda: solved(fipy.LinearLUSolver()),
        "LinearGMRESSolver": lambda: solved(fipy.LinearGMRESSolver(**options)),
        "LinearBicgstabSolver": lambda: solved(fipy.LinearBicgstabSolver(**options)),
        "LinforestSolver, assembly included": lambda: solved(LinforestSolver()),
    },
    residual,
)
