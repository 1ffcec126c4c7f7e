"""Linear elasticity inside PETSc on any number of ranks, by the options of a file or of the command line.

    mpiexec -n 2 python examples/petsc_elasticity.py -options_file examples/petsc_elasticity.options
    mpiexec -n 2 python examples/petsc_elasticity.py -ksp_type cg -ksp_rtol 1e-8 -pc_type gamg

A clamped beam of squares of bilinear elements. As in Firedrake and DOLFINx, the matrix has two unknowns for
each node, and the rigid body modes are attached to it as its near-null space.
"""

import sys

import numpy as np
import petsc4py


def main():
    petsc4py.init(sys.argv)
    from petsc4py import PETSc

    import linforest_precond as lf

    comm, options = PETSc.COMM_WORLD, PETSc.Options()
    A, coordinates = lf.matrices.elasticity((options.getInt("nx", 120), options.getInt("ny", 30)))
    nodes = A.shape[0] // 2
    first, last = (2 * (nodes * rank // comm.size) for rank in (comm.rank, comm.rank + 1))
    P = as_petsc(PETSc, A, first, last)
    P.setNearNullSpace(rigid_body_modes(PETSc, P, lf.rigid_body_modes(coordinates)[first:last]))

    ksp = PETSc.KSP().create(comm)
    ksp.setOperators(P)
    ksp.setFromOptions()
    x, b = P.createVecs()
    b.set(1.0)
    ksp.solve(b, x)
    PETSc.Sys.Print(f"{comm.size} ranks, {A.shape[0]} unknowns: {ksp.getIterationNumber()} iterations")
    converged = ksp.getConvergedReason() > 0
    ksp.destroy()
    sys.exit(not converged)


def as_petsc(PETSc, A, first, last):
    """The rows of this rank, in a parallel matrix with two unknowns for each node."""
    rows, n = A[first:last], A.shape[0]
    csr = rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data
    P = PETSc.Mat().createAIJ(((last - first, n), (last - first, n)), bsize=2, csr=csr, comm=PETSc.COMM_WORLD)
    P.assemble()
    return P


def rigid_body_modes(PETSc, P, modes):
    """The near-null space of this rank's rows of the modes; PETSc wants them orthonormal."""
    vectors = []
    for mode in modes.T:
        vector = P.createVecLeft()
        vector.setArray(np.ascontiguousarray(mode))
        for other in vectors:
            vector.axpy(-vector.dot(other), other)
        vector.normalize()
        vectors.append(vector)
    return PETSc.NullSpace().create(vectors=vectors, comm=P.getComm())


if __name__ == "__main__":
    main()
