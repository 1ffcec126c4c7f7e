"""A user's script: type checkers accept what is right in it, and refuse what is marked as wrong.

`make lint` checks it with the package (an unused `type: ignore` is an error there), and
`test_type_checkers.py` checks it as a user's own settings do.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import linforest_precond as lf


def right() -> None:
    A = lf.matrices.poisson((20, 20))
    b = np.ones(A.shape[0])
    M = lf.tridiagonal(A, "forest", scaling="equilibrate", ties="index", repair="none", combine="additive")
    assert_type(M @ b, npt.NDArray[Any])
    assert_type(M.T @ b, npt.NDArray[Any])
    assert_type(M.H.T @ b, npt.NDArray[Any])
    assert_type(M.matvec(b), npt.NDArray[Any])
    assert_type(M.nbytes, int)
    assert_type(M.setup_time, float)
    assert_type(M.positive_definite, bool)
    assert_type(M.repairs, dict[str, float])
    assert_type(M.coverage, float)
    history = lf.solvers.History()
    x, info = lf.solvers.cg(A, b, M=M, history=history)
    assert_type(x, npt.NDArray[Any])
    assert_type(info, int | npt.NDArray[np.int64])
    print(info == 0, x.shape, history.residuals[-1], lf.solvers.Status.CONVERGED.advice)
    y, _ = lf.solvers.bicgstab(A, b, M=M.T)
    z, _ = lf.solve(A, b, report=lf.SolveReport())
    print((x - y) @ z)


def right_about_others() -> None:
    A = lf.matrices.aniso(2, 20)
    b = np.ones(A.shape[0])
    ml = lf.multilevel(A, coarsening="matching", smoother="l1_jacobi", cycle="K", weights="magnitude")
    x, _ = lf.solvers.fcg(A, b, M=ml.aspreconditioner("V"))
    y = ml.solve(b, accel="cg", cycle="W")
    order = lf.graph.reverse_cuthill_mckee(A)
    operators = [
        lf.tridiagonal(A, order),
        lf.tridiagonal(A, lf.linear_forest(A, ties="random", charge="md5")),
        lf.block_tridiagonal(A, m="auto"),
        lf.jacobi(A, scaling=lf.scaling(A, "matching")),
        lf.block_jacobi(A, 3),
        lf.ilu(A, ordering="natural"),
        lf.approximate_inverse(A, method="spai"),
    ]
    count, labels = lf.graph.connected_components(A)
    assert_type(lf.graph.connected_components(A, return_labels=False), int)
    print(count, labels.max(), x @ y, [M.kind for M in operators])


def wrong() -> None:
    A = lf.matrices.poisson((20, 20))
    M = lf.tridiagonal(A, "forrest")  # type: ignore[arg-type]
    lf.tridiagonal(A, repair="some")  # type: ignore[arg-type]
    lf.tridiagonal(A, scaling="match")  # type: ignore[arg-type]
    lf.ilu(A, ordering="color")  # type: ignore[arg-type]
    lf.multilevel(A, cycle="Y")  # type: ignore[arg-type]
    lf.multilevel(A, smoother="kaczmarz")  # type: ignore[arg-type]
    M.setup_tim  # type: ignore[attr-defined]  # noqa: B018
    lf.solvers.cg(A, M=M)  # type: ignore[call-arg]


if __name__ == "__main__":
    right()
    right_about_others()
