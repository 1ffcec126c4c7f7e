"""Conjugate gradients inside PETSc on several ranks: the tables of docs/guide/petsc.md.

python -m benchmarks.pages.petsc_ranks
python -m benchmarks.pages.petsc_ranks -matrix poisson -n 120
python -m benchmarks.pages.petsc_ranks -times -n 1000 -only "one hierarchy for all ranks,GAMG"
LINFOREST_MATRICES=FOLDER python -m benchmarks.pages.petsc_ranks -matrix bcspwr10 -ksp_type gmres

Iterations are counted on 1 to 7 ranks; with -times, seconds are measured on 1 and 2. Besides aniso2 and
poisson, a matrix is one in LINFOREST_MATRICES; a graph stands for its grounded Laplacian.
"""

import json
import sys
from pathlib import Path

import petsc4py

import linforest_precond as lf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from petsc_dmda import FOREST, PRECONDITIONERS, solve, table  # noqa: E402

from benchmarks.systems.solve_time_systems import systems  # noqa: E402

RANKS, TIMED_RANKS = (1, 2, 3, 4, 7), (1, 2)
MATRICES = {"aniso2": lambda n: lf.matrices.aniso(2, n), "poisson": lambda n: lf.matrices.poisson((n, n))}
# Beside those of the example.
FURTHER = {
    "approximate inverse for all ranks": f"{FOREST} -pc_linforest_scope global"
    " -pc_linforest_kind approximate_inverse",
    "the choice for all ranks": f"{FOREST} -pc_linforest_scope global -pc_linforest_kind auto",
}


def as_petsc(PETSc, A):
    """A matrix of PETSc with contiguous rows on each rank."""
    comm, n = PETSc.COMM_WORLD, A.shape[0]
    first, last = (n * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    rows = A[first:last]
    csr = rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data
    P = PETSc.Mat().createAIJ(((last - first, n), (last - first, n)), csr=csr, comm=comm)
    P.assemble()
    return P


def has_hypre(PETSc):
    """Whether PETSc was built with hypre."""
    pc = PETSc.PC().create(PETSc.COMM_SELF)
    try:
        pc.setType("hypre")
    except PETSc.Error:
        return False
    finally:
        pc.destroy()
    return True


def main():
    petsc4py.init(sys.argv)
    from petsc4py import PETSc

    options = PETSc.Options()
    name = options.getString("matrix", "aniso2")
    made = MATRICES[name](options.getInt("n", 200)) if name in MATRICES else systems("cpu", 1)[name]().A
    A = as_petsc(PETSc, made)
    lines = {**PRECONDITIONERS, **FURTHER}
    if has_hypre(PETSc):
        lines["hypre BoomerAMG"] = "-pc_type hypre -pc_hypre_type boomeramg"
    only = options.getString("only", ",".join(lines)).split(",")
    measure = in_words if options.getBool("times", False) else iterations
    found = {name: measure(PETSc, A, line) for name, line in lines.items() if name in only}
    if PETSc.COMM_WORLD.rank == 0:
        print(json.dumps(found))


def iterations(PETSc, A, line):
    return solve(PETSc, A, line)[0]


def in_words(PETSc, A, line):
    """Seconds of the setup and of the iterations, and the number of these, of a warm solve."""
    solve(PETSc, A, line)  # compiles
    count, setup, solved = solve(PETSc, A, line)
    return f"{setup:.2f} + {solved:.2f} s, {count}"


if __name__ == "__main__":
    # Ranks are told apart from the program that starts them by an argument.
    if "--rank" in sys.argv:
        sys.argv.remove("--rank")
        main()
    else:
        table(__file__, TIMED_RANKS if "-times" in sys.argv else RANKS, "--rank", *sys.argv[1:])
