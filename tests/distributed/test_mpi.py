"""Ranks of MPI: the results of one rank, and how a job ends when a rank fails."""

import numpy as np
import pytest
from test_krylov import solved, system

SOLVE = """
    import sys
    import numpy as np, scipy.sparse as sp
    import linforest_precond as lf
    from linforest_precond import distributed
    from linforest_precond.distributed import Matrix, communicator_of, scatter

    def refused(function):
        try:
            function()
        except (TypeError, ValueError) as error:
            messages = comm.allgather(str(error))
            assert len(set(messages)) == 1, messages
            return messages[0]
        raise AssertionError("not refused")

    comm = communicator_of()
    assert communicator_of() is comm
    given = np.load(sys.argv[1])
    A = sp.csr_array((given["data"], given["indices"], given["indptr"]))
    b = given["b"]
    offsets = np.array([0, *given["cuts"], A.shape[0]])
    # Rank 0 alone has the matrix; rank 1 gets no rows.
    parts = scatter(A if comm.rank == 0 else None, comm, offsets)
    own = slice(parts.first, parts.first + parts.n_local)
    columns = parts @ np.stack([b, 2 * b], axis=1)[own]
    assert np.array_equal(columns, (A @ np.stack([b, 2 * b], axis=1))[own])
    assert (parts @ np.empty((parts.n_local, 0))).shape == (parts.n_local, 0)
    assert np.allclose(parts.T @ b[own], (A.T @ b)[own])
    for method in ("cg", "bicgstab", "fcg"):
        history = lf.solvers.History()
        x, info = getattr(distributed, method)(parts, b[own], history=history, maxiter=12)
        assert np.array_equal(x, given[method + "_x"][own])
        assert history.residuals.tobytes() == given[method].tobytes()

    wrong = np.ones(parts.n_local, [np.float64, np.float64, np.float32][comm.rank])
    assert "dtype of b must be the same" in refused(lambda: distributed.cg(parts, wrong))
    assert "rank 2: b must be finite" in refused(
        lambda: distributed.cg(parts, np.full(parts.n_local, np.nan if comm.rank == 2 else 1.0))
    )
    assert "options of a solver" in refused(lambda: distributed.cg(parts, b[own], rtol=0.1 ** comm.rank))
    assert "ranks have 6 rows" in refused(lambda: Matrix(sp.csr_array((2, 5)), comm))
    assert "rank 1: A must be a sparse" in refused(lambda: Matrix(None if comm.rank == 1 else A[:3], comm))
    if comm.rank == 0:
        print("all ranks agree", flush=True)
"""


def test_ranks_of_mpi_have_the_bits_of_one_rank(mpiexec, tmp_path):
    A, b = system("cg", np.float64)
    arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "b": b, "cuts": [20, 20]}
    for method in ("cg", "bicgstab", "fcg"):
        x, seen = solved(1, method, A, b, preconditioned=False, maxiter=12)
        arrays |= {method: np.frombuffer(seen[1]), f"{method}_x": x}
    np.savez(tmp_path / "given.npz", **arrays)
    done = mpiexec(3, SOLVE, tmp_path / "given.npz")
    assert done.code == 0 and "all ranks agree" in done.output, done.output


FAIL = """
    import os, signal, sys
    import numpy as np
    import linforest_precond as lf
    from linforest_precond import distributed
    parts = distributed.scatter(lf.matrices.poisson((6, 6)))

    def fail(x):
        if parts.comm.rank == 1:
            {failure}
        return x

    from scipy.sparse.linalg import LinearOperator
    M = LinearOperator((parts.n_local, parts.n_local), fail, dtype=float)
    distributed.cg(parts, np.ones(parts.n_local), M=M)
    print("a rank went on", flush=True)
"""


def test_a_rank_that_raises_ends_the_job_with_its_traceback(mpiexec):
    done = mpiexec(2, FAIL.format(failure='raise RuntimeError("no more")'))
    assert done.code != 0 and "went on" not in done.output
    assert "rank 1 failed:" in done.output and "RuntimeError: no more" in done.output
    assert "in fail" in done.output, "the traceback names the function"


@pytest.mark.slow
@pytest.mark.parametrize(
    "failure",
    ["sys.exit(3)", "parts @ np.ones(5)", "return x[:-1]", "os.kill(os.getpid(), signal.SIGKILL)"],
)
def test_other_failures_end_the_job(mpiexec, failure):
    done = mpiexec(3, FAIL.format(failure=failure))
    assert done.code != 0 and "went on" not in done.output


@pytest.mark.slow
def test_an_error_of_the_program_itself_ends_the_job_under_mpi4py(mpiexec):
    program = """
        from linforest_precond.distributed import communicator_of
        comm = communicator_of()
        if comm.rank == 1:
            raise RuntimeError("of the program")
        comm.barrier()
    """
    done = mpiexec(2, program, flags=("-m", "mpi4py"))
    assert done.code != 0 and "RuntimeError: of the program" in done.output
