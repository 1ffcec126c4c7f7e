"""The public face: a solver that chooses its preconditioner and keeps it, and the functions on top of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.one_solve import OneSolve
from linforest_precond.chooser.outcome import ReportedInfo
from linforest_precond.chooser.report import SolveReport, facts_in_words
from linforest_precond.chooser.system import Choice, Options, System
from linforest_precond.interop.dlpack import native_matrix, takes_foreign_arrays
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.value_range import shifted
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.relaxation.jacobi import jacobi
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.solvers.driver import Callback
from linforest_precond.solvers.history import History


class Solver(Printed):
    """
    Solves systems with one matrix: chooses a direct or an iterative method at the first, and keeps it.

    A scan of A, the fill of its factors and the residuals of the first iterations predict what each method
    would take, in seconds of this machine. What was chosen is kept for further right-hand sides, and for
    further matrices with the same pattern.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. It is kept, not copied.
    rtol, atol : float, optional
        Converged when the norm of b - A x is at most ``max(rtol * norm(b), atol)``, which is verified in
        twice the working precision. The default of rtol is 1e-8, as users of a direct solver expect more
        digits, and 1e-5 in single precision; that of `solvers` is SciPy's, 1e-5.
    method : str
        "auto", or one of "direct", "jacobi", "tridiagonal", "ilu", "approximate_inverse", "multilevel".
    time_limit : float, optional
        Seconds of one solve. When they have passed it ends with the best x so far and the status
        `solvers.Status.TIME_LIMIT`; a setup or a factorization that has begun is not interrupted.
    nullspace : "constant" or array, optional
        What A maps to zero, projected out of b and x, as the solvers have it.
    maxiter : int, optional
        The most iterations of each column in each run; 10 n by default, but not more than 5,000.
    seed : int
        Of the forests and hierarchies.
    calibration : str
        "measured": the numbers of this machine, measured once (0.2 s) and kept in the cache folder.
        "default": a table, with which the choice is the same on every machine.
    verbose : bool
        Show the progress of each run on the standard error output, and leave a line for each.

    Attributes
    ----------
    M : Preconditioner or None
        What was chosen; None before the first solve.
    method : str
        Its name and the Krylov method; before the first solve the argument.
    report : SolveReport
        Of the last solve.

    Notes
    -----
    Right-hand sides after the first are solved by what was chosen for it. When iterations for one matrix have
    taken as long as a direct factorization is expected to take, the next solve factors it.

    Threads may share a solver: each solve has vectors of its own. A pickled solver keeps its choice.

    See Also
    --------
    solve : the same for one right-hand side.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> solver = lf.Solver(A, calibration="default")
    >>> x, info = solver.solve(np.ones(10_000))
    >>> info, solver.method
    (0, 'direct')
    >>> solver = solver.update(2 * A)
    >>> y, info = solver.solve(np.ones(10_000))
    >>> bool(np.allclose(x, 2 * y))
    True
    """

    # No others: an option that is assigned later would have no effect.
    __slots__ = ("__weakref__", "_lock", "_options", "_system", "report")

    @without_numpy_warnings
    def __init__(
        self,
        A: MatrixLike,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        method: str = "auto",
        time_limit: float | None = None,
        nullspace: Any = None,
        maxiter: int | None = None,
        seed: int = 0,
        calibration: str = "measured",
        verbose: bool = False,
    ) -> None:
        self._options = Options.of(
            rtol=rtol, atol=atol, method=method, time_limit=time_limit, nullspace=nullspace, maxiter=maxiter,
            seed=seed, calibration=calibration, verbose=verbose,
        )  # fmt: skip
        # Replaced as a whole, so that a solve in another thread has one matrix from its beginning to its end.
        self._system = System(checked(native_matrix("A", A)))
        self._lock = threading.RLock()
        self.report = SolveReport()
        if method != "auto":
            self._system.candidates(method)  # raises for an unknown name

    @property
    def facts(self) -> Facts:
        """What the matrix shows."""
        return self._system.facts

    @property
    def shape(self) -> tuple[int, int]:
        return self._system.A.shape

    @property
    def dtype(self) -> DType:
        return self._system.A.dtype

    @property
    def M(self) -> Preconditioner | None:  # noqa: N802 - as the solvers call it
        choice = self._system.choice
        return None if choice is None else choice.M

    @property
    def method(self) -> str:
        choice = self._system.choice
        return self._options.method if choice is None else choice.in_words

    @without_numpy_warnings
    @takes_foreign_arrays
    def solve(
        self,
        b: Array,
        x0: Array | None = None,
        *,
        callback: Callback | None = None,
        history: History | None = None,
        report: SolveReport | None = None,
    ) -> tuple[Array, ReportedInfo | npt.NDArray[np.int64]]:
        """Solve A x = b.

        Parameters
        ----------
        b : (n,), (n, 1) or (n, k) array
            One right-hand side, or k of them that are solved for together.
        x0 : array, optional
            The initial guess, of b's shape; 0 by default.
        callback : function, optional
            Called with the current x after each iteration of each run, as those of `solvers` are, and once
            where factors solve the system: as many times as the iterations of `report.trials` add up to.
        history : History, optional
            Records the residuals of all runs, one run after the other, and the one that converged last. Each
            run has a history of its own in `report.trials`.
        report : SolveReport, optional
            Is filled, in place of a new one.

        Returns
        -------
        x : array
            (n,), or (n, k) for k right-hand sides. Where nothing converged, the iterate with the smallest
            residual norm of all runs.
        info : int, or (k,) array of int
            0: converged. Positive: the number of iterations of all runs together, not converged. Negative:
            a `solvers.Status`, such as SINGULAR or UNATTAINABLE. A RuntimeWarning names the cause. It has the
            attribute `report`, a `SolveReport`.

        Raises
        ------
        Interrupted
            A KeyboardInterrupt with the best iterate of all runs, after Ctrl-C; the report is filled.
        """
        if report is not None and not isinstance(report, SolveReport):
            raise TypeError(f"report must be None or a SolveReport, got a {type(report).__name__}")
        report = SolveReport() if report is None else report
        is_chosen = self._system.choice is not None and not self._system.factors_may_have_paid
        with nullcontext() if is_chosen else self._lock:  # other threads wait for the choice
            system, self.report = self._system, report
            solve = OneSolve(system, self._options, b, x0, callback, report, history)
            x, info = solve.result()
            if solve.choice not in (None, system.choice):
                with self._lock:
                    if self._system is system:  # not updated meanwhile
                        self._system = system.chosen(solve.choice)
        return x, info

    def update(self, A: MatrixLike) -> Self:
        """Take another matrix; where it has the same pattern, the choice stays, with new values.

        Where the kept method has become a bad one, the next solve replaces it, by the same rules as any run.
        Factors of the old matrix are first tried as a preconditioner: where the values changed little, that
        takes less than to factor again.
        """
        with self._lock:
            self._system = self._system.updated(checked(native_matrix("A", A)))
        return self

    def matvec(self, b: Array) -> Array:
        """x alone: with it, `scipy.sparse.linalg.eigsh` takes a solver as ``OPinv``."""
        return self.solve(b)[0]

    __matmul__ = matvec

    def __reduce__(self) -> tuple[Callable[..., Solver], tuple[Any, ...]]:
        return _restored, (self._options, self._system.A.given, self._system.choice)

    def _printout(self) -> Printout:
        return Printout.of(
            "solver",
            ("method", self.method),
            *facts_in_words(self.facts),
            *([] if self.M is None else [("bytes held", f"{self.M.nbytes:,}")]),
        )


def _restored(options: Options, A: MatrixLike, choice: Choice | None) -> Solver:
    """The solver of a pickle, with its choice."""
    solver = Solver(A)
    solver._options, solver._system = options, solver._system.chosen(choice)
    return solver


@without_numpy_warnings
@takes_foreign_arrays
def solve(
    A: MatrixLike,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    method: str = "auto",
    time_limit: float | None = None,
    nullspace: Any = None,
    maxiter: int | None = None,
    callback: Callback | None = None,
    history: History | None = None,
    report: SolveReport | None = None,
    seed: int = 0,
    calibration: str = "measured",
    verbose: bool = False,
) -> tuple[Array, ReportedInfo | npt.NDArray[np.int64]]:
    """Solve A x = b with the method that is expected to take the least time.

    A scan of A, the fill of its factors and the residuals of the first iterations predict what a direct
    factorization and each iterative method would take. `Solver` keeps the choice for further right-hand
    sides and matrices.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    b, x0, callback, history, report
        See `Solver.solve`.
    rtol, atol, method, time_limit, nullspace, maxiter, seed, calibration, verbose
        See `Solver`.

    Returns
    -------
    x : array
        (n,), or (n, k) for k right-hand sides.
    info : int, or (k,) array of int
        0 where it converged; see `Solver.solve`. It has the attribute `report`, a `SolveReport`.

    See Also
    --------
    Solver : for several right-hand sides or matrices.
    auto : the preconditioner alone.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> x, info = lf.solve(A, np.ones(A.shape[0]), calibration="default")
    >>> info, info.report.chosen.call
    (0, 'lf.direct(A)')
    """
    solver = Solver(
        A, rtol=rtol, atol=atol, method=method, time_limit=time_limit, nullspace=nullspace, maxiter=maxiter,
        seed=seed, calibration=calibration, verbose=verbose,
    )  # fmt: skip
    return solver.solve(b, x0, callback=callback, history=history, report=report)


@without_numpy_warnings
def auto(
    A: MatrixLike, *, rtol: float | None = None, seed: int = 0, calibration: str = "measured"
) -> Preconditioner:
    """The preconditioner that `solve` would take, found on a random right-hand side.

    The runs end as soon as the choice is clear, usually after a few iterations.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    rtol : float, optional
        The tolerance of the solves that it is for, as that of `solve`: the smaller, the more an expensive
        setup pays.
    seed : int
        Of the right-hand side, the forests and the hierarchies.
    calibration : str
        As that of `Solver`.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library, of the kind that was chosen. ``print(M)`` names the choice, the
        Krylov method that it was tried with, and the candidates that it was compared with.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> M = lf.auto(lf.matrices.poisson((100, 100)), calibration="default")
    >>> M.kind
    'direct'
    """
    system = System(checked(native_matrix("A", A)))
    A = system.A
    options = Options.of(rtol=rtol, seed=seed, calibration=calibration)
    if not A.n:
        return jacobi(A)
    random = np.random.default_rng(options.seed % 2**64).standard_normal(A.n)
    b = x = A.backend.xp.asarray(random.astype(A.dtype))
    if A.centered or A.zero_rows.size > 0:  # b must be in the range of A
        b = A @ shifted(x, -max(0, A.largest_exponent))
    return OneSolve(system, options, b).chooser.settled()
