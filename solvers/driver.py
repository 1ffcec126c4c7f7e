"""How all solvers run: batches of iterations, reports that lag behind, true residuals at the end."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from linforest_precond.backends.returns import Running
from linforest_precond.user_warnings import warn_user
from linforest_precond.vectors import norms_of

from .history import History
from .problem import LARGEST_GROWTH, Problem
from .status import Status

# Two sums of the same squares differ by so much at most.
SLACK = 1 + 1e-12
_ACTIVE = {float(Running.RUNNING), float(Running.HALF)}


class Method(Protocol):
    """What makes a solver; works on the vectors `x`, `r` and its own.

    Attributes
    ----------
    names
        Its own vectors. The last one may be overwritten between iterations.
    copies
        Those that start as copies of r.
    """

    name: str
    names: tuple[str, ...]
    copies: tuple[str, ...]

    def alias(self, space: Any) -> None:
        """Let vectors be one where nothing preconditions."""

    def iterate(self, space: Any, A: Any, M: Any) -> None:
        """Make one iteration."""


def solve(method: Method, problem: Problem, callback: Any, history: Any) -> tuple[Any, Any]:
    """The solution and the info of a checked problem."""
    if history is not None and not isinstance(history, History):
        raise TypeError(f"history must be None or a History, got a {type(history).__name__}")
    if not problem.b.size:
        return _nothing(method, problem, history)
    run = _Run(method, problem, history)
    run.iterate(callback)
    info = run.info()
    if history is not None:
        history.finish(info, problem.one)
    run.warn()
    x = run.space["x"]
    return (x.reshape(-1), int(info[0])) if problem.one else (x, info)


def _nothing(method, problem, history):
    """The answer where there is no row, or no column."""
    info = np.zeros(problem.b.shape[1], np.int64)
    if history is not None:
        history.begin(method.name, *problem.b.shape, problem.b.dtype, problem.norms, None)
        history.finish(info, problem.one)
    x = problem.b.copy()
    return (x.reshape(-1), 0) if problem.one else (x, info)


class _Run:
    """One call of a solver."""

    def __init__(self, method, problem, history):
        self.method, self.problem, self.history = method, problem, history
        n, columns = problem.b.shape
        krylov = problem.backend.krylov.vector_space
        x_true = None if history is None else history.x_true_of(problem.b)
        self.space = krylov.Space(
            n,
            columns,
            problem.b.dtype,
            method.names,
            targets=problem.targets,
            largest_growth=LARGEST_GROWTH,
            most_iterations=problem.most_iterations,
            inner=problem.inner,
            x_true=x_true,
        )
        if problem.preconditioning.is_identity:
            method.alias(self.space)
        self.statuses = np.full(columns, float(Running.RUNNING))
        self.iterations = np.zeros(columns, np.int64)
        self.last_true = np.full(columns, np.inf)
        # The last records of the columns, and the statuses of those whose true residual has been judged.
        self.ends, self.settled = [0.0] * columns, {}
        if history is not None:
            true_norm = None if x_true is None else norms_of(x_true, None)
            history.begin(method.name, n, columns, problem.b.dtype, problem.norms, true_norm)

    def iterate(self, callback):
        problem, space, method = self.problem, self.space, self.method
        A, M = problem.product, problem.preconditioning
        columns = problem.b.shape[1]
        self._set_out()
        first = space.poll(wait=True)
        self._take(first)
        for c in range(columns if self.history is not None else 0):
            self.history.add_true(0.0, c, first.norms[0, c])
        if problem.most_iterations == 0:
            self.statuses[self.statuses == Running.RUNNING] = Running.LIMIT
            return
        capturable = callback is None and problem.inner is None and A.capturable and M.capturable
        x = space["x"][:, 0] if problem.one else space["x"]
        while True:
            while self._is_running():
                space.batch(lambda: method.iterate(space, A, M), capturable)
                if callback is None:
                    self._take(space.poll(wait=False))
                    continue
                before = self.iterations.sum()
                self._take(space.poll(wait=True))
                if self.iterations.sum() > before:
                    callback(x)
            self._take(space.poll(wait=True))
            missing = self._verify()
            if not missing.any():
                return
            self._start(missing)
            self._take(space.poll(wait=True))

    def _set_out(self):
        """Begin at x0; columns of zeros in b are solved by zeros, wherever they are to start."""
        space, b, x0 = self.space, self.problem.b, self.problem.x0
        space["r"][...] = b
        if x0 is not None:
            for c in np.flatnonzero(self.problem.norms).tolist():
                space["x"][:, c] = x0[:, c]
            space.multiply(self.problem.product, "x", "r")
            space["r"][...] = b - space["r"]
        self._start(np.ones(b.shape[1], bool))

    def _start(self, fresh):
        """Let the fresh columns go on from r as it is."""
        space = self.space
        for name in self.method.copies:
            for c in np.flatnonzero(fresh).tolist():
                space[name][:, c] = space["r"][:, c]
        space.start(fresh)

    def _is_running(self):
        return not _ACTIVE.isdisjoint(self.statuses.tolist())  # small arrays: NumPy would take longer

    def _take(self, report):
        """Note what a report says."""
        if report is None:
            return
        self.statuses, self.iterations = report.statuses, report.iterations
        for c, status in self.settled.items():
            self.statuses[c] = status
        if self.history is not None and len(report.steps):
            self.history.add(report.steps, report.seconds, report.norms, report.errors)
            for c, norms in enumerate(report.norms.T):
                running = np.flatnonzero(~np.isnan(norms))
                if running.size:
                    self.ends[c] = float(np.ceil(report.steps[running[-1]]))

    def _verify(self):
        """Compute true residuals where it converged or broke down; the columns that go on with these."""
        ended = np.isin(self.statuses, (Status.CONVERGED, Status.RHO, Status.OMEGA))
        missing = np.zeros(ended.shape, bool)
        if not ended.any():
            return missing
        problem, space, scratch = self.problem, self.space, self.method.names[-1]
        space.multiply(problem.product, "x", scratch)
        residual = space[scratch]
        residual[...] = problem.b - residual
        norms = norms_of(residual, problem.inner)
        for c in np.flatnonzero(ended).tolist():
            if c in self.settled:
                continue
            if self.history is not None:
                self.history.add_true(self.ends[c], c, norms[c])
            if norms[c] <= problem.targets[c] * SLACK:
                self._settle(c, Status.CONVERGED)
            elif not norms[c] <= 0.5 * self.last_true[c]:
                self._settle(c, self.statuses[c] or Status.STAGNATED)  # or what broke down
            elif self.iterations[c] >= problem.most_iterations:
                self._settle(c, Running.LIMIT)
            else:
                missing[c] = True
                self.last_true[c] = norms[c]
                space["r"][:, c] = residual[:, c]
                if self.history is not None:
                    self.history.add_replacement(self.ends[c], c)
        return missing

    def _settle(self, c, status):
        self.settled[c] = self.statuses[c] = float(status)

    def info(self):
        done = np.maximum(self.iterations, 1)
        return np.where(self.statuses == Running.LIMIT, done, self.statuses).astype(np.int64)

    def warn(self):
        """One warning for all that went wrong."""
        info = self.info()
        found = [
            f"{self.method.name} stopped after {self.iterations[info == code].max()} iterations"
            + (f" in {np.count_nonzero(info == code)} of {info.size} columns" if info.size > 1 else "")
            + f" ({Status(code).name.lower()}): {Status(code).advice}"
            for code in np.unique(info[info < 0]).tolist()
        ]
        if found:
            warn_user("; ".join(found))
