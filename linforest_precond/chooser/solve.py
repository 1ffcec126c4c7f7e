"""The public functions: a solve that chooses its preconditioner, and the choice alone."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.chooser.candidates import CANDIDATES, Candidate, candidates_on
from linforest_precond.chooser.chooser import TOTAL, Chooser
from linforest_precond.chooser.cost_model import CostModel, MeasuredCost
from linforest_precond.chooser.facts import Facts, facts_of
from linforest_precond.chooser.report import SolveReport, TrialReport
from linforest_precond.chooser.trials import Trial, method_for, quietly
from linforest_precond.interop.dlpack import takes_foreign_arrays
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.driver import SLACK, Callback, Info
from linforest_precond.solvers.problem import Problem, checked_problem
from linforest_precond.solvers.scaling import unscaled_callback
from linforest_precond.solvers.status import Interrupted

# The most iterations of a run, unless the user says otherwise.
MOST_ITERATIONS = 5000


@without_numpy_warnings
@takes_foreign_arrays
def solve(
    A: MatrixLike,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-8,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback: Callback | None = None,
    report: SolveReport | None = None,
    seed: int = 0,
    tune: bool = False,
    verbose: bool = False,
) -> tuple[Array, Info]:
    """Solve A x = b with a preconditioner and a Krylov method that are chosen by trial.

    A scan of A gives a short list of candidates. The one that it recommends, or Jacobi, begins, and its
    iterations predict the work that it still needs. A more expensive one is set up when that work is expected
    to pay for it; runs are paused and resumed, so that little is lost when it disappoints. The work of setups
    and iterations is counted in bytes by a model, not measured: the choice is the same in every run.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    b : (n,), (n, 1) or (n, k) array
        One right-hand side, or k of them that are solved for together.
    x0 : array, optional
        The initial guess, of b's shape; 0 by default.
    rtol, atol : float
        Converged when the norm of b - A x is at most ``max(rtol * norm(b), atol)``, which is verified.
    maxiter : int, optional
        The most iterations of each trial; 10 n by default, but not more than 5,000. All trials together end
        soon after 6 times as many.
    callback : function, optional
        Called with the current x after each iteration of each trial.
    report : SolveReport, optional
        Is filled with the candidates that were tried, their rates and costs: ``print(report)``.
    seed : int
        Of the forests and hierarchies.
    tune : bool
        Measure the times of setups and iterations and compare those, instead of counted bytes. The choice may
        then differ from run to run.
    verbose : bool
        Show the progress of each trial on the standard error output, as the solvers do.

    Returns
    -------
    x : array
        (n,), or (n, k) for k right-hand sides. Where nothing converged, the iterate with the smallest
        residual norm of all trials.
    info : int, or (k,) array of int
        0: converged. Positive: the number of iterations of all trials together, not converged; a
        RuntimeWarning says what was tried, and what else to do.

    Raises
    ------
    Interrupted
        A KeyboardInterrupt with the best iterate of all trials, after Ctrl-C; the report is filled.

    See Also
    --------
    auto : the preconditioner alone.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((120, 120))
    >>> report = lf.SolveReport()
    >>> x, info = lf.solve(A, np.ones(A.shape[0]), report=report)
    >>> info, report.chosen.call
    (0, 'lf.multilevel(A, max_coarse=485).aspreconditioner()')
    """
    if report is not None and not isinstance(report, SolveReport):
        raise TypeError(f"report must be None or a SolveReport, got a {type(report).__name__}")
    x_true = None if report is None else report.x_true
    session = _Session(A, b, x0, rtol, atol, maxiter, callback, seed, tune, x_true, verbose)
    if not session.problem.b.size:
        return _empty_solution(session.problem)
    try:
        chosen = session.chooser.run()
        x, info = session.result(chosen)
    except KeyboardInterrupt:
        if not session.chooser.trials:  # in the first setup: there is no x yet
            raise
        x, _ = session.result(None)
        if report is not None:
            session.fill(report, None, "Ctrl-C ended the trials.")
        raise Interrupted(x.reshape(-1) if session.problem.one else x) from None
    finally:
        session.close()
    if report is not None:
        session.fill(report, chosen)
    if info.any():
        warn_user(session.complaint())
    return (x.reshape(-1), int(info[0])) if session.problem.one else (x, info)


@without_numpy_warnings
def auto(A: MatrixLike, *, rtol: float = 1e-8, seed: int = 0, tune: bool = False) -> Preconditioner:
    """The preconditioner that `solve` would take, found by trials on a random right-hand side.

    The trials end as soon as no other candidate is worth one, usually after a few iterations.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    rtol : float
        The tolerance of the solves that it is for: the smaller, the more an expensive setup pays.
    seed : int
        Of the right-hand side, the forests and the hierarchies.
    tune : bool
        Measure times, as `solve` does.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library, of the kind that was chosen. ``print(M)`` names the choice, the
        Krylov method that it was tried with, and the candidates that it was compared with.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> M = lf.auto(lf.matrices.poisson((150, 150)))
    >>> M.kind
    'multilevel'
    """
    seed, A = as_integer("seed", seed), checked(A)
    random = np.random.default_rng(seed % 2**64).standard_normal(A.n)
    x = A.backend.xp.asarray(random.astype(A.dtype))
    session = _Session(A, x, None, rtol, 0.0, None, None, seed, tune)
    if session.facts.centered:  # b must be in the range of A
        session = _Session(A, A.backend.xp.asarray(A @ x), None, rtol, 0.0, None, None, seed, tune)
    if not A.n:
        return quietly(CANDIDATES[0].make, A, seed)
    try:
        chosen = session.chooser.run(settle=True) or session.closest()
    finally:
        session.close()
    M = chosen.M
    tried = ", ".join(dict.fromkeys(trial.candidate.name for trial in session.chooser.trials))
    M.choice = f"{chosen.candidate.call} with lf.solvers.{chosen.method}; tried: {tried}"
    return M


class _Session:
    """One call: the checked problem, the trials and their result."""

    def __init__(
        self,
        A: MatrixLike,
        b: Array,
        x0: Array | None,
        rtol: float,
        atol: float,
        maxiter: int | None,
        callback: Callback | None,
        seed: int,
        tune: bool,
        x_true: Array | None = None,
        verbose: bool = False,
    ) -> None:
        A = checked(A)
        most = min(10 * A.n, MOST_ITERATIONS) if maxiter is None else maxiter
        # Products with a dense array are its own.
        operand = A if hasattr(A.given, "tocsr") else A.given
        self.problem: Problem = checked_problem(operand, b, x0, rtol, atol, most, None, callback, None)
        self.facts: Facts = facts_of(A)
        columns = max(1, self.problem.b.shape[1])
        counted = CostModel.of(A, self.problem.b.dtype, columns)
        self.cost = MeasuredCost.calibrated(counted, A, self.problem.b) if tune else counted
        self._A, self._x_true, self._seed = A, x_true, as_integer("seed", seed)
        self._callback = unscaled_callback(callback, self.problem.scaling)
        self._verbose = verbose
        self._made: dict[str, Preconditioner] = {}
        digits = -math.log10(min(max(rtol, 1e-16), 0.1))
        candidates = candidates_on(self.problem.backend.name, self.cost.product, self.facts.hermitian)
        self.chooser = Chooser(candidates, self.facts, self.cost, self._start, digits, most)

    def _start(self, candidate: Candidate, method: str, present: Trial | None) -> Trial | None:
        """A trial from the x of the present one if that is given and better than x0."""
        M = self._made.get(candidate.name)
        is_new = M is None
        if M is None:
            try:
                M = quietly(candidate.make, self._A, self._seed)
            except (MemoryError, OverflowError, ValueError) as error:
                if candidate.name == "jacobi":
                    raise
                self.chooser.events.append(f"{candidate.name} cannot be set up: {error}")
                return None
            self._made[candidate.name] = M
        x = present.x.copy() if present is not None and present.is_better_than_its_start else None
        method = method_for(M, method)
        trial = Trial(candidate, M, method, self.problem, self.cost, self._callback, x, self._x_true)
        trial.show(self._verbose)
        if not is_new:
            trial.setup = 0.0
        return trial

    def result(self, chosen: Trial | None) -> tuple[Array, npt.NDArray[np.int64]]:
        """The solution, or the best iterates, and info."""
        if chosen is not None:
            x = chosen.solution()
            assert chosen.info is not None
            if not chosen.info.any():
                return x, chosen.info
        columns = self.problem.b.shape[1]
        norms, x = np.full(columns, np.inf), self._initial()
        for trial in self.chooser.trials:
            found = trial.true_norms()
            for c in np.flatnonzero(found < norms).tolist():
                norms[c], x[:, c] = found[c], trial.x[:, c]
        total = max(1, sum(trial.iterations for trial in self.chooser.trials))
        info = np.where(norms <= self.problem.targets * SLACK, 0, total).astype(np.int64)
        return self.problem.scaling.solution(x), info

    def _initial(self) -> Array:
        x0, b = self.problem.x0, self.problem.b
        return self.problem.backend.xp.zeros_like(b) if x0 is None else x0.copy()

    def closest(self) -> Trial:
        """The trial that came closest to the target."""
        return min(self.chooser.trials, key=lambda trial: trial.digits[-1])

    def fill(self, report: SolveReport, chosen: Trial | None, advice: str | None = None) -> None:
        lines = [TrialReport.of(trial, self.cost.unit) for trial in self.chooser.trials]
        found = None if chosen is None else lines[self.chooser.trials.index(chosen)]
        if advice is None:
            advice = "" if chosen is not None else self.advice()
        report.fill(self.facts, lines, list(self.chooser.events), found, advice)

    def complaint(self) -> str:
        """What was tried, how far each came, and what to do."""
        tried = ", ".join(
            f"{trial.candidate.name} with {trial.method} came to {trial.reached:.1e} ({trial.outcome})"
            for trial in self.chooser.trials
        )
        end = (
            f" All trials together ended after {TOTAL} x maxiter iterations."
            if self.chooser.is_exhausted
            else ""
        )
        return f"solve did not reach the tolerance: {tried}.{end} {self.advice()}"

    def advice(self) -> str:
        facts = self.facts
        causes = []
        if facts.needs_matching:
            causes.append("the diagonal has zeros or tiny entries")
        if facts.hermitian and not self.chooser.definite:
            causes.append("A is not positive definite")
        if any(trial.is_at_rounding for trial in self.chooser.trials):
            causes.append("rounding errors limit the residual: raise rtol, or use double precision")
        cause = f"{'; '.join(causes).capitalize()}. " if causes else ""
        return (
            f"{cause}Try a direct solver (scipy.sparse.linalg.spsolve), an incomplete factorization with "
            "fill-in (scipy.sparse.linalg.spilu), or preconditioners of the matrix with equal rows and "
            'columns (scaling="equilibrate"); check whether A is singular and b is in its range.'
        )

    def close(self) -> None:
        for trial in self.chooser.trials:
            trial.close()


def _empty_solution(problem: Problem) -> tuple[Array, Info]:
    x = problem.b.copy()
    return (x.reshape(-1), 0) if problem.one else (x, np.zeros(problem.b.shape[1], np.int64))
