"""Matrices for the tests with PETSc, and solves with them."""

import numpy as np
import scipy.sparse as sp

import linforest_precond as lf

PYTHON = "-pc_type python -pc_python_type linforest_precond.petsc.PC"
# What a kind needs to be the same on one rank and on several, and to be a fixed operator.
ARGUMENTS = {"multilevel": {"coarsening": "matching", "cycle": "V"}}


def options_of(kind, prefix=""):
    """The options of a kind of preconditioner, after a prefix."""
    given = {"kind": kind, **ARGUMENTS.get(kind, {})}
    return " ".join(f"-{prefix}pc_linforest_{name} {value}" for name, value in given.items())


def delaunay(n):
    """The graph Laplacian of a triangulation plus the identity."""
    A = lf.matrices.delaunay(n, seed=3)
    A = sp.csr_array(abs(A) + abs(A).T)
    return sp.csr_array(sp.diags_array(A.sum(axis=1) + 1.0) - A)


def convection(n):
    """A nonsymmetric matrix: diffusion and upwind convection on a grid."""
    A = lf.matrices.aniso(1, n)
    wind = sp.diags_array([np.ones(n * n), -np.ones(n * n - 1)], offsets=[0, -1])
    return sp.csr_array(A + 0.5 * wind)


MATRICES = {
    "aniso1": lambda: lf.matrices.aniso(1, 24),
    "aniso2": lambda: lf.matrices.aniso(2, 24),
    "7-point": lambda: lf.matrices.poisson((8, 9, 7)),
    "delaunay": lambda: delaunay(500),
    "convection": lambda: convection(20),
    "small": lambda: lf.matrices.poisson(3),
}
SYMMETRIC = "aniso1", "aniso2", "7-point", "delaunay", "small"


def as_petsc(A, PETSc, comm=None):
    """A SciPy matrix that all ranks hold as a matrix of PETSc, with PETSc's own partition of the rows."""
    A, comm = sp.csr_array(A), PETSc.COMM_WORLD if comm is None else comm
    n, index = A.shape[0], PETSc.IntType
    own = n // comm.size + (n % comm.size > comm.rank)
    first = comm.tompi4py().scan(own) - own
    rows = A[first : first + own]
    csr = rows.indptr.astype(index), rows.indices.astype(index), rows.data
    P = PETSc.Mat().createAIJ(((own, n), (own, n)), csr=csr, comm=comm)
    P.assemble()
    return P


def error_of_callback(error, PETSc):
    """What a callback raised: petsc4py 3.18 raises it again, 3.26 an error of its own whose cause it is."""
    return error if error.__cause__ is None or not isinstance(error, PETSc.Error) else error.__cause__


def right_hand_side(P, PETSc):
    """Numbers that depend on the global row only."""
    first, last = P.getOwnershipRange()
    b = P.createVecLeft()
    b.setArray(np.random.default_rng(1).standard_normal(P.getSize()[0])[first:last])
    return b


def solved(P, PETSc, method="cg", prefix="", rtol=1e-8, max_it=3000):
    """Iterations, PETSc's reason, and the solution as a vector, by the options in the database."""
    ksp = PETSc.KSP().create(P.getComm())
    ksp.setOptionsPrefix(prefix)
    ksp.setOperators(P)
    ksp.setType(method)
    ksp.setTolerances(rtol=rtol, max_it=max_it)
    ksp.setFromOptions()
    x = P.createVecRight()
    ksp.solve(right_hand_side(P, PETSc), x)
    found = ksp.getIterationNumber(), ksp.getConvergedReason(), x
    ksp.destroy()
    return found
