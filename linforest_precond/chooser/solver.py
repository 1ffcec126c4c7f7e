"""The public face: a solver that chooses its preconditioner and keeps it, and the functions on top of it."""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.chooser.candidates import Candidate, candidates_on
from linforest_precond.chooser.chooser import TOTAL, Chooser
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.factors import Factors
from linforest_precond.chooser.facts import Facts, facts_of
from linforest_precond.chooser.machine import Machine
from linforest_precond.chooser.outcome import Info, Infos, complaint, info_of, is_inconsistent, quietly
from linforest_precond.chooser.report import SolveReport, TrialReport
from linforest_precond.chooser.trials import Trial, method_for
from linforest_precond.interop.dlpack import native_matrix, takes_foreign_arrays
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.jacobi import jacobi
from linforest_precond.precond.pattern_digest import pattern_digest
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.solvers.driver import SLACK, Callback
from linforest_precond.solvers.problem import Problem, checked_problem
from linforest_precond.solvers.scaling import unscaled_callback
from linforest_precond.solvers.singular import LastFinite
from linforest_precond.solvers.status import Interrupted, Status

# The most iterations of a run, unless the user says otherwise.
MOST_ITERATIONS = 5000
# Iterations of all runs together on a matrix without full structural rank: enough for a b in its range.
SINGULAR_ITERATIONS = 120


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
    rtol, atol : float
        Converged when the norm of b - A x is at most ``max(rtol * norm(b), atol)``, which is verified in
        twice the working precision.
    method : str
        "auto", or one of "direct", "jacobi", "tridiagonal", "ilu", "approximate_inverse", "multilevel".
    time_limit : float, optional
        Seconds of one solve. When they have passed it ends with the best x so far and the status
        `solvers.Status.TIME_LIMIT`; a setup or a factorization that has begun is not interrupted.
    nullspace : "constant" or array, optional
        What A maps to zero, projected out of b and x, as the solvers have it.
    maxiter : int, optional
        The most iterations of each run; 10 n by default, but not more than 5,000.
    seed : int
        Of the forests and hierarchies.
    calibration : str
        "measured": the numbers of this machine, measured once (0.1 s) and kept in the cache folder.
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
    (0, 'direct with cg')
    >>> solver.update(2 * A)
    >>> y, info = solver.solve(np.ones(10_000))
    >>> bool(np.allclose(x, 2 * y))
    True
    """

    @without_numpy_warnings
    def __init__(
        self,
        A: MatrixLike,
        *,
        rtol: float = 1e-8,
        atol: float = 0.0,
        method: str = "auto",
        time_limit: float | None = None,
        nullspace: Any = None,
        maxiter: int | None = None,
        seed: int = 0,
        calibration: str = "measured",
        verbose: bool = False,
    ) -> None:
        self._rtol, self._atol, self._nullspace = rtol, atol, nullspace
        self._maxiter, self._verbose = maxiter, verbose
        self._wanted, self._seed, self._calibration = method, as_integer("seed", seed), calibration
        self._limit = _checked_limit(time_limit)
        # The candidate, M, the Krylov method, and the iterations that it took.
        self._kept: tuple[str, Preconditioner, str, int] | None = None
        self._is_stale, self._lock = False, threading.RLock()
        self.report = SolveReport()
        self._take(A)
        if method != "auto":
            self._candidates()  # a name that is none raises

    def _take(self, A: MatrixLike) -> None:
        self._A = A = checked(native_matrix("A", A))
        self._facts: Facts | None = None
        self._factors = Factors(A)

    @property
    def facts(self) -> Facts:
        """What the matrix shows."""
        if self._facts is None:
            self._facts = facts_of(self._A)
        return self._facts

    @property
    def shape(self) -> tuple[int, int]:
        return self._A.n, self._A.n

    @property
    def M(self) -> Preconditioner | None:  # noqa: N802 - as the solvers call it
        return None if self._kept is None else self._kept[1]

    @property
    def method(self) -> str:
        return self._wanted if self._kept is None else f"{self._kept[0]} with {self._kept[2]}"

    def _candidates(self) -> list[Candidate]:
        found = candidates_on(self._A.backend.name, self.facts)
        if self._wanted == "auto":
            return list(found)
        named = [each for each in found if each.name == self._wanted]
        if not named:
            names = ", ".join(f'"{each.name}"' for each in found)
            raise ValueError(f'method must be "auto" or one of {names} for this A, got {self._wanted!r}')
        return named

    @without_numpy_warnings
    def solve(
        self,
        b: Array,
        x0: Array | None = None,
        *,
        callback: Callback | None = None,
        report: SolveReport | None = None,
    ) -> tuple[Array, Info | npt.NDArray[np.int64]]:
        """Solve A x = b.

        Parameters
        ----------
        b : (n,), (n, 1) or (n, k) array
            One right-hand side, or k of them that are solved for together.
        x0 : array, optional
            The initial guess, of b's shape; 0 by default.
        callback : function, optional
            Called with the current x after each iteration of each run.
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
        kept = self._kept
        if kept is not None:
            return _Solve(self, b, x0, callback, report).result(kept)
        with self._lock:
            return _Solve(self, b, x0, callback, report).result(self._kept)

    def update(self, A: MatrixLike) -> None:
        """Take another matrix; where it has the same pattern, the choice stays, with new values.

        Where the kept method has become a bad one, the next solve replaces it, by the same rules as any run.
        Factors of the old matrix are first tried as a preconditioner: where the values changed little, that
        takes less than to factor again.
        """
        with self._lock:
            counted = self._factors.counted
            self._take(A)
            if self._kept is None:
                return
            name, M, method, iterations = self._kept
            try:
                M._pattern.require_same(pattern_digest(self._A))
            except ValueError:  # another pattern
                self._kept, self._is_stale = None, False
                return
            if name == "direct":
                self._factors, self._is_stale = Factors(self._A, counted), True
                return
            M = M.frozen()
            M.update(self._A.given)
            self._kept = name, M, method, iterations

    def __matmul__(self, b: Array) -> Array:
        return self.solve(b)[0]

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_A": self._A.given}
        for name in ("_lock", "_factors", "_facts", "report"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock(), report=SolveReport())
        self._take(state["_A"])

    def _printout(self) -> Printout:
        return Printout.of(
            "solver",
            ("method", self.method),
            *self.facts.described(),
            *([] if self.M is None else [("bytes held", f"{self.M.nbytes:,}")]),
        )


def _checked_limit(time_limit: Any) -> float:
    if time_limit is None:
        return math.inf
    if not isinstance(time_limit, int | float | np.number) or not time_limit > 0:
        raise ValueError(f"time_limit must be None or a positive number of seconds, got {time_limit!r}")
    return float(time_limit)


class _Solve:
    """One solve: the checked problem, the trials and their result."""

    def __init__(
        self, solver: Solver, b: Array, x0: Array | None, callback: Callback | None, report: SolveReport
    ) -> None:
        self._solver, self._report, self._end = solver, report, time.perf_counter() + solver._limit
        A, backend = solver._A, solver._A.backend
        most = min(10 * A.n, MOST_ITERATIONS) if solver._maxiter is None else solver._maxiter
        # Products with a dense array are its own.
        operand = A if hasattr(A.given, "tocsr") else A.given
        self.problem: Problem = checked_problem(
            operand, b, x0, solver._rtol, solver._atol, most, None, callback, None, solver._nullspace
        )
        self._callback = unscaled_callback(callback, self.problem.scaling)
        machine, host = (Machine.of(each, solver._calibration) for each in (backend, backend_named("cpu")))
        columns = max(1, self.problem.b.shape[1])
        self._cost = CostModel.of(A, self.problem.b.dtype, columns, machine, host)
        facts = solver.facts
        if facts.structural_rank < A.n:
            most = min(most, SINGULAR_ITERATIONS // TOTAL)
        self.chooser = Chooser(
            solver._candidates(), facts, self._cost, self._start, self._forecast,
            _digits(self.problem), most, lambda: self._end - time.perf_counter(),
        )  # fmt: skip
        self._made: dict[str, Preconditioner] = {}

    def result(self, kept: Any) -> tuple[Array, Any]:
        """x and info; the report is filled, and the choice kept."""
        solver, problem = self._solver, self.problem
        if not problem.b.size:
            return _empty_solution(problem, self._report)
        if problem.x0 is not None and self._is_solved_by(problem.x0):
            return self._ended(problem.x0.copy(), np.zeros(problem.b.shape[1], np.int64), None)
        if solver._nullspace is None and is_inconsistent(problem, solver.facts):
            x, norms = self._best()
            return self._ended(x, np.full(norms.shape, int(Status.SINGULAR)), None)
        try:
            first = None if kept is None else self._kept_trial(*kept[:3])
            chosen = self.chooser.run(first, 0 if kept is None else kept[3])
            x, info = self._solution(chosen)
        except KeyboardInterrupt:
            if not self.chooser.trials:  # in the first setup: there is no x yet
                raise
            x, _ = self._best()
            self._fill(None, "Ctrl-C ended the runs.")
            raise Interrupted(x.reshape(-1) if problem.one else x) from None
        finally:
            for trial in self.chooser.trials:
                trial.close()
        if chosen is not None:
            solver._kept = chosen.candidate.name, chosen.M, chosen.method, chosen.iterations
            solver._is_stale = solver._is_stale and chosen is first
        return self._ended(x, info, chosen)

    def _is_solved_by(self, x0: Array) -> bool:
        """Whether x0 meets the tolerance."""
        problem = self.problem
        if problem.null_space is not None or not problem.scaling.is_identity:
            return False
        return bool((problem.residual_norms(x0) <= problem.targets).all())

    def settled(self) -> Preconditioner:
        """The preconditioner of the run that ends soonest, or came closest."""
        chooser = self.chooser
        try:
            chosen = chooser.run(settle=True) or min(chooser.trials, key=lambda trial: trial.digits[-1])
        finally:
            for trial in chooser.trials:
                trial.close()
        tried = ", ".join(dict.fromkeys(trial.candidate.name for trial in chooser.trials))
        chosen.M.choice = f"{chosen.candidate.call} with lf.solvers.{chosen.method}; tried: {tried}"
        return chosen.M

    def _kept_trial(self, name: str, M: Preconditioner, method: str) -> Trial:
        """A run with what an earlier solve chose."""
        candidate = next(each for each in self.chooser.untried if each.name == name)
        trial = self._trial(candidate, M, method, 0.0, None)
        trial.is_stale = self._solver._is_stale
        return trial

    def _start(self, candidate: Candidate, method: str, present: Trial | None) -> Trial | None:
        """A trial from the x of the present one if that is given and better than x0."""
        # Factors that are asked for again did not suffice.
        solver, M = self._solver, None if candidate.is_direct else self._made.get(candidate.name)
        setup = 0.0 if M is not None else self.chooser.setup(candidate)
        try:
            if M is None and candidate.is_direct:
                M = solver._factors.made()
            elif M is None:
                M = quietly(candidate.make, solver._A, solver._seed)
        except (MemoryError, OverflowError, ValueError) as error:
            if candidate.name == "jacobi":
                raise
            self.chooser.events.append(f"{candidate.name} cannot be set up: {error}")
            self.chooser.has_no_factors |= candidate.is_direct and isinstance(error, np.linalg.LinAlgError)
            return None
        self._made[candidate.name] = M
        x = present.x.copy() if present is not None and present.is_better_than_its_start else None
        return self._trial(candidate, M, method_for(M, method), setup, x)

    def _trial(
        self, candidate: Candidate, M: Preconditioner, method: str, setup: float, x: Array | None
    ) -> Trial:
        iteration = self._cost.iteration(method, candidate.application)
        if candidate.is_direct:
            iteration += self._solver._factors.iteration(self._cost)
        x_true = self._report.x_true
        trial = Trial(candidate, M, method, self.problem, setup, iteration, self._callback, x, x_true)
        trial.show(self._solver._verbose)
        return trial

    def _forecast(self, most: float) -> float:
        return self._solver._factors.seconds(self._cost, most)

    def _solution(self, chosen: Trial | None) -> tuple[Array, npt.NDArray[np.int64]]:
        """The solution, or the best iterates, and info."""
        if chosen is not None:
            x = chosen.solution()
            assert chosen.info is not None
            if not chosen.info.any():
                return x, chosen.info
        x, norms = self._best()
        total = max(1, sum(trial.iterations for trial in self.chooser.trials))
        failed = info_of(self.chooser, self._end - time.perf_counter() <= 0) or total
        return x, np.where(norms <= self.problem.targets * SLACK, 0, failed).astype(np.int64)

    def _best(self) -> tuple[Array, npt.NDArray[np.float64]]:
        """For each column the iterate with the smallest residual of all trials, and the norms."""
        problem = self.problem
        columns = problem.b.shape[1]
        norms = np.full(columns, np.inf)
        x = LastFinite(problem).x
        for trial in self.chooser.trials:
            own, found = trial.rounded()
            for c in np.flatnonzero(found < norms).tolist():
                norms[c], x[:, c] = found[c], own[:, c]
        return x, norms

    def _ended(self, x: Array, info: npt.NDArray[np.int64], chosen: Trial | None) -> tuple[Array, Any]:
        words = complaint(self.chooser, self.problem, info) if info.any() else ""
        self._fill(chosen if not info.any() else None, words)
        if words:
            warn_user(words)
        return (
            (x.reshape(-1), Info(int(info[0]), self._report))
            if self.problem.one
            else (x, Infos.of(info, self._report))
        )

    def _fill(self, chosen: Trial | None, advice: str) -> None:
        lines = [TrialReport.of(trial) for trial in self.chooser.trials]
        found = None if chosen is None else lines[self.chooser.trials.index(chosen)]
        self._report.fill(self._solver.facts, lines, list(self.chooser.events), found, advice)
        self._solver.report = self._report
        if self._solver._verbose:
            for line in lines:
                print(line.sentence(), file=sys.stderr)


def _digits(problem: Problem) -> float:
    """Digits by which residuals have to be reduced, from 1 to 16."""
    norms, targets = problem.norms, problem.targets
    with np.errstate(all="ignore"):
        ratios = np.where(norms > 0, targets / norms, 1.0)
    return -math.log10(min(max(float(ratios.min(initial=1.0)), 1e-16), 0.1))


def _empty_solution(problem: Problem, report: SolveReport) -> tuple[Array, Any]:
    x = problem.b.copy()
    info = np.zeros(problem.b.shape[1], np.int64)
    return (x.reshape(-1), Info(0, report)) if problem.one else (x, Infos.of(info, report))


@without_numpy_warnings
@takes_foreign_arrays
def solve(
    A: MatrixLike,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-8,
    atol: float = 0.0,
    method: str = "auto",
    time_limit: float | None = None,
    nullspace: Any = None,
    maxiter: int | None = None,
    callback: Callback | None = None,
    report: SolveReport | None = None,
    seed: int = 0,
    calibration: str = "measured",
    verbose: bool = False,
) -> tuple[Array, Info | npt.NDArray[np.int64]]:
    """Solve A x = b with the method that is expected to take the least time.

    A scan of A, the fill of its factors and the residuals of the first iterations predict what a direct
    factorization and each iterative method would take. `Solver` keeps the choice for further right-hand
    sides and matrices.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    b, x0, callback, report
        See `Solver.solve`.
    rtol, atol, method, time_limit, nullspace, maxiter, seed, calibration, verbose
        See `Solver`.

    Returns
    -------
    x : array
        (n,), or (n, k) for k right-hand sides. Where nothing converged, the iterate with the smallest
        residual norm of all runs.
    info : int, or (k,) array of int
        0: converged. Positive: the number of iterations of all runs together, not converged. Negative: a
        `solvers.Status`, such as SINGULAR or UNATTAINABLE. A RuntimeWarning names the cause. It has the
        attribute `report`, a `SolveReport`.

    Raises
    ------
    Interrupted
        A KeyboardInterrupt with the best iterate of all runs, after Ctrl-C; the report is filled.

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
    return solver.solve(b, x0, callback=callback, report=report)


@without_numpy_warnings
def auto(
    A: MatrixLike, *, rtol: float = 1e-8, seed: int = 0, calibration: str = "measured"
) -> Preconditioner:
    """The preconditioner that `solve` would take, found on a random right-hand side.

    The runs end as soon as the choice is clear, usually after a few iterations.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    rtol : float
        The tolerance of the solves that it is for: the smaller, the more an expensive setup pays.
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
    A = checked(A)
    solver = Solver(A, rtol=rtol, seed=seed, calibration=calibration)
    if not A.n:
        return jacobi(A)
    random = np.random.default_rng(solver._seed % 2**64).standard_normal(A.n)
    x = A.backend.xp.asarray(random.astype(A.dtype))
    # b must be in the range of A.
    is_singular = solver.facts.centered or A.zero_rows.size
    search = _Solve(solver, A @ x if is_singular else x, None, None, SolveReport())
    return search.settled()
