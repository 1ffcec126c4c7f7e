"""Anisotropic diffusion on a grid of PETSc's DMDA, solved by conjugate gradients on any number of ranks.

    mpiexec -n 4 python examples/petsc_dmda.py           # the iterations of several preconditioners
    python examples/petsc_dmda.py --table                # a table of them for 1, 2 and 4 ranks

The equation is -div(K grad u) = 1 in the unit cube, with u = 0 on its surface. K is 100 along x in the lower
half, along z in the upper half, and 1 across. The forest finds these directions in the matrix.

Slabs of planes make PETSc's numbering that of one rank, and so the global forest that of one rank: equal
iterations. With ``-boxes`` PETSc cuts the grid into boxes and numbers the unknowns box by box.
"""

import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import petsc4py
import scipy.sparse as sp

FOREST = "-pc_type python -pc_python_type linforest_precond.petsc.PC"
PRECONDITIONERS = {
    "one forest for all ranks": f"{FOREST} -pc_linforest_scope global",
    "one forest of 2 x 2 blocks": f"{FOREST} -pc_linforest_scope global -pc_linforest_kind block_tridiagonal",
    "one hierarchy for all ranks": f"{FOREST} -pc_linforest_scope global -pc_linforest_kind multilevel "
    "-pc_linforest_cycle V",
    "a forest for each rank": FOREST,
    "bjacobi, ILU(0)": "-pc_type bjacobi -sub_pc_type ilu",
    "Jacobi": "-pc_type jacobi",
    "GAMG": "-pc_type gamg",
}


def make_grid(PETSc, n, boxes):
    """A grid of n**3 unknowns; without `boxes` a rank has whole planes."""
    comm = PETSc.COMM_WORLD
    ranks = None if boxes else (1, 1, comm.size)
    return PETSc.DMDA().create(
        (n, n, n), stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR, proc_sizes=ranks, comm=comm
    )


def assemble(grid):
    """The 7-point matrix: each rank computes the rows of its unknowns."""
    own = [slice(*ends) for ends in reversed(grid.getRanges())]  # z, y, x: x is numbered first
    ghosts = [slice(*ends) for ends in reversed(grid.getGhostRanges())]
    numbers = np.asarray(grid.getLGMap().getIndices()).reshape([part.stop - part.start for part in ghosts])
    place = np.meshgrid(*(np.arange(part.start, part.stop) for part in own), indexing="ij")
    n = grid.getSizes()[0]
    rows = take(numbers, place, ghosts).ravel()
    diagonal, entries = np.zeros(rows.size), []
    for axis, coefficient in enumerate(diffusion(place[1], n)):
        for step in (-1, 1):
            other = [index + step * (k == axis) for k, index in enumerate(place)]
            inside = ((other[axis] >= 0) & (other[axis] < n)).ravel()
            columns = take(numbers, [index.clip(0, n - 1) for index in other], ghosts).ravel()
            diagonal += coefficient.ravel()
            entries.append((rows[inside], columns[inside], -coefficient.ravel()[inside]))
    entries.append((rows, rows, diagonal))
    return as_petsc(grid, entries, rows.size, n**3)


def take(numbers, place, ghosts):
    """PETSc's numbers of grid points, from those of this rank's part of the grid with its ghosts."""
    return numbers[tuple(index - part.start for index, part in zip(place, ghosts))]


def diffusion(y, n):
    """The coefficients along z, y and x."""
    lower = y < n // 2
    return np.where(lower, 1.0, 100.0), np.ones(y.shape), np.where(lower, 100.0, 1.0)


def as_petsc(grid, entries, own, n):
    """A matrix of PETSc from triplets (rows, columns, values) with global numbers."""
    A = grid.createMatrix()
    first, _ = A.getOwnershipRange()
    rows, columns, values = map(np.concatenate, zip(*entries))
    csr = sp.csr_array((values, (rows - first, columns)), shape=(own, n))
    A.setValuesCSR(csr.indptr, csr.indices, csr.data)
    A.assemble()
    return A


def solve(PETSc, A, options):
    """CG by options as on PETSc's command line: its iterations, None if it does not converge, and the seconds
    of the setup and of the iterations."""
    database = PETSc.Options()
    for word in options.split():
        if word.startswith("-"):
            name = word[1:]
        else:
            database.setValue(name, word)
    ksp = PETSc.KSP().create(A.getComm())
    ksp.setOperators(A)
    ksp.setType("cg")
    ksp.setTolerances(rtol=1e-8, max_it=5000)
    ksp.setFromOptions()
    x, b = A.createVecs()
    b.set(1.0)
    times = [time.perf_counter()]
    for step in (ksp.setUp, lambda: ksp.solve(b, x)):
        step()
        times.append(time.perf_counter())
    count = ksp.getIterationNumber() if ksp.getConvergedReason() > 0 else None
    ksp.destroy()
    for word in options.split():
        if word.startswith("-"):
            database.delValue(word[1:])
    return count, *np.diff(times).tolist()


def main():
    petsc4py.init(sys.argv)
    from petsc4py import PETSc

    options = PETSc.Options()
    n, boxes = options.getInt("n", 40), options.getBool("boxes", False)
    A = assemble(make_grid(PETSc, n, boxes))
    counts = {name: solve(PETSc, A, line)[0] for name, line in PRECONDITIONERS.items()}
    if A.getComm().rank == 0:
        print(json.dumps(counts))


def table(program, ranks, *arguments):
    """Run a program that prints its counts on several numbers of ranks; print them as a table."""
    mpiexec = [shutil.which("mpiexec"), "-n"]
    environment = {"OMPI_MCA_rmaps_base_oversubscribe": "1", **os.environ}  # more ranks than cores
    found = {}
    for count in ranks:
        command = [*mpiexec, str(count), sys.executable, program, *arguments]
        output = subprocess.check_output(command, text=True, env=environment)
        found[count] = json.loads(output.splitlines()[-1])
    print("| preconditioner |" + "".join(f" {count} |" for count in ranks))
    print("|---|" + "--:|" * len(ranks))
    for name in found[ranks[0]]:
        print(f"| {name} |" + "".join(f" {found[count][name]} |" for count in ranks))


if __name__ == "__main__":
    if "--table" in sys.argv:
        table(__file__, (1, 2, 4), *(word for word in sys.argv[1:] if word != "--table"))
    else:
        main()
