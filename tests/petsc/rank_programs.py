"""Programs that tests run on several ranks: ``mpiexec -n 3 python rank_programs.py NAME [arguments]``.

Rank 0 prints one line of JSON at the end.
"""

import json
import sys

import petsc4py

petsc4py.init(sys.argv[:1])

import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402
from petsc_cases import (  # noqa: E402
    MATRICES,
    PYTHON,
    SYMMETRIC,
    as_petsc,
    error_of_callback,
    options_of,
    right_hand_side,
    solved,
)

import linforest_precond as lf  # noqa: E402
import linforest_precond.petsc  # noqa: E402

COMM = PETSc.COMM_WORLD
GLOBAL = f"{PYTHON} -pc_linforest_scope global"


def put(line):
    """Options in the database, after those of the solve before are removed."""
    database = PETSc.Options()
    for name in database.getAll():
        database.delValue(name)
    database.insertString(line)


def whole(x):
    """A vector on all ranks."""
    return np.concatenate(COMM.tompi4py().allgather(x.getArray()))


def method_for(name):
    return "cg" if name in SYMMETRIC else "bcgs"


def solve_all(line, *names):
    """Iterations and solutions of several matrices by the options of a line."""
    found = {}
    for name in names:
        put(line)
        iterations, reason, x = solved(as_petsc(MATRICES[name](), PETSc), PETSc, method_for(name))
        found[name] = {"iterations": iterations, "reason": reason, "x": whole(x).tolist()}
    return found


def solve_kinds(*kinds):
    """The same for all matrices, with one preconditioner for all ranks, by its kind."""
    return {kind: solve_all(f"{GLOBAL} {options_of(kind)}", *MATRICES) for kind in kinds}


def real_matrices(kind, *names):
    """Iterations of GMRES and the product of the preconditioner, for matrices of the collection."""
    from conftest import load_real

    found = {}
    for name in names:
        put(f"{GLOBAL} -pc_linforest_kind {kind}")
        P = as_petsc(load_real(name), PETSc)
        pc = preconditioner(P)
        b, x = right_hand_side(P, PETSc), P.createVecRight()
        pc.apply(b, x)
        pc.destroy()
        iterations, reason, _ = solved(P, PETSc, "gmres", rtol=1e-6, max_it=400)
        found[name] = {"product": whole(x).tolist(), "iterations": iterations, "reason": reason}
    return found


def preconditioner(P, prefix=""):
    """A PC by the options of the database, set up."""
    pc = PETSc.PC().create(P.getComm())
    pc.setOptionsPrefix(prefix)
    pc.setOperators(P)
    pc.setFromOptions()
    pc.setUp()
    return pc


def products_of(name, *lines):
    """The products for several lines of options."""
    return [products(line, name) for line in lines]


def products(line, name):
    """Products with the preconditioner: of a vector, of the transpose, of columns, and after an update."""
    put(line)
    P = as_petsc(MATRICES[name](), PETSc)
    pc = preconditioner(P)
    b, x = right_hand_side(P, PETSc), P.createVecRight()
    pc.apply(b, x)
    found = {"product": whole(x).tolist()}
    pc.applyTranspose(b, x)
    found["transpose"] = whole(x).tolist()
    found["columns"] = columns(pc, P, b)
    before = pc.getPythonContext()._made
    P.shift(1.0)
    pc.setUp()
    pc.apply(b, x)
    found |= {"updated": whole(x).tolist(), "kept": before is pc.getPythonContext()._made}
    pc.applyTranspose(b, x)
    found["transpose_updated"] = whole(x).tolist()
    pc.destroy()
    return found


def products_by_type(line, *forms):
    """The product with the preconditioner of a symmetric matrix that is stored in several types."""
    P = as_petsc(MATRICES["aniso2"](), PETSc)
    P.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    found = []
    for form in forms:
        put(line)
        pc = preconditioner(PETSc.Mat().createNest([[P]]) if form == "nest" else P.convert(form, PETSc.Mat()))
        b, x = right_hand_side(P, PETSc), P.createVecRight()
        pc.apply(b, x)
        pc.destroy()
        found.append(whole(x).tolist())
    return found


def columns(pc, P, b):
    (own, n), _ = P.getSizes()
    X = PETSc.Mat().createDense(((own, n), (None, 3)), comm=COMM)
    X.setUp()
    X.getDenseArray()[...] = b.getArray()[:, None] * np.array([1.0, 2.0, 4.0])
    X.assemble()
    Y = X.duplicate()
    pc.matApply(X, Y)
    return np.concatenate(COMM.tompi4py().allgather(np.array(Y.getDenseArray()))).tolist()


def printed(line, name, path):
    """What -pc_view prints."""
    put(line)
    pc = preconditioner(as_petsc(MATRICES[name](), PETSc))
    viewer = PETSc.Viewer().createASCII(path, comm=COMM)
    pc.view(viewer)
    viewer.destroy()
    pc.destroy()
    return None


def freed(line):
    """The communicator of a PC is given back when the PC is destroyed."""
    put(line)
    pc = preconditioner(as_petsc(MATRICES["small"](), PETSc))
    comm = pc.getPythonContext()._comm
    pc.destroy()
    return not comm.comm


def options_differ(line, own):
    """Rank 1 has another option than the others: the same error on all ranks, which each of them catches."""
    put(line + (" " + own if COMM.rank == 1 else ""))
    try:
        preconditioner(as_petsc(MATRICES["aniso1"](), PETSc))
    except Exception as error:
        return COMM.tompi4py().allgather(printed_error(error))
    return None


def printed_error(error):
    """Apart from the frame of PETSc's objects: if an error kept them, petsc4py 3.18 would crash at exit."""
    error = error_of_callback(error, PETSc)
    return f"{type(error).__name__}: {error}"


def one_rank_raises(line, where):
    """Rank 1 fails in a callback of the preconditioner, and the others wait for it."""
    put(line)

    class Failing(lf.petsc.PC):
        def fail(self, pc, *arguments):
            if COMM.rank == 1:
                raise RuntimeError(f"broken in {where}")

    setattr(Failing, where, Failing.fail)
    P = as_petsc(MATRICES["aniso1"](), PETSc)
    ksp = PETSc.KSP().create(COMM)
    ksp.setOperators(P)
    ksp.getPC().setType("python")
    ksp.getPC().setPythonContext(Failing())
    b = right_hand_side(P, PETSc)
    ksp.solve(b, b.duplicate())


def bad_block(line):
    """One rank has a NaN in its rows."""
    put(line)
    A = MATRICES["aniso1"]()
    A.data[-1] = np.nan
    solved(as_petsc(A, PETSc), PETSc)


def nan_messages(line):
    """The errors of all ranks where the first diagonal entry of rank 1 is NaN."""
    put(line)
    P = as_petsc(MATRICES["aniso1"](), PETSc)
    first = P.getOwnershipRange()[0]
    if COMM.rank == 1:
        P.setValue(first, first, np.nan)
    P.assemble()
    pc = PETSc.PC().create(COMM)
    pc.setOperators(P)
    pc.setFromOptions()
    message = ""
    try:
        pc.setUp()
        pc.setUpOnBlocks()
    except Exception as error:
        message = printed_error(error)
    pc.destroy()
    return COMM.tompi4py().allgather(message)


def rank_is_killed(line):
    """The last rank ends without a word while others wait for it."""
    import os
    import signal

    put(line)
    P = as_petsc(MATRICES["aniso1"](), PETSc)
    if COMM.rank == COMM.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    solved(P, PETSc)


def main():
    result = globals()[sys.argv[1]](*sys.argv[2:])
    if COMM.rank == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
