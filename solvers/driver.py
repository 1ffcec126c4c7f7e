"""`Run` iterates every Krylov method: batches of iterations, polled reports, verified residuals.

The host polls the status asynchronously: the next batch of iterations is enqueued before the report of the
last one has arrived. Convergence is verified on b - A x, in twice the working precision where A has entries;
where the recursive residual has drifted away from it, the true residual replaces it and the method restarts
(residual replacement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import RunningState
from linforest_precond.backends.returns import Report
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.matrix.vectors import norms_of

from .history import History
from .live_line import LiveLine, live_line
from .problem import LARGEST_GROWTH, Problem
from .scaling import unscaled_callback
from .singular import LastFinite, singular_columns
from .status import Interrupted, Status
from .vector_space import MatrixProduct, Preconditioning, VectorSpace

# `info` of SciPy, or an array with one for each right-hand side.
Info: TypeAlias = int | npt.NDArray[np.int64]
Callback: TypeAlias = Callable[[Any], object]

# Two summation orders of the same norm differ by less than this factor.
SLACK = 1 + 1e-12
_ACTIVE = {float(RunningState.RUNNING), float(RunningState.HALF)}
# The outcomes after which b - A x is computed.
_VERIFIED = Status.CONVERGED, Status.RHO, Status.OMEGA, Status.SINGULAR
# A residual up to this multiple of their bound is attributed to rounding errors of x.
ROUNDING = 4.0
# Where rounding errors of x cause a residual above this share of b, A counts as singular to working
# precision. With a larger share, noise along a null vector would count as a solution.
LARGEST_ROUNDING = 1e-3
# A recursive residual of this many units of rounding of b is verified: it falls further although b - A x does
# not, until inner products underflow.
SMALLEST = 0.125


class Method:
    """A Krylov method: one iteration on the vectors `x`, `r` and its own."""

    name: str  # of the public function
    names: tuple[str, ...]  # of the method's vectors; the last one may be overwritten between iterations
    copies: tuple[str, ...] = ()  # vectors that start as copies of r
    cycle: int = 0  # iterations until `finish` has to complete x; 0 if each updates x

    def alias(self, space: VectorSpace) -> None:
        """Make preconditioned vectors aliases of the unpreconditioned ones, where M is the identity."""
        raise NotImplementedError

    def prepare(self, space: VectorSpace, problem: Problem) -> None:
        """Allocate what the method needs besides its vectors."""

    def begin(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        """(Re)start from the present r, after `VectorSpace.start`."""

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        """Make one iteration."""
        raise NotImplementedError

    def finish(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        """Complete x where a cycle has ended, and begin the next one."""

    def current(self, space: VectorSpace, M: Preconditioning) -> Array:
        """The present iterate, as an (n, k) array."""
        return space["x"]


def solve(
    method: Method,
    problem: Problem,
    callback: Callback | None,
    history: History | None,
    verbose: bool,
    callback_type: str | None = None,
) -> tuple[Array, Info]:
    """The solution and the info of a checked problem."""
    line = live_line(method.name, problem.norms, problem.targets, problem.most_iterations, verbose)
    checked_history(history)
    if not problem.b.shape[1] or not (problem.b.size or problem.inner):
        return _solve_empty(method, problem, history)
    run = Run(method, problem, history, line, callback_type)
    if not run.calls_with_norms:  # relative norms do not depend on the scaling
        callback = unscaled_callback(problem.reordering.callback(callback), problem.scaling)
    try:
        run.iterate(callback)
        x = problem.reordering.restored(run.solution())
        for c in singular_columns(problem, run.space, method.names, run.statuses):
            run.settle(c, Status.SINGULAR)
    except KeyboardInterrupt:
        if problem.inner is not None or not run.has_begun:  # other ranks may go on, or there is no x yet
            raise
        x = problem.reordering.restored(run.best_iterate())
        raise Interrupted(x.reshape(-1) if problem.one else x) from None
    finally:
        run.space.close()
        if line is not None:
            line.close(run.ending())
    info = run.info()
    if history is not None:
        history.attainable = run.attainable
        history.finish(info, problem.one)
    run.warn()
    return (x.reshape(-1), int(info[0])) if problem.one else (x, info)


def checked_history(history: Any) -> None:
    """Raise a TypeError unless `history` is a `History` or None."""
    if history is not None and not isinstance(history, History):
        found = type(history).__name__
        raise TypeError(f"history must be None or a History, got a {found}: pass lf.solvers.History()")


def _solve_empty(method: Method, problem: Problem, history: History | None) -> tuple[Array, Info]:
    """The solution of a system without rows, or without right-hand sides."""
    info = np.zeros(problem.b.shape[1], np.int64)
    if history is not None:
        n, columns = problem.b.shape
        history.begin(method.name, n, columns, problem.b.dtype, problem.norms, None)
        history.finish(info, problem.one)
    x = problem.b.copy()
    return (x.reshape(-1), 0) if problem.one else (x, info)


class Run:
    """One call of a solver; it can be paused, and then goes on as if it had not been.

    A callback is called with x after each iteration; SciPy's `callback_type` "x" calls it with x after each
    cycle, "pr_norm" and "legacy" with the relative norm of the residual after each iteration.
    """

    def __init__(
        self,
        method: Method,
        problem: Problem,
        history: History | None,
        line: LiveLine | None = None,
        callback_type: str | None = None,
    ) -> None:
        self.method, self.problem, self.history, self.line = method, problem, history, line
        self.callback_type = callback_type
        n, columns = problem.b.shape
        smallest = SMALLEST * float(np.finfo(problem.b.dtype).eps) * problem.norms
        x_true = None if history is None else history.x_true_of(problem.b, problem.backend)
        if x_true is not None:
            x_true = problem.scaling.scaled_solution(problem.reordering.permuted(x_true))
        self.space: VectorSpace = problem.backend.krylov.vector_space.KrylovSpace(
            n,
            columns,
            problem.b.dtype,
            method.names,
            targets=np.maximum(problem.targets, smallest),
            largest_growth=LARGEST_GROWTH,
            most_iterations=problem.most_iterations,
            inner=problem.inner,
            x_true=x_true,
        )
        if problem.preconditioning.is_identity:
            method.alias(self.space)
        method.prepare(self.space, problem)
        self.steps = 0  # enqueued steps of the present cycle
        self.statuses = np.full(columns, float(RunningState.RUNNING))
        self.iterations = np.zeros(columns, np.int64)
        self._norms = problem.norms  # of the last residuals
        self._before, self._at_start = 0, self.iterations  # joint and own iterations at the last (re)start
        self.last_true = np.full(columns, np.inf)
        self.has_begun = self.has_ended = False
        # The iteration of each column's last record, and the final statuses of verified columns.
        self.ends = [0.0] * columns
        self.settled: dict[int, float] = {c: float(Status.SINGULAR) for c in problem.zero_rows}
        # Attainable residuals by column, relative to b, where they exceed the target: rounding errors of x.
        self.attainable: dict[int, float] = {}
        # The iterate at the last restart.
        self.restarted_from: Array | None = None
        if history is not None:
            true_norm = None if x_true is None else norms_of(x_true, problem.inner)
            history.begin(method.name, n, columns, problem.b.dtype, problem.norms, true_norm)

    def iterate(self, callback: Callback | None, most: int | None = None) -> None:
        """Iterate until every column has stopped and its residual has been verified: then `has_ended`.

        With `most`, pause after `most` iterations; the next call goes on.
        """
        problem, space = self.problem, self.space
        A, M = problem.product, problem.preconditioning
        if not self.has_begun:
            self._begin()
        capturable = callback is None and problem.inner is None and A.capturable and M.capturable
        while not self.has_ended:
            while self._is_running() and (most is None or most > 0):
                before = self.iterations.sum()
                done = self._advance(capturable, callback is not None, most)
                most = None if most is None else most - done
                if callback is not None and self.iterations.sum() > before:
                    self._call(callback)
            self._read(space.poll(wait=True))
            if self._is_running():
                return
            restarting = self._verify()
            self.has_ended = not restarting.any()
            if not self.has_ended:
                self._start(restarting)
                self._read(space.poll(wait=True))

    @property
    def calls_with_norms(self) -> bool:
        """Whether callbacks get the relative norm of the residual."""
        return self.callback_type in ("pr_norm", "legacy")

    def _call(self, callback: Callback) -> None:
        """Call a user's callback after an iteration."""
        one = self.problem.one
        if self.calls_with_norms:
            sizes = self.problem.norms
            relative = self._norms / np.where(sizes > 0, sizes, 1)
            callback(float(relative[0]) if one else relative)
        elif self.callback_type is None or not self.steps:  # or a cycle has ended, and x is complete
            whole = self.callback_type is not None
            x = self.space["x"] if whole else self.method.current(self.space, self.problem.preconditioning)
            callback(x[:, 0] if one else x)

    def _begin(self) -> None:
        """Start at x0, and read the first report."""
        self.has_begun = True
        self._start_from_x0()
        first = self.space.poll(wait=True)
        assert first is not None  # the report of the start
        self._read(first)
        if self.history is not None:
            for c in np.flatnonzero(~np.isnan(first.norms[0])).tolist():
                self.history.add_true(0.0, c, first.norms[0, c])
        if self.problem.most_iterations == 0:
            self.statuses[self.statuses == RunningState.RUNNING] = RunningState.LIMIT
            self.has_ended = True

    def _advance(self, capturable: bool, wait: bool, most: int | None) -> int:
        """Enqueue a batch of iterations, and the end of a cycle where it is due; read reports.

        Returns how many iterations, at most `most`.
        A report may be older than the end of a cycle that has been enqueued already, so it is looked at only
        after another batch.
        """
        problem, space, method = self.problem, self.space, self.method
        A, M = problem.product, problem.preconditioning
        done = space.batch(lambda: method.iterate(space, A, M), capturable, method.cycle, most)
        self.steps += done
        self._read(space.poll(wait=wait))
        ended = RunningState.RUNNING not in self.statuses
        if method.cycle and (ended or self.steps >= method.cycle):
            self.steps = 0
            space.batch(lambda: method.finish(space, A, M), capturable=False)
            self._read(space.poll(wait=wait or ended))
        return done

    def _start_from_x0(self) -> None:
        """Start at x0."""
        space, b, x0 = self.space, self.problem.b, self.problem.x0
        space["r"][...] = b
        if x0 is not None:
            space["x"][...] = x0
            space.multiply(self.problem.product, "x", "r")
            with np.errstate(all="ignore"):  # reported as Status.NONFINITE
                space["r"][...] = b - space["r"]
        starting = np.ones(b.shape[1], bool)
        starting[list(self.problem.zero_rows)] = False
        self._start(starting)

    def _start(self, starting: npt.NDArray[np.bool_]) -> None:
        """(Re)start columns from the present r."""
        space = self.space
        self._before, self._at_start = self.joint_iterations, self.iterations
        for name in self.method.copies:
            for c in np.flatnonzero(starting).tolist():
                space[name][:, c] = space["r"][:, c]
        space.start(starting)
        self.method.begin(space, self.problem.product, self.problem.preconditioning)
        self.steps = 0

    @property
    def joint_iterations(self) -> int:
        """Iterations that any column made; columns that restart make theirs after all others have stopped."""
        return self._before + int((self.iterations - self._at_start).max(initial=0))

    def _is_running(self) -> bool:
        return not _ACTIVE.isdisjoint(self.statuses.tolist())  # faster than NumPy for small arrays

    def _read(self, report: Report | None) -> None:
        """Take over the statuses and records of a report."""
        if report is None:
            return
        self.statuses, self.iterations = report.statuses, report.iterations
        for c, status in self.settled.items():
            self.statuses[c] = status
        if self.line is not None:
            self.line.see(report)
        for norms in report.norms if self.calls_with_norms else ():
            self._norms = np.where(np.isnan(norms), self._norms, norms)
        if self.history is not None and len(report.steps):
            self.history.add(report.steps, report.seconds, report.norms, report.errors)
            for c, norms in enumerate(report.norms.T):
                running = np.flatnonzero(~np.isnan(norms))
                if running.size:
                    self.ends[c] = float(np.ceil(report.steps[running[-1]]))

    def _verify(self) -> npt.NDArray[np.bool_]:
        """Compute b - A x where a column converged or broke down; the columns to restart from it.

        A column restarts as long as its true residual halves from one verification to the next; never where
        the matrix is singular.
        """
        ended = np.isin(self.statuses, _VERIFIED)
        restarting = np.zeros(ended.shape, bool)
        if not ended.any():
            return restarting
        problem, space = self.problem, self.space
        residual, norms = self._residual()
        for c in np.flatnonzero(ended).tolist():
            if c in self.settled:
                continue
            if self.history is not None:
                self.history.add_true(self.ends[c], c, norms[c])
            if norms[c] <= problem.targets[c] * SLACK:
                self.settle(c, Status.CONVERGED)
            elif self.statuses[c] == Status.SINGULAR or not norms[c] <= 0.5 * self.last_true[c]:
                self._settle_failed(c, norms[c])
            elif self.iterations[c] >= problem.most_iterations:
                self.settle(c, RunningState.LIMIT)
            else:
                restarting[c] = True
                self.last_true[c] = norms[c]
                space["r"][:, c] = residual[:, c]
                if self.history is not None:
                    self.history.add_replacement(self.ends[c], c)
        if restarting.any():
            self.restarted_from = space["x"].copy()
        return restarting

    def _residual(self) -> tuple[Array, npt.NDArray[np.float64]]:
        """b - A x of the scaled system, in the method's last vector, and the norms of its columns."""
        target = self.space[self.method.names[-1]]
        return target, self.problem.residual_norms(self.space["x"], target)

    def _settle_failed(self, c: int, norm: float) -> None:
        """Fix the status of a column whose residual does not halve any more, and take its better x."""
        x = self.space["x"]
        if norm > self.last_true[c] and self.restarted_from is not None:
            norm, x[:, c] = self.last_true[c], self.restarted_from[:, c]
        self._settle_at_rounding(c, norm)
        if c not in self.attainable:
            self.settle(c, self.statuses[c] or Status.STAGNATED)  # or the breakdown

    def _settle_at_rounding(self, c: int, norm: float) -> None:
        """UNATTAINABLE for a column whose residual is explained by rounding errors of x."""
        target, size = self.problem.targets[c], self.problem.norms[c]
        if not target < norm <= ROUNDING * LARGEST_ROUNDING * size:
            return
        attainable = self.problem.attainable(self.space["x"][:, c : c + 1])
        if target < attainable <= LARGEST_ROUNDING * size and norm <= ROUNDING * attainable:
            self.settle(c, Status.UNATTAINABLE)
            self.attainable[c] = attainable / size

    def solution(self) -> Array:
        """The solution of the given system: finite, no worse than x0 where it failed, and verified again
        where it was scaled back."""
        scaling, null_space = self.problem.scaling, self.problem.null_space
        if null_space is not None:
            null_space.project(self.space["x"])
        x = scaling.solution(self.space["x"])
        overflowed = ~self.problem.finite_columns(x)
        if overflowed.any():
            x = self._last_finite(x, overflowed)
        unknown = self._without_true_residual()
        if unknown or not scaling.is_identity or self.statuses.any():
            norms = self._residual_norms(x)
            if not scaling.is_identity:
                self._verify_rounded(norms)
            if self.statuses.any():
                norms = self._best_of_failed(x, norms)
            for c in unknown:
                self.history.add_true(self.ends[c], c, norms[c])  # type: ignore[union-attr]
        return x

    def _best_of_failed(self, x: Array, norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return to x0 in the columns that failed with a larger residual; the norms of the residuals.

        A column that reached rounding errors of x before `maxiter` is UNATTAINABLE. NaN or infinity from an
        operator says nothing about x.
        """
        problem = self.problem
        start = problem.backend.xp.zeros_like(x) if problem.x0 is None else problem.x0
        before = problem.norms if problem.x0 is None else problem.residual_norms(start)
        for c in np.flatnonzero(self.statuses).tolist():
            if norms[c] > before[c] if np.isfinite(norms[c]) else problem.row_bound:
                norms[c] = before[c]
                x[:, c : c + 1] = problem.scaling.solution(start)[:, c : c + 1]
            elif self.statuses[c] == RunningState.LIMIT:
                self._settle_at_rounding(c, norms[c])
        return norms

    def _without_true_residual(self) -> list[int]:
        """Columns of a history that stopped without a verification: at the limit, or by a failure."""
        if self.history is None:
            return []
        last = {column: iteration for iteration, column, _ in self.history.true_residuals}
        return [c for c, end in enumerate(self.ends) if last.get(c) != end]

    def _residual_norms(self, x: Array) -> npt.NDArray[np.float64]:
        """Residual norms of the scaled system, for a solution of the given one."""
        self.space["x"][...] = self.problem.scaling.scaled_solution(x)
        return self._residual()[1]

    def _verify_rounded(self, norms: npt.NDArray[np.float64]) -> None:
        """Verify convergence for x as it is returned: scaled back, small numbers may have lost digits."""
        missed = (self.statuses == Status.CONVERGED) & ~(norms <= self.problem.targets * SLACK)
        for c in np.flatnonzero(missed).tolist():
            self.settle(c, Status.STAGNATED)

    def settle(self, c: int, status: float) -> None:
        """Fix the final status of a column."""
        self.settled[c] = self.statuses[c] = float(status)

    def _last_finite(self, x: Array, overflowed: npt.NDArray[np.bool_]) -> Array:
        """x with the last finite iterates of the columns that overflowed, whose status becomes NONFINITE.

        An unknown that A does not multiply overflows unseen by the residual. No iteration pays for this: the
        rare solve that ends so is repeated, and each iterate checked.
        """
        problem, kept = self.problem, LastFinite(self.problem)
        Run(self.method, problem, None).iterate(kept)
        for c in np.flatnonzero(overflowed).tolist():
            x[:, c] = kept.x[:, c]
            self.settle(c, Status.NONFINITE)
        return x

    def best_iterate(self) -> Array:
        """After Ctrl-C: the present iterate or that of the last cycle, whichever has the smaller residual."""
        scaling, found = self.problem.scaling, [self.space["x"].copy()]
        if self.method.cycle:
            found.append(self.method.current(self.space, self.problem.preconditioning).copy())
        norms = [self._residual_norms(scaling.solution(x)) for x in found]
        best = int(np.argmin([np.nan_to_num(each, nan=np.inf).max() for each in norms]))
        if self.history is not None:
            self.history.interrupt(self.ends, norms[best])
        return scaling.solution(found[best])

    def ending(self) -> str:
        """The outcome of the run in words."""
        most = f"after {self.joint_iterations:,} iterations"
        if not self.has_ended:
            return f"stopped {most}"
        words = dict.fromkeys(str(Status.from_info(code)) for code in self.info().tolist())
        return f"{', '.join(words)} {most}"

    def info(self) -> npt.NDArray[np.int64]:
        done = np.maximum(self.iterations, 1)
        return np.where(self.statuses == RunningState.LIMIT, done, self.statuses).astype(np.int64)

    def warn(self) -> None:
        """One warning for all columns that failed."""
        info = self.info()
        found = [
            f"{self.method.name} stopped after {self.iterations[info == code].max()} iterations"
            + (f" in {np.count_nonzero(info == code)} of {info.size} columns" if info.size > 1 else "")
            + f" ({Status.from_info(code)}): {self._advice(Status.from_info(code))}"
            for code in np.unique(info[info < 0]).tolist()
        ]
        if found:
            warn_user("; ".join(found))

    def _advice(self, status: Status) -> str:
        """The cause of a failure, and what to try."""
        if status is Status.SINGULAR and self.problem.zero_rows:
            return self.problem.contradiction
        if status is Status.UNATTAINABLE:
            most = max(self.attainable.values())
            return f"{status.advice} Rounding errors are up to {most:.1e} of b."
        return status.advice
